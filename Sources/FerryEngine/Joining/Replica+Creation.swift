import FerryContainer
import FerryCore
import FerryLog
import FerrySchema
import FerrySeal
import FerryStore
import Foundation

extension Replica {
    /// Creates a container for a database, tracks its tables and publishes its rows (`ferry init`).
    ///
    /// - Parameters:
    ///   - store: the database; it must not be tracked yet.
    ///   - containerPath: the folder. A missing folder is made; the parent must exist. A container without any publication, as after an
    ///     interrupted attempt, is used.
    ///   - sealing: whether members alone can read the container. A sealed container cannot be opened to everybody later.
    ///   - name: this device's name for people; `nil`: the computer's name.
    /// - Throws: `containerExists`, `containerMissing` (no parent), `alreadyTracked`, `unsupportedTable`, `invalidArgument`; `keyExposed`
    ///   where others could read the keys of a sealed container. The database is unchanged then.
    public static func create(
        _ store: Store, containerPath: String, sealing: ContainerSealing, name: String? = nil,
        selection: TableSelection = TableSelection()
    ) throws -> (replica: Replica, report: InitReport) {
        try ReplicaSetup(environment: .live(for: store), sealing: sealing).create(
            store, containerPath: containerPath, name: name, selection: selection)
    }

    /// Joins an app's own open database to an existing open container. The app must have made the tables before. A sealed container is
    /// joined by an `Enrolment`.
    /// - Throws: `keyMissing` for a sealed container; `containerMissing`, `containerEmpty`, `alreadyTracked`. The database is
    ///   unchanged then.
    public static func join(
        _ store: Store, containerPath: String, name: String? = nil, options: JoinOptions = JoinOptions(),
        progress: ProgressHandler? = nil
    ) throws -> (replica: Replica, report: JoinReport) {
        try ReplicaSetup(environment: .live(for: store), progress: progress).join(
            store, containerPath: containerPath, name: name, options: options)
    }

    /// Joins a database to an existing container, as `ReplicaSetup.join`.
    package static func join(
        databasePath: String, containerPath: String, name: String? = nil, options: JoinOptions = JoinOptions(),
        isDryRun: Bool = false
    ) throws -> (replica: Replica?, report: JoinReport) {
        try ReplicaSetup().join(
            databasePath: databasePath, containerPath: containerPath, name: name, options: options, isDryRun: isDryRun)
    }

    /// Packs and publishes all rows.
    /// - Returns: also the number of rows without a key.
    func firstPublication(
        _ container: Container, _ progress: ProgressHandler?
    ) throws -> (SyncReport, Int) {
        let total = try store.waitingChanges().pending
        progress?(SyncProgress(phase: .packing, completed: 0, total: total))
        let encode = segmentEncoding(for: identity)
        var packed = 0
        let outcome = try lock.withLock {
            try store.pass(replaying: []) { changeset, previous, keep in
                packed += changeset.operationCount
                defer { progress?(SyncProgress(phase: .packing, completed: packed, total: total)) }
                return try encode(changeset, previous, keep)
            }
        }
        return (try sync(progress: progress), outcome.rowsWithoutKey)
    }

    /// Replays without publishing.
    func rehearse(_ container: Container, packed: PassOutcome) throws -> SyncReport {
        var report = SyncReport()
        report.published.changes = packed.packed
        report.published.segments = packed.packed > 0 ? 1 : 0
        try SnapshotChooser(replica: self, container: container, isPublishing: false).start(&report)
        var reader = LogReader(
            container: container, device: identity.device, ends: try logEnds(), room: availableBytes)
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

    /// Selects the tables tracked by the container's devices. Additional tables of this database stay local: for good where the container's
    /// schema has the tables and leaves them out, else until another device has the tables.
    static func selection(_ record: SchemaRecord, _ store: Store) throws -> TableSelection {
        var everything = TableSelection()
        everything.renamed = TableNames(record.tracked)
        let plan = try store.trackingPlan(everything)
        let names = Set(record.tracked.map { foldedName($0.name) })
        var declared: [String: [String]] = [:]
        let recorded = try RecordedKeys(record)
        var movedKeys = try store.movedKeys(since: recorded, everything.renamed)
        for table in record.tracked {
            switch table.identity {
            case .declared(let columns): declared[exactKey(table.name)] = columns
            case .surrogateBy(let column): movedKeys[exactKey(table.name)] = column
            case .surrogate, .key: break
            }
        }
        var selection = TableSelection(
            except: plan.tracked.map(\.name).filter { !names.contains(foldedName($0)) && !isFerryName($0) },
            declaredIdentities: declared, references: record.references)
        let known = Set(record.statements.filter { $0.type == "table" }.map { foldedName($0.name) })
        selection.awaited = selection.except.filter { !known.contains(foldedName($0)) }
        selection.travelling = plan.leftOut.map(\.name).filter { names.contains(foldedName($0)) }
        selection.movedKeys = movedKeys
        selection.renamed = everything.renamed
        selection.renamedColumns = try store.columnNames(by: record, recorded)
        selection.references = record.references.map { reference in
            let renamed = record.tracked.first { equalNames($0.name, reference.table) }?.renamedColumns ?? []
            let column = renamed.first { equalNames($0.localName, reference.column) }?.name ?? reference.column
            return UndeclaredReference(table: reference.table, column: column, parent: reference.parent)
        }
        selection.keyCollations = recorded.collations
        for table in record.tracked where !table.identityColumns.isEmpty {
            selection.identityColumns[foldedName(table.name)] = table.identityColumns
        }
        return selection
    }

    /// - Parameter containerPath: the container wanted for the database.
    static func refuseIfTracked(_ store: Store, for containerPath: String) throws {
        try store.checkOwnTables()
        guard let present = try store.identity() else { return }
        throw FerryError(
            .alreadyTracked,
            "The database belongs to the container at \(present.containerPath) already. "
                + (equalBytes(present.containerPath, containerPath)
                    ? remedyOfSecondStart(unpublished: try store.unpublishedCount())
                    : "Run `ferry leave` first if it is to belong to another."),
            path: store.path)
    }

    /// The remedy where a database is made or joined once more, perhaps because the first time was interrupted.
    private static func remedyOfSecondStart(unpublished: Int) -> String {
        unpublished == 0
            ? "There is nothing left to make; `ferry status` tells how its devices stand."
            : "\(unpublished) \(unpublished == 1 ? "change waits" : "changes wait") to be published: run `ferry sync`, which "
                + "also finishes what was interrupted."
    }

    /// Refuses a live database inside the shared folder: the folder's syncer would tear the database apart.
    static func refuseDatabase(at databasePath: String, inside containerPath: String) throws(FerryError) {
        let database = absolutePath(databasePath)
        if !databasePath.isEmpty, database.hasPrefix(containerPath + "/") {
            throw FerryError(
                .invalidArgument,
                "The database lies inside the container's folder, where the folder's syncer would damage it. "
                    + "Move it out of \(containerPath).", path: database)
        }
    }

    /// Why no sync is made where the database lies; `nil` where syncs are.
    func reasonAgainstPlace() -> FerryError? {
        do {
            try Self.refuseDatabase(at: store.path, inside: identity.containerPath)
            return nil
        } catch {
            return error
        }
    }

    /// Refuses a new container inside the folder of another container, whose devices would take the new container's files for strays.
    /// - Parameter path: the place of the new container; a place that is no folder is inside of no folder.
    static func refuseContainer(at path: String, _ environment: ReplicaEnvironment) throws {
        guard path.hasPrefix("/") else { return }
        var folder = path
        while folder != "/" {
            folder = (folder as NSString).deletingLastPathComponent
            let marker = (folder as NSString).appendingPathComponent(ContainerDescription.fileName)
            guard case .file = try environment.fileSystem.item(at: marker) else { continue }
            // Other programs have files of this name.
            let isContainer = (try? environment.open(at: folder)) != nil
            guard isContainer else { continue }
            throw FerryError(
                .invalidArgument,
                "The new container would lie inside the container in \(folder). Choose a folder outside.", path: path)
        }
    }

    /// Refuses secret keys inside the shared folder, where everybody with the folder has the keys.
    static func refuseKeys(_ keys: any KeyStore, inside containerPath: String) throws {
        guard let place = keys.place, isInside(place, containerPath) else { return }
        throw FerryError(
            .keyExposed,
            "The directory of the secret keys, \(place), is inside the shared folder: everybody who has the folder would have the keys. "
                + "Choose a directory outside of \(containerPath) (FERRY_KEYS). If keys lie there already, move them, and run "
                + "`ferry keys … renew`.", path: place)
    }

    /// Refuses a recovery code inside the shared folder: whoever has the folder could let devices in.
    package static func refuseRecoveryCode(at file: String, inside containerPath: String) throws {
        guard isInside(file, containerPath) else { return }
        throw FerryError(
            .keyExposed,
            "The file for the recovery code, \(file), is inside the shared folder: everybody who has the folder would have the code. "
                + "Choose a file outside of \(containerPath).", path: file)
    }

    /// True for the folder itself as well.
    private static func isInside(_ path: String, _ folder: String) -> Bool {
        (absolutePath(path) + "/").hasPrefix(absolutePath(folder) + "/")
    }

    static func checkedName(_ name: String?) throws -> String {
        let chosen = name ?? ProcessInfo.processInfo.hostName
        if chosen.allSatisfy(\.isWhitespace) || chosen.utf8.count > Head.maximumNameBytes {
            throw FerryError(
                .invalidArgument,
                "A device's name has 1 to \(Head.maximumNameBytes) bytes, and is not blank. Choose another."
            )
        }
        return chosen
    }

    /// An absolute path without `.`, `..` and symbolic links, as far as the path exists.
    static func absolutePath(_ path: String) -> String { realPath(path) }
}
