import FerryContainer
import FerryCore
import FerrySchema
import FerryStore
import Foundation

/// An attempt to join a container, with everything known before the database is touched.
struct JoinAttempt {
    let setup: ReplicaSetup
    let place: JoinPlace
    /// The schema taken from the container.
    let schema: JoinedSchema
    let deviceName: String
    let options: JoinOptions
    /// False for a trial: nothing is published.
    let isPublishing: Bool
    /// The beginning, in milliseconds.
    let start: Int64
    private var environment: ReplicaEnvironment { setup.environment }
    private var container: Container { place.container }
    private var path: String { place.path }

    /// Makes the attempt with a database.
    /// - Returns: the replica; `nil` for a trial.
    func join(_ store: Store) throws -> (replica: Replica?, report: JoinReport) {
        try Replica.refuseDatabase(at: store.path, inside: path)
        let identity = place.identity(named: deviceName, environment.random)
        let selection = try Replica.selection(schema.record, store)
        // Without rows to compare, the container is replayed in parts, each in a transaction.
        let hasRows = try store.hasRows(selection)
        let leftOut: [LeftOutTable]
        var rows: JoiningRows?
        var counts: [RowComparisonCount]?
        var sync: SyncReport
        let replica: Replica
        var rowsWithoutKey = 0
        if hasRows {
            (leftOut, replica, sync) = try store.atomically {
                func begin() throws -> (leftOut: [LeftOutTable], joining: JoiningRows, packed: PassOutcome) {
                    let leftOut = try store.beginTracking(
                        identity, selection, rowsAreOld: true, sealed: place.beginning)
                    try store.awaitCounting(by: container.devices())
                    var joining = try JoiningRows(newReplica(of: store), container, options)
                    let packed = try joining.pack()
                    return (leftOut, joining, packed)
                }
                let verdict =
                    options.rows == .theirs
                    ? try store.tentatively {
                        var (_, joining, packed) = try begin()
                        _ = try joining.replica.rehearse(container, packed: packed)
                        try joining.giveUpFormerValues(of: container)
                        return try joining.verdict()
                    } : nil
                var (leftOut, joining, packed) = try begin()
                let replica = joining.replica
                rowsWithoutKey = packed.rowsWithoutKey
                if let verdict { try joining.remove(verdict) }
                var sync = try replica.rehearse(container, packed: packed)
                try joining.giveUpFormerValues(of: container)
                counts = try verdict?.counts ?? joining.settle()
                let waiting = try store.outboxSizes()
                sync.published.segments = waiting.count
                sync.published.changes = waiting.reduce(0) { $0 + $1.changes }
                sync.conflicts = try store.differingFieldCount()
                rows = joining
                if isPublishing { try container.checkRoom(waiting.reduce(0) { $0 + $1.bytes }, for: identity.device) }
                return (leftOut, replica, sync)
            }
            if isPublishing { try publish(what: replica, &sync) }
        } else {
            do {
                leftOut = try store.beginTracking(
                    identity, selection, rowsAreOld: true, sealed: place.beginning)
                try store.awaitCounting(by: container.devices())
                replica = try newReplica(of: store)
                let packed = try store.pass(replaying: [], encode: replica.segmentEncoding(for: identity))
                sync =
                    isPublishing
                    ? try replica.sync(progress: setup.progress) : try replica.rehearse(container, packed: packed)
            } catch {
                // The join's error says more than an error of these checks.
                guard isPublishing, (try? store.identity())?.device == identity.device else { throw error }
                if (try? container.mayBeKnown(identity.device)) ?? true {
                    throw Self.told(error, "The database has joined: `ferry sync` does the rest. ")
                }
                // The tables were empty and are emptied again: no other device can know this device.
                try store.endTracking(emptying: true)
                throw error
            }
        }
        replica.opened.withLock { $0 = nil }
        if isPublishing { try place.enrolment?.end(container) }
        let status = try store.status()
        let compared =
            counts
            ?? status.tables.map { table in
                var count = RowComparisonCount(table: table.name)
                count.onlyThere = table.objects
                return count
            }
        let report = JoinReport(
            device: .init(id: identity.device.description, name: deviceName),
            container: .init(id: container.id.description, name: container.name), path: path, dryRun: !isPublishing,
            createdTables: schema.created.tables, replayed: sync.replayed, published: sync.published,
            tables: status.tables.map { .init($0) },
            leftOut: (leftOut + schema.created.leftOut).map { .init(name: $0.name, reason: $0.reason) },
            compared: compared,
            matchingKeys: rows?.matchingKeys ?? 0,
            assumedKeys: rows.flatMap { $0.assumedKeys > 0 ? $0.assumedKeys : nil },
            knownKeys: rows.flatMap { $0.knownKeys > 0 ? $0.knownKeys : nil }, removed: rows?.removed ?? 0,
            conflicts: hasRows ? sync.conflicts : 0,
            hidden: status.hidden, waiting: sync.waiting, plainReferences: try store.plainReferences(),
            rowsWithoutKey: rowsWithoutKey, waitingTables: try store.reading().waitingTables,
            refusedSchemas: schema.refused, emptyNotes: try emptyNotes(leftOut, store),
            durationMilliseconds: environment.clock.milliseconds() - start)
        return (replica, report)
    }

    /// The tables of migration tools made and not filled by this join.
    private func emptyNotes(_ leftOut: [LeftOutTable], _ store: Store) throws -> [String]? {
        let names = (leftOut + schema.created.leftOut).map(\.name)
        let notes = try store.notesOfMigrations(among: names).filter { name in
            schema.created.tables.contains { equalNames($0, name) }
                && !schema.created.filled.contains { equalNames($0, name) }
        }
        return notes.isEmpty ? nil : notes
    }

    /// A replica of the database, in the place of the attempt.
    private func newReplica(of store: Store) throws -> Replica {
        let replica = try Replica(store, environment: environment)
        replica.goOn(with: container)
        place.opened.beginSecondReading()
        replica.opened.withLock { $0 = place.opened }
        return replica
    }

    /// An error with a sentence before its message.
    private static func told(_ error: any Error, _ sentence: String) -> any Error {
        guard var error = error as? FerryError else { return error }
        error.message = sentence + error.message
        return error
    }

    /// Publishes the pre-existing rows. The database already belongs to the container: unpublished rows wait.
    private func publish(what replica: Replica, _ sync: inout SyncReport) throws {
        do {
            let second = try replica.sync(progress: setup.progress)
            sync.replayed.changes += second.replayed.changes
            sync.replayed.segments += second.replayed.segments
            sync.waiting = second.waiting
        } catch {
            throw Self.told(
                error,
                "The database has joined, and what it brings along waits to be published: `ferry sync` does that. ")
        }
    }
}
