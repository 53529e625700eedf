import FerryCore
import FerrySchema
import FerryStore

/// The result of a `sync`. The JSON keys are fixed: scripts rely on them.
///
/// Invariants: counts only grow during a sync; `nil` says that there is nothing to tell.
public struct SyncReport: Codable, Equatable, Sendable {
    public struct Published: Codable, Equatable, Sendable {
        /// Number of segment files written into the container.
        package var segments = 0
        /// Number of changes (insertions, updates, deletions of objects) in them.
        public var changes = 0
    }

    public struct Replayed: Codable, Equatable, Sendable {
        package var segments = 0
        public var changes = 0
    }

    /// A device whose log cannot be replayed further for now.
    public struct Waiting: Codable, Equatable, Sendable {
        /// The device's name, or the ID if the name is unknown.
        public var device: String
        /// The missing file or the fault, in a sentence.
        public var reason: String
        /// The kind of reason: a `FerryError.Code`. `fileNotThereYet`, `logCollected`, `olderState` and `clockAhead`
        /// resolve by themselves or do no harm. Any further code is damage that somebody should examine.
        public var code: String
        /// Since when the log has waited, by this device's clock, in milliseconds since the Unix epoch.
        package var sinceMilliseconds: Int64?
        /// The file concerned, if any.
        package var file: String?

        /// True if somebody should examine the problem.
        package var isDamage: Bool {
            ![FerryError.Code.fileNotThereYet, .logCollected, .clockAhead, .olderState].contains(
                FerryError.Code(rawValue: code))
        }
    }

    public var published = Published()
    public var replayed = Replayed()
    /// Number of hidden objects in the whole database.
    public var hidden = 0
    /// Number of conflicts found by this sync.
    public var conflicts = 0
    public var waiting: [Waiting] = []
    /// Tables that other devices have by a different primary key; `nil` without any.
    public var tablesApart: [TableApart]?
    /// Tables with rows that wait for a process with the app's collations or functions; `nil` without any.
    package var waitingTables: [WaitingTable]?
    /// Rolled-up, collected and removed files of this device; `nil` without any.
    package var compaction: CompactionReport?
    /// The database's new device ID; `nil` if unchanged.
    public var renewed: Renewal?
    /// The IDs of the devices that this device let into a sealed container; `nil` without any.
    public var admitted: [String]?
    /// Copies that came into a sealed container since the last sync here; `nil` without any. Where nobody made one, remove it.
    public var copies: [AdmittedCopy]?
    /// The number of devices that ask to be let in by words; `nil` without any.
    public var claims: Int?
    /// The number of devices that ask by a code of this device, and whose requests are too old to count: a clock is wrong. `nil` without any.
    package var lateClaims: Int?
    /// Why nothing may be published into a sealed container for now; `nil` if all was.
    public var held: String?
    /// What became of contents; `nil` without any news of them.
    public var documents: DocumentsReport?
    /// The duration.
    package var durationMilliseconds: Int64 = 0

    package init() {}

    /// True if anything was sent or received.
    public var hasNews: Bool { published.segments > 0 || replayed.segments > 0 || documents?.hasNews ?? false }
}

/// The report of `status`.
public struct StatusReport: Codable, Equatable, Sendable {
    public struct DeviceName: Codable, Equatable, Sendable {
        public var id: String
        public var name: String
    }

    public struct ContainerPlace: Codable, Equatable, Sendable {
        package var id: String
        package var name: String
        /// The folder's path, or the location.
        public var path: String
        /// `folder`, `s3` or `rclone`.
        package var kind: String
        /// True if the folder is present now and is this container.
        public var reachable: Bool
        /// Why the container is not reachable; or, if it is, why this device cannot take part: no key is here, or the device was removed.
        public var problem: String?
        /// Why the last sync failed, if the folder or a file in the folder was the reason.
        package var failure: String?
        /// Since when syncs have failed for the present reason, in milliseconds since the Unix epoch.
        package var failingSinceMilliseconds: Int64?
        /// Whether the container is sealed; `nil` for an open one.
        public var sealed: Bool?
        /// The number of the epoch under which files are sealed.
        package var epoch: Int?
        /// The number of members of a sealed container.
        public var members: Int?
        /// The number of devices that ask to be let in by words; `nil` without any.
        public var claims: Int?
        /// The number of devices that ask by a code, and that no member has let in; `nil` without any.
        package var codeClaims: Int?
        /// Copies that came in within the last 30 days; `nil` without any.
        public var copies: [AdmittedCopy]?
    }

    package struct Table: Codable, Equatable, Sendable {
        package var name: String
        /// `integer key`, `key (a, b)` or `declared (a, b)`.
        package var identity: String
        /// Number of living objects, hidden objects included.
        package var objects: Int
        /// True if this database has the table, by this key. Rows of a table only on other devices are kept here, and
        /// shown once the app makes the table.
        package var isHere: Bool

        package init(_ table: StoreStatus.TableCount) {
            name = table.name
            identity = table.identity.text
            objects = table.objects
            isHere = table.isLocal
        }
    }

    package struct LeftOut: Codable, Equatable, Sendable {
        package var name: String
        package var reason: String
    }

    public struct Peer: Codable, Equatable, Sendable {
        public var id: String
        public var name: String
        /// Number of changesets announced by the device's head and not replayed here.
        public var behind: Int
        /// Number of this device's changesets that the device has not replayed, according to its head.
        public var unacknowledged: Int
        /// When the head was written, in milliseconds since the Unix epoch.
        public var lastSeenMilliseconds: Int64?
        package var activity: Activity
        /// True if some log no longer reaches back to the device's position: after its return the device starts from a
        /// snapshot.
        package var isLeftBehind: Bool
        /// Why the device's log cannot be replayed further.
        public var problem: String?
        /// The kind of reason, a `FerryError.Code`; since when the reason has stopped the log, in milliseconds since
        /// the Unix epoch; and the file concerned.
        package var problemCode: String?
        package var problemSinceMilliseconds: Int64?
        package var problemFile: String?
        /// How this device's state and rows compare with the device's, according to its head; `nil` without a head.
        public var standing: Standing?
        /// Number of changesets, of any device, that only the peer has replayed.
        package var changesetsBehind: Int?
        /// Number of changesets, of any device, that only this device has replayed.
        package var changesetsAhead: Int?
        /// Tables with differences; `nil` unless `differs`.
        package var differing: [String]?
        /// Tables with rows that wait, here or there, for a process with the app's collations or functions; `nil`
        /// unless `waits` or `differs`, or without any.
        package var waitingTables: [String]?
        /// The tables of `differing` with equal states and different rows; `nil` without any.
        package var differingRows: [String]?
        /// Tables with different schemas on the two devices, if this may be the reason; `nil` without any.
        package var differingSchemas: [String]?
        /// The tables of `differing` of which rows went on the device without a deletion; `nil` without any.
        package var leftTables: [String]?
        /// If rows differ: the tables with a UNIQUE index computed from integer keys, of which devices may show
        /// different rows; `nil` without any.
        package var differingByKeys: [String]?
        /// The IDs of databases that had this ID before they were restored or copied; `nil` without any. The ID itself
        /// is in use only if the database was copied.
        package var successors: [String]?
        /// In a sealed container `removed` or `left` for a device that is out; `nil` for a member and in an open container.
        public var membership: String?
    }

    /// Counts of objects not shown as written, and of dangling rows of local tables, by reason.
    public struct Exceptional: Codable, Equatable, Sendable {
        public var table: String
        public var kind: Kind
        /// The reason in English.
        public var reason: String
        /// The columns or expressions that the reason is about; `nil` if the kind has none.
        public var columns: [String]?
        public var count: Int
    }

    /// How concurrent writes to a table, an index or a column merge.
    package struct Policy: Codable, Equatable, Sendable {
        /// As in `PolicyTarget.text`.
        package var target: String
        package var policy: String
        /// True if this process can apply the policy. A process that does not know a table's policy replays nothing of
        /// this table.
        package var applied: Bool
    }

    public var device: DeviceName
    public var container: ContainerPlace
    package var tables: [Table]
    package var leftOut: [LeftOut]
    /// Tables that other devices have by a different primary key.
    package var tablesApart: [TableApart]
    /// Tables with rows that wait for a process with the app's collations or functions.
    package var waitingTables: [WaitingTable]
    /// The app's triggers that this process leaves out of a replay.
    package var leftOutTriggers: [LeftOutTrigger]
    public var devices: [Peer]
    /// Number of changes not in the container yet, pending changes included.
    public var unpublished: Int
    /// Tables that an app made, or made anew, since the last sync. Writes to them meanwhile are not counted.
    package var unseenTables: [String]
    /// Number of living objects without a row.
    public var hidden: Int
    public var exceptions: [Exceptional]
    /// Number of unresolved conflicts.
    public var conflicts: Int
    package var policies: [Policy]
    /// Foreign keys that need not lead to a row.
    package var plainReferences: [PlainReference]
    /// What the database has of documents and attachments; `nil` without any.
    public var documents: Documents?

    /// Documents and attachments, and where their bytes are.
    public struct Documents: Codable, Equatable, Sendable {
        public var documents: Int
        public var folders: Int
        /// The bytes of all contents that something refers to, and of those that are on this device.
        public var bytes: Int
        public var hereBytes: Int
        /// Packs beside the database that are not in the container yet, and their bytes.
        public var pendingPacks: Int
        public var pendingBytes: Int
        /// Contents that could not be fetched: the first one's file, and since when.
        public var waiting: Int
        /// Why the first one could not be fetched: a code of `FerryError`.
        package var code: String?
        public var file: String?
        public var sinceMilliseconds: Int64?
        /// Contents that no pack in the container has, and this device has not either.
        public var lost: Int
        /// Documents with rival versions.
        public var conflicts: Int
        /// Values of columns with attachments that are no IDs of contents, and the first such column; `nil` without any.
        public var strangeValues: Int?
        package var strangeColumn: String?
    }
}

/// The result of `init`.
public struct InitReport: Codable, Equatable, Sendable {
    /// A reference without a foreign key.
    package struct Reference: Codable, Equatable, Sendable {
        package var table: String
        package var column: String
        package var parent: String
        /// True if the values are translated on every device. Keys of tables without integer keys are equal everywhere,
        /// and their values travel unchanged.
        package var isTranslated: Bool
    }

    public var device: StatusReport.DeviceName
    package var container: StatusReport.DeviceName
    public var path: String
    package var tables: [StatusReport.Table]
    package var leftOut: [StatusReport.LeftOut]
    /// Named references without a foreign key.
    package var references: [Reference]
    /// Columns that look like references, without a foreign key and not named in the selection.
    package var hints: [UndeclaredReference]
    /// Advice for a Core Data store; `nil` for any different database.
    package var coreData: CoreDataAdvice?
    /// Foreign keys of the schema that count as plain references: SQLite cannot use them, rows break them, or they were
    /// named.
    package var plainReferences: [PlainReference]
    package var published: SyncReport.Published
    /// Number of rows that cannot travel because of a NULL in the key.
    package var rowsWithoutKey: Int
    /// Travelling tables that this process cannot write to, for lack of a collation or function of the app's.
    package var tablesOfTheApp: [TableOfTheApp]
    package var durationMilliseconds: Int64
    /// Whether members alone can read the container.
    package var sealed: Bool
    /// What became of the recovery code of a sealed container: `shown`, `file` or `none`.
    package var recovery: String?
}

/// The result of `join`, also of a dry run.
public struct JoinReport: Codable, Equatable, Sendable {
    public var device: StatusReport.DeviceName
    package var container: StatusReport.DeviceName
    public var path: String
    package var dryRun: Bool
    /// Tables that were made because the database lacked them.
    package var createdTables: [String]
    /// Changes received from the container.
    package var replayed: SyncReport.Replayed
    /// Changes of this database's pre-existing rows.
    package var published: SyncReport.Published
    package var tables: [StatusReport.Table]
    package var leftOut: [StatusReport.LeftOut]
    /// How the pre-existing rows compare with the container's, by table.
    package var compared: [RowComparisonCount]
    /// Number of integer keys on both sides without any sign that the rows are the same. Both rows are kept.
    package var matchingKeys: Int
    /// Number of rows that are the container's by their integer keys alone (`--match keys` without a file of `leave`); `nil` if none are.
    package var assumedKeys: Int?
    /// Number of rows that are the container's by `<database>-ferry-keys`, without `--match keys`; `nil` if none are.
    package var knownKeys: Int?
    /// Number of rows deleted because only this database had them (`--rows theirs`).
    package var removed: Int
    /// Number of fields with values unlike the container's; the container's values are shown.
    public var conflicts: Int
    public var hidden: Int
    public var waiting: [SyncReport.Waiting]
    /// Foreign keys that count as plain references, on whatever device they came to do so.
    package var plainReferences: [PlainReference]
    package var rowsWithoutKey: Int
    /// Tables with rows that wait for a process with the app's collations and functions.
    package var waitingTables: [WaitingTable]
    /// Newer schemas in the container that cannot be made here; an older schema was taken.
    package var refusedSchemas: [RefusedSchema]
    /// Tables made here in which the app's migration tool notes its work, and which are empty; `nil` without any. The tool may do all of
    /// its work again.
    package var emptyNotes: [String]?
    package var durationMilliseconds: Int64

    /// A device's schema that cannot be made in the joining database.
    package struct RefusedSchema: Codable, Equatable, Sendable {
        /// The name of the device that published the schema.
        package var device: String
        /// Why the schema cannot be made, in a sentence.
        package var reason: String
    }
}

/// A change of an object, for `log`.
package struct LogEntry: Equatable, Sendable {
    /// When the change was made, in milliseconds since the Unix epoch, by its device's clock; `nil` for pre-existing
    /// rows.
    package var timeMilliseconds: Int64?
    /// The name of the change's device.
    package var device: String
    /// The number of the changeset in this device's log.
    package var sequence: UInt64
    package var table: String
    /// The row's key on this device, or the former or intended one without a row here; empty if unknown.
    package var key: [FieldValue]
    package var object: ObjectID
    /// `insert`, `update` or `delete`.
    package var operation: ChangeKind
    /// The written columns.
    package var columns: [String]
}

/// The result of `leave`.
public struct LeaveReport: Codable, Equatable, Sendable {
    /// Where the container lies; empty where nobody knows any more.
    package var path: String
    /// Number of changes not in the container, and never to be.
    public var unpublished: Int
    /// The app's triggers and views that check whether a replay is writing. The table `ferry_replay` stays for them,
    /// and says that no replay is.
    package var askers: [String]
    /// Whether the members of a sealed container were told; `false`: somebody should remove this device there. `nil` for an open
    /// container.
    public var isTold: Bool?
    /// Why the members were not told, in a sentence.
    package var untoldReason: String?
    /// How many documents and attachments went; `nil` without any.
    public var documents: Int?
    /// How many values, members of sets and counters of the key-value store stay in the database, in the tables `ferry_kv_value`,
    /// `ferry_kv_member` and `ferry_kv_counter`; `nil` without any. The next container gets them.
    public var keyValueRows: Int?
    /// How many rows the file `<database>-ferry-keys` remembers for a later join; `nil` without such a file.
    package var rememberedKeys: Int?
    /// Why that file could not be written. Integers alone tell rows then.
    package var keysFailure: String?
    /// Whether an open container has further devices, which keep files for this device until somebody retires it.
    package var hasOthers = false

    private enum CodingKeys: String, CodingKey {
        case path, unpublished, askers, isTold, untoldReason, documents, rememberedKeys, keysFailure
    }
}

extension ContentStatistics {
    /// Documents and attachments, in words: `2 documents and 1 attachment`.
    var words: String {
        let parts = [(documents, "document"), (attachments, "attachment")].filter { $0.0 > 0 }
        return parts.map { DoctorReport.count($0.0, $0.1) }.joined(separator: " and ")
    }
}

/// The progress of long work.
public struct SyncProgress: Sendable {
    public enum Phase: String, Sendable {
        /// Packing local changes. Units are changes.
        case packing
        /// Writing segments into the container. Units are changes.
        case publishing
        /// Reading other devices' segments. Units are changesets.
        case reading
        /// Merging their changes. Units are changes.
        case replaying
        /// Checking the database's file, without units.
        case checking
        /// Comparing rows with the state. Units are rows.
        case comparing
        /// Examining the container's files. Units are files.
        case examining
        /// Bringing a mirror and the documents into step. Units are files.
        case mirroring
    }

    public var phase: Phase
    public var completed: Int
    /// `nil` if unknown yet.
    public var total: Int?

    package init(phase: Phase, completed: Int, total: Int? = nil) {
        self.phase = phase
        self.completed = completed
        self.total = total
    }
}

public typealias ProgressHandler = @Sendable (SyncProgress) -> Void

extension TableIdentity {
    /// The words for people.
    package var text: String {
        switch self {
        case .surrogate: "integer key"
        case .surrogateBy(let column): "integer key (\(column))"
        case .key(let columns): "key (\(columns.joined(separator: ", ")))"
        case .declared(let columns): "declared (\(columns.joined(separator: ", ")))"
        }
    }
}
