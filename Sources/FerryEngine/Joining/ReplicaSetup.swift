import FerryContainer
import FerryCore
import FerryLog
import FerrySchema
import FerrySeal
import FerryStore
import Foundation

/// Makes replicas: creates containers, and joins databases to containers.
package struct ReplicaSetup {
    /// The outside world.
    private(set) var environment: ReplicaEnvironment
    let progress: ProgressHandler?
    /// Whether a new container is sealed. Commands and apps always say so; tests about something else leave the container open.
    private let sealing: ContainerSealing
    /// For joining a sealed container, after somebody let the device in.
    let enrolment: Enrolment?
    /// The recovery code, for a dry run in a sealed container before anybody lets the device in.
    package var rehearsalCode: SecretCode?
    /// The treatment of documents where a database is made of a file, and belongs to no container.
    package var importedDocuments = ImportedDocuments.refused

    package init(
        environment: ReplicaEnvironment = .live, progress: ProgressHandler? = nil, sealing: ContainerSealing = .open,
        enrolment: Enrolment? = nil
    ) {
        self.environment = environment
        self.progress = progress
        self.sealing = sealing
        self.enrolment = enrolment
    }

    /// Creates a container for a database; as `Replica.create`.
    package func create(
        _ store: Store, containerPath: String, name: String? = nil, selection: TableSelection = TableSelection()
    ) throws -> (replica: Replica, report: InitReport) {
        let start = environment.clock.milliseconds()
        try Store.checkClock(environment.clock)
        let path = try Replica.fullPlace(containerPath)
        try Replica.refuseIfTracked(store, for: path)
        try Replica.refuseDatabase(at: store.path, inside: path)
        try Replica.refuseContainer(at: path, environment)
        // Errors of the selection come before anything is made.
        let plan = try store.trackingPlan(selection)
        guard plan.tracked.contains(where: { !isFerryName($0.name) }) else {
            throw FerryError(
                .unsupportedTable,
                "No table can travel. " + plan.leftOut.map { "\($0.name): \($0.reason)." }.joined(separator: " "))
        }
        let deviceName = try Replica.checkedName(name)
        let hints = try store.referenceHints(selection)
        let coreData = try store.coreDataAdvice(selection)
        let tablesOfTheApp = try store.tablesOfTheApp(selection)
        let (container, membership) = try NewContainer(path, sealing, environment).make()
        if let membership { try keepRecovery(membership, container) }
        let identity = StoreIdentity(
            device: membership?.keys.device ?? environment.random.makeID(), deviceName: deviceName,
            container: container.id, containerName: container.name, containerPath: path,
            genesis: membership?.first.hash)
        let leftOut = try store.beginTracking(identity, selection, sealed: membership?.beginning())
        let replica = try Replica(store, environment: environment)
        replica.goOn(with: container)
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
            published: sync.published, rowsWithoutKey: withoutKey, tablesOfTheApp: tablesOfTheApp,
            durationMilliseconds: environment.clock.milliseconds() - start, sealed: membership != nil)
        return (replica, report)
    }

    /// Hands the recovery code over. Where the code cannot be kept, the founder's keys and the container go, too: nobody could become a
    /// member. The next attempt begins from nothing.
    private func keepRecovery(_ membership: NewMembership, _ container: Container) throws {
        guard let code = membership.recovery, case .sealed(let keep?) = sealing else { return }
        do {
            try keep(code)
        } catch {
            try environment.keys.remove(membership.keys.device)
            try NewContainer.remove(container)
            throw error
        }
    }

    // MARK: Joining

    /// Opens a container to join.
    /// - Returns: also the time of the beginning in milliseconds.
    private func open(_ containerPath: String) throws -> (place: JoinPlace, start: Int64) {
        let start = environment.clock.milliseconds()
        try Store.checkClock(environment.clock)
        return (try JoinPlace(containerPath, enrolment, environment), start)
    }

    /// Joins a database to an existing container (`ferry join`).
    ///
    /// A missing database file and missing tables are made from the container. Rows on both sides merge as `options`
    /// say.
    /// - Parameter isDryRun: true: work on a copy of the database, and publish nothing.
    /// - Throws: `keyMissing` for a sealed container without an enrolment; `enrolmentPending` while nobody has let the device in.
    package func join(
        databasePath: String, containerPath: String, name: String? = nil, options: JoinOptions = JoinOptions(),
        isDryRun: Bool = false
    ) throws -> (replica: Replica?, report: JoinReport) {
        if isDryRun { return try (nil, dryRun(databasePath, containerPath, name, options)) }
        let (place, start) = try open(containerPath)
        try Replica.refuseDatabase(at: databasePath, inside: place.path)
        let exists = FileManager.default.fileExists(atPath: databasePath)
        if exists {
            try Replica.refuseIfTracked(
                Store(path: databasePath, clock: environment.clock, random: environment.random), for: place.path)
        }
        let schemas = try ContainerSchemas(of: place.container)
        var isKept = exists
        do {
            let schema = try schemas.created(at: databasePath)
            let store = try Store(path: databasePath, clock: environment.clock, random: environment.random)
            do {
                let attempt = JoinAttempt(
                    setup: self, place: place, schema: schema,
                    deviceName: try Replica.checkedName(name),
                    options: try remembering(options, databasePath, place), isPublishing: true, start: start)
                let joined = try attempt.join(store)
                try RememberedKeysFile(besideDatabase: databasePath, environment.fileSystem).remove()
                return joined
            } catch {
                // A database with a publication has joined: the next sync does the rest.
                let hasJoined = try store.identity() != nil
                if exists, !hasJoined { try store.dropTables(schema.created.tables) }
                isKept = isKept || hasJoined
                try store.close()
                throw error
            }
        } catch {
            if !isKept { Self.removeDatabase(at: databasePath) }
            throw error
        }
    }

    /// Refuses a database that belongs to a container already, before anybody is asked to let it in.
    /// - Throws: `alreadyTracked`, as `Store.init`. A missing file is no failure.
    package static func refuseTracked(
        databasePath: String, containerPath: String, environment: ReplicaEnvironment = .live
    ) throws {
        guard FileManager.default.fileExists(atPath: databasePath) else { return }
        let store = try Store(path: databasePath, clock: environment.clock, random: environment.random)
        try Replica.refuseIfTracked(store, for: Replica.fullPlace(containerPath))
        try store.close()
    }

    /// Removes a database made and not filled by a join or an import.
    static func removeDatabase(at path: String) {
        let files = DatabaseFiles(of: path)
        for path in ["", "-wal", "-shm", "-journal"].map({ files.database + $0 }) + [files.path(.lock)] {
            try? FileManager.default.removeItem(atPath: path)  // mostly missing; the join's error says more
        }
    }

    /// Joins an app's own open database; as `Replica.join`.
    package func join(
        _ store: Store, containerPath: String, name: String? = nil, options: JoinOptions = JoinOptions()
    ) throws -> (replica: Replica, report: JoinReport) {
        let (place, start) = try open(containerPath)
        try Replica.refuseIfTracked(store, for: place.path)
        try Replica.refuseDatabase(at: store.path, inside: place.path)
        let schema = try ContainerSchemas(of: place.container).shared(with: store)
        let attempt = JoinAttempt(
            setup: self, place: place, schema: schema,
            deviceName: try Replica.checkedName(name), options: try remembering(options, store.path, place),
            isPublishing: true, start: start)
        let (replica, report) = try attempt.join(store)
        try RememberedKeysFile(besideDatabase: store.path, environment.fileSystem).remove()
        guard let replica else { throw FerryError(.internalInconsistency, "A join made no replica.") }
        return (replica, report)
    }

    // MARK: Dry run

    private func dryRun(
        _ databasePath: String, _ containerPath: String, _ name: String?, _ options: JoinOptions
    ) throws -> JoinReport {
        if let code = rehearsalCode {
            let (membership, keys) = try Enrolment.rehearsal(
                byRecovery: code, containerPath: containerPath, environment: environment)
            var setup = self
            setup.environment.keys = keys
            let place = try JoinPlace(containerPath, rehearsing: membership, environment)
            return try setup.dryRun(at: place, environment.clock.milliseconds(), databasePath, name, options)
        }
        let (place, start) = try open(containerPath)
        return try dryRun(at: place, start, databasePath, name, options)
    }

    private func dryRun(
        at place: JoinPlace, _ start: Int64, _ databasePath: String, _ name: String?, _ options: JoinOptions
    ) throws -> JoinReport {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent(
            "ferry-dry-run-\(environment.random.next())")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
        defer { try? FileManager.default.removeItem(at: folder) }  // after a failure here, only a copy stays
        let copy = folder.appendingPathComponent("copy.sqlite").path
        if FileManager.default.fileExists(atPath: databasePath) {
            let original = try Store(path: databasePath, clock: environment.clock, random: environment.random)
            try Replica.refuseIfTracked(original, for: place.path)
            try original.copy(to: copy)
        }
        let schema = try ContainerSchemas(of: place.container).created(at: copy)
        let store = try Store(path: copy, clock: environment.clock, random: environment.random)
        let attempt = JoinAttempt(
            setup: self, place: place, schema: schema,
            deviceName: try Replica.checkedName(name), options: try remembering(options, databasePath, place),
            isPublishing: false, start: start)
        return try attempt.join(store).report
    }

    /// The options with the database's memory of its integer keys.
    private func remembering(_ options: JoinOptions, _ databasePath: String, _ place: JoinPlace) throws -> JoinOptions {
        var options = options
        options.rememberedKeys = try RememberedKeysFile(besideDatabase: databasePath, environment.fileSystem)
            .read(of: place.container.id)
        return options
    }
}
