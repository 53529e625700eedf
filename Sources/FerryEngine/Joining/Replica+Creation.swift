import FerryContainer
import FerryCore
import FerryLog
import FerryStore
import Foundation

extension Replica {
    /// Creates a container for a database, tracks its tables and publishes its rows (`ferry init`).
    ///
    /// - Parameters:
    ///   - store: the database; it must not be tracked yet.
    ///   - containerPath: the folder. A missing folder is made; its parent must exist. A container into which nobody
    ///     has published, as after an interrupted attempt, is used.
    ///   - name: this device's name for people; `nil`: the computer's name.
    /// - Throws: `containerExists`, `containerMissing` (no parent), `alreadyTracked`, `unsupportedTable`,
    ///   `invalidArgument`. The database is unchanged then.
    public static func create(
        _ store: Store, containerPath: String, name: String? = nil, selection: TableSelection = TableSelection(),
        progress: ProgressHandler? = nil
    ) throws -> (replica: Replica, report: InitReport) {
        try create(
            store, containerPath: containerPath, name: name, selection: selection, environment: .live,
            progress: progress)
    }

    /// Creates a container for a database, and uses the outside world that is given.
    package static func create(
        _ store: Store, containerPath: String, name: String? = nil, selection: TableSelection = TableSelection(),
        environment: ReplicaEnvironment, progress: ProgressHandler? = nil
    ) throws -> (replica: Replica, report: InitReport) {
        let start = environment.clock.milliseconds()
        try Store.checkClock(environment.clock)
        let path = absolutePath(containerPath)
        try refuseIfTracked(store)
        try refuseDatabase(at: store.path, inside: path)
        // Errors of the selection come before anything is made.
        let plan = try store.trackingPlan(selection)
        guard plan.tracked.contains(where: { !isFerryName($0.name) }) else {
            throw FerryError(
                .unsupportedTable,
                "No table can travel. " + plan.leftOut.map { "\($0.name): \($0.reason)." }.joined(separator: " "))
        }
        let deviceName = try checkedName(name)
        let hints = try store.referenceHints(selection)
        let coreData = try store.coreDataAdvice(selection)
        let container = try makeContainer(at: path, environment)
        let identity = StoreIdentity(
            device: environment.random.makeID(), deviceName: deviceName, container: container.id,
            containerName: container.name, containerPath: path)
        let leftOut = try store.beginTracking(identity, selection)
        let replica = try Replica(store, environment: environment)
        let (sync, withoutKey) = try replica.firstPublication(container, progress)
        let status = try store.status()
        let report = InitReport(
            device: .init(id: identity.device.description, name: deviceName),
            container: .init(id: container.id.description, name: container.name), path: path,
            tables: status.tables.map { .init($0) },
            leftOut: leftOut.map { .init(name: $0.name, reason: $0.reason) },
            references: selection.references.map { reference in
                let parent = plan.tracked.first { equalNames($0.name, reference.parent) }
                let isTranslated = if case .key? = parent?.identity { false } else { true }
                return .init(
                    table: reference.table, column: reference.column, parent: reference.parent,
                    isTranslated: isTranslated)
            }, hints: hints, coreData: coreData, plainReferences: try store.plainReferences(),
            published: sync.published, rowsWithoutKey: withoutKey,
            seconds: Double(environment.clock.milliseconds() - start) / 1000)
        return (replica, report)
    }

    /// Creates a container, or uses the container of an interrupted attempt, into which nobody has published.
    private static func makeContainer(at path: String, _ environment: ReplicaEnvironment) throws -> Container {
        do {
            return try Container.create(
                at: path, name: (path as NSString).lastPathComponent, fileSystem: environment.fileSystem,
                clock: environment.clock, random: environment.random)
        } catch let error as FerryError where error.code == .containerExists {
            // A folder that cannot be opened as a container is no leftover of this attempt. The first error says more.
            let present = try? Container.open(
                at: path, fileSystem: environment.fileSystem, random: environment.random)
            guard let present, try present.devices().isEmpty else { throw error }
            return present
        }
    }

    /// Joins a database to an existing container (`ferry join`).
    ///
    /// A missing database file and missing tables are made from the container. Rows on both sides merge as `options`
    /// say.
    /// - Parameter isDryRun: true: work on a copy of the database, and publish nothing.
    package static func join(
        databasePath: String, containerPath: String, name: String? = nil, options: JoinOptions = JoinOptions(),
        isDryRun: Bool = false, environment: ReplicaEnvironment = .live, progress: ProgressHandler? = nil
    ) throws -> (replica: Replica?, report: JoinReport) {
        if isDryRun { return try (nil, dryRun(databasePath, containerPath, name, options, environment, progress)) }
        let start = environment.clock.milliseconds()
        try Store.checkClock(environment.clock)
        let path = absolutePath(containerPath)
        let container = try Container.open(
            at: path, expecting: nil, fileSystem: environment.fileSystem, random: environment.random)
        try refuseDatabase(at: databasePath, inside: path)
        let exists = FileManager.default.fileExists(atPath: databasePath)
        if exists {
            try refuseIfTracked(Store(path: databasePath, clock: environment.clock, random: environment.random))
        }
        let schemas = try ContainerSchemas(of: container)
        var isKept = exists
        do {
            let schema = try schemas.created(at: databasePath)
            let store = try Store(path: databasePath, clock: environment.clock, random: environment.random)
            do {
                return try join(
                    store, container, path, schema, checkedName(name), options, isPublishing: true,
                    environment, progress, start)
            } catch {
                // A database that has published has joined: the next sync does the rest.
                let hasJoined = try store.identity() != nil
                if exists, !hasJoined { try store.dropTables(schema.created.tables) }
                isKept = isKept || hasJoined
                try store.close()
                throw error
            }
        } catch {
            if !isKept { removeDatabase(at: databasePath) }
            throw error
        }
    }

    /// True if the container has a file of a device's log.
    private static func hasPublished(_ device: DeviceID, _ container: Container) throws -> Bool {
        try !container.segments(of: device).isEmpty || container.readHead(of: device) != nil
    }

    /// Removes a database that a join made and could not fill.
    private static func removeDatabase(at path: String) {
        for suffix in ["", "-wal", "-shm", "-journal", "-ferry-lock"] {
            try? FileManager.default.removeItem(atPath: path + suffix)  // mostly missing; the join's error says more
        }
    }

    /// Joins an app's own open database to an existing container. The app must have made the tables before.
    public static func join(
        _ store: Store, containerPath: String, name: String? = nil, options: JoinOptions = JoinOptions(),
        progress: ProgressHandler? = nil
    ) throws -> (replica: Replica, report: JoinReport) {
        try join(
            store, containerPath: containerPath, name: name, options: options, environment: .live, progress: progress)
    }

    /// Joins an app's own open database, and uses the outside world that is given.
    package static func join(
        _ store: Store, containerPath: String, name: String? = nil, options: JoinOptions = JoinOptions(),
        environment: ReplicaEnvironment, progress: ProgressHandler? = nil
    ) throws -> (replica: Replica, report: JoinReport) {
        let start = environment.clock.milliseconds()
        try Store.checkClock(environment.clock)
        let path = absolutePath(containerPath)
        let container = try Container.open(
            at: path, expecting: nil, fileSystem: environment.fileSystem, random: environment.random)
        try refuseIfTracked(store)
        try refuseDatabase(at: store.path, inside: path)
        let schema = try ContainerSchemas(of: container).shared(with: store)
        let (replica, report) = try join(
            store, container, path, schema, checkedName(name), options, isPublishing: true,
            environment, progress,
            start)
        guard let replica else { throw FerryError(.internalInconsistency, "A join made no replica.") }
        return (replica, report)
    }

    private static func join(
        _ store: Store, _ container: Container, _ path: String, _ schema: JoinedSchema,
        _ deviceName: String, _ options: JoinOptions, isPublishing: Bool, _ environment: ReplicaEnvironment,
        _ progress: ProgressHandler?, _ start: Int64
    ) throws -> (replica: Replica?, report: JoinReport) {
        try refuseDatabase(at: store.path, inside: path)
        let identity = StoreIdentity(
            device: environment.random.makeID(), deviceName: deviceName, container: container.id,
            containerName: container.name, containerPath: path)
        let selection = try selection(schema.record, store)
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
                    let leftOut = try store.beginTracking(identity, selection, rowsAreOld: true)
                    try store.awaitCounting(by: container.devices())
                    var joining = try JoiningRows(Replica(store, environment: environment), container, options)
                    let packed = try joining.pack()
                    return (leftOut, joining, packed)
                }
                let verdict =
                    options.rows == .theirs
                    ? try store.tentatively {
                        let (_, joining, packed) = try begin()
                        _ = try joining.replica.rehearse(container, packed: packed)
                        return try joining.verdict()
                    } : nil
                var (leftOut, joining, packed) = try begin()
                let replica = joining.replica
                rowsWithoutKey = packed.rowsWithoutKey
                if let verdict { try joining.remove(verdict) }
                var sync = try replica.rehearse(container, packed: packed)
                counts = try verdict?.counts ?? joining.settle()
                let waiting = try store.outboxSizes()
                sync.published.segments = waiting.count
                sync.published.changes = waiting.reduce(0) { $0 + $1.changes }
                sync.conflicts = try store.differingFieldCount()
                rows = joining
                if isPublishing { try container.checkRoom(waiting.reduce(0) { $0 + $1.bytes }, for: identity.device) }
                return (leftOut, replica, sync)
            }
            if isPublishing { try publish(what: replica, &sync, progress) }
        } else {
            do {
                leftOut = try store.beginTracking(identity, selection, rowsAreOld: true)
                try store.awaitCounting(by: container.devices())
                replica = try Replica(store, environment: environment)
                let packed = try store.pass(replaying: [], encode: replica.segmentEncoding(for: identity))
                sync =
                    isPublishing
                    ? try replica.sync(progress: progress) : try replica.rehearse(container, packed: packed)
            } catch {
                // The tables were empty and are emptied again, unless other devices may know this device. The join's
                // error says more than an error of this check.
                let isKnown = (try? hasPublished(identity.device, container)) ?? true
                if !isKnown, try store.identity()?.device == identity.device {
                    try store.endTracking(emptying: true)
                }
                throw error
            }
        }
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
            leftOut: (leftOut + schema.created.leftOut).map { .init(name: $0.name, reason: $0.reason) }, rows: compared,
            matchingKeys: rows?.matchingKeys ?? 0, removed: rows?.removed ?? 0, conflicts: sync.conflicts,
            hidden: status.hidden, waiting: sync.waiting, plainReferences: try store.plainReferences(),
            rowsWithoutKey: rowsWithoutKey, refusedSchemas: schema.refused,
            seconds: Double(environment.clock.milliseconds() - start) / 1000)
        return (replica, report)
    }

    /// Publishes the pre-existing rows. The database already belongs to the container: unpublished rows wait.
    private static func publish(what replica: Replica, _ sync: inout SyncReport, _ progress: ProgressHandler?) throws {
        do {
            let second = try replica.sync(progress: progress)
            sync.replayed.changes += second.replayed.changes
            sync.replayed.segments += second.replayed.segments
            sync.waiting = second.waiting
        } catch var error as FerryError {
            error.message =
                "The database has joined, and what it brings along waits to be published: `ferry sync` does that. "
                + error.message
            throw error
        }
    }

    private func firstPublication(
        _ container: Container, _ progress: ProgressHandler?
    ) throws -> (SyncReport, Int) {
        let total = try store.status(counting: false).pendingNotes
        progress?(SyncProgress(phase: .packing, completed: 0, total: total))
        let encode = segmentEncoding(for: identity)
        var packed = 0
        let outcome = try lock.withLock {
            try store.pass(replaying: []) { changeset, previous in
                packed += changeset.operationCount
                defer { progress?(SyncProgress(phase: .packing, completed: packed, total: total)) }
                return try encode(changeset, previous)
            }
        }
        return (try sync(progress: progress), outcome.rowsWithoutKey)
    }

    // MARK: Dry run

    private static func dryRun(
        _ databasePath: String, _ containerPath: String, _ name: String?, _ options: JoinOptions,
        _ environment: ReplicaEnvironment, _ progress: ProgressHandler?
    ) throws -> JoinReport {
        let start = environment.clock.milliseconds()
        try Store.checkClock(environment.clock)
        let path = absolutePath(containerPath)
        let container = try Container.open(
            at: path, expecting: nil, fileSystem: environment.fileSystem, random: environment.random)
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent(
            "ferry-dry-run-\(environment.random.next())")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
        defer { try? FileManager.default.removeItem(at: folder) }  // after a failure here, only a copy stays
        let copy = folder.appendingPathComponent("copy.sqlite").path
        if FileManager.default.fileExists(atPath: databasePath) {
            let original = try Store(path: databasePath, clock: environment.clock, random: environment.random)
            try refuseIfTracked(original)
            try original.copy(to: copy)
        }
        let schema = try ContainerSchemas(of: container).created(at: copy)
        let store = try Store(path: copy, clock: environment.clock, random: environment.random)
        return try join(
            store, container, path, schema, checkedName(name), options, isPublishing: false, environment,
            progress, start
        ).report
    }

    /// Replays without publishing.
    private func rehearse(_ container: Container, packed: PassOutcome) throws -> SyncReport {
        var report = SyncReport()
        report.published.changes = packed.packed
        report.published.segments = packed.packed > 0 ? 1 : 0
        try SnapshotChooser(replica: self, container: container, isPublishing: false).start(&report)
        var reader = LogReader(container: container, device: identity.device, room: availableBytes)
        var refused: [DeviceID: FerryError] = [:]
        while true {
            reader.setAside = Set(refused.keys)
            let batch = try reader.read(after: store.versionVector(), isThorough: true)
            for outcome in try LogReplay(self).replay(batch, &refused) {
                report.replayed.changes += outcome.replayed
                report.conflicts += outcome.conflicts
            }
            for (device, count) in batch.segments where refused[device] == nil { report.replayed.segments += count }
            report.waiting = batch.problems.merging(refused) { $1 }.sorted { $0.key < $1.key }.map { device, problem in
                .init(
                    device: batch.heads[device]?.deviceName ?? device.description, reason: problem.message,
                    code: problem.code.rawValue, file: problem.path)
            }
            if !batch.isFull { return report }
        }
    }

    // MARK: Preparation

    /// Selects the tables that the container's devices track. Additional tables of this database stay local.
    static func selection(_ record: SchemaRecord, _ store: Store) throws -> TableSelection {
        let plan = try store.trackingPlan(TableSelection())
        let names = Set(record.tracked.map { foldedName($0.name) })
        var declared: [String: [String]] = [:]
        var movedKeys: [String: String] = [:]
        for table in record.tracked {
            switch table.identity {
            case .declared(let columns): declared[table.name] = columns
            case .surrogateBy(let column): movedKeys[table.name] = column
            case .surrogate, .key: break
            }
        }
        var selection = TableSelection(
            except: plan.tracked.map(\.name).filter { !names.contains(foldedName($0)) && !isFerryName($0) },
            declaredIdentities: declared, references: record.references)
        selection.travelling = plan.leftOut.map(\.name).filter { names.contains(foldedName($0)) }
        selection.movedKeys = movedKeys
        return selection
    }

    private static func refuseIfTracked(_ store: Store) throws {
        try store.checkOwnTables()
        if let present = try store.identity() {
            throw FerryError(
                .alreadyTracked,
                "The database belongs to the container at \(present.containerPath) already. "
                    + "Run `ferry leave` first if it is to belong to another.", path: store.path)
        }
    }

    /// Refuses a live database inside the shared folder: the folder's syncer would tear the database apart.
    static func refuseDatabase(at databasePath: String, inside containerPath: String) throws {
        let database = absolutePath(databasePath)
        if !databasePath.isEmpty, database.hasPrefix(containerPath + "/") {
            throw FerryError(
                .invalidArgument,
                "The database lies inside the container's folder, where the folder's syncer would damage it. "
                    + "Move it out of \(containerPath).", path: database)
        }
    }

    static func checkedName(_ name: String?) throws -> String {
        let chosen = name ?? ProcessInfo.processInfo.hostName
        if chosen.isEmpty || chosen.utf8.count > Head.maximumNameBytes {
            throw FerryError(
                .invalidArgument, "A device's name has 1 to \(Head.maximumNameBytes) bytes. Choose another."
            )
        }
        return chosen
    }

    /// An absolute path without `.`, `..` and symbolic links, as far as the path exists.
    static func absolutePath(_ path: String) -> String {
        let expanded = (path as NSString).expandingTildeInPath
        return URL(fileURLWithPath: expanded).standardizedFileURL.resolvingSymlinksInPath().path
    }
}
