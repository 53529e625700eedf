import FerryCore
import FerryStore

/// What one `sync` did. Its JSON keys are fixed: scripts rely on them.
public struct SyncReport: Codable, Equatable, Sendable {
    public struct Published: Codable, Equatable, Sendable {
        /// Segment files written into the container.
        public var segments = 0
        /// Changes (insertions, updates, deletions of objects) in them.
        public var changes = 0
    }

    public struct Replayed: Codable, Equatable, Sendable {
        public var segments = 0
        public var changes = 0
    }

    /// A device whose log cannot be replayed further for now.
    public struct Waiting: Codable, Equatable, Sendable {
        /// The device's name, or its ID where it has not told a name.
        public var device: String
        /// What is waited for, or what is wrong, in a sentence.
        public var reason: String
        /// What kind of reason it is: a `FerryError.Code`. `fileNotThereYet`, `logCollected`, `olderState` and `clockAhead` mend themselves or do no
        /// harm; anything else is damage that somebody should look at.
        public var code: String
        /// Since when it is waited for, by this device's clock, in milliseconds since the Unix epoch.
        public var sinceMilliseconds: Int64?
        /// The file that it is about, where it is about one.
        public var file: String?

        /// Whether somebody should look at it.
        public var isDamage: Bool {
            ![FerryError.Code.fileNotThereYet, .logCollected, .clockAhead, .olderState].contains(
                FerryError.Code(rawValue: code))
        }
    }

    public var published = Published()
    public var replayed = Replayed()
    /// Objects that are hidden in the whole database.
    public var hidden = 0
    /// Conflicts that this sync brought.
    public var conflicts = 0
    public var waiting: [Waiting] = []
    /// Tables that other devices have by another primary key; `nil` where there are none.
    public var tablesApart: [TableApart]?
    /// Tables with rows that wait for a process with a collation or a function of the app's; `nil` where there are none.
    public var waitingTables: [WaitingTable]?
    /// What was rolled up, collected and removed of this device's files; `nil` where nothing was.
    public var compaction: CompactionReport?
    /// Tells that the database got a new device ID; `nil` where it kept the one that it had.
    public var renewed: Renewal?
    /// How long it took.
    public var seconds: Double = 0

    public init() {}

    /// Whether anything went either way.
    public var hasNews: Bool { published.segments > 0 || replayed.segments > 0 }
}

/// What `status` tells.
public struct StatusReport: Codable, Equatable, Sendable {
    public struct DeviceName: Codable, Equatable, Sendable {
        public var id: String
        public var name: String
    }

    public struct ContainerPlace: Codable, Equatable, Sendable {
        public var id: String
        public var name: String
        public var path: String
        /// Whether the folder is there now and is this container.
        public var reachable: Bool
        /// Why not.
        public var problem: String?
        /// Why the last sync failed, where the folder or a file in it was the reason.
        public var failure: String?
        /// Since when syncs have failed for the reason that the last one failed for, in milliseconds since the Unix epoch.
        public var failingSinceMilliseconds: Int64?
    }

    public struct Table: Codable, Equatable, Sendable {
        public var name: String
        /// `integer key`, `key (a, b)` or `declared (a, b)`.
        public var identity: String
        /// Objects that are alive, hidden ones included.
        public var objects: Int
        /// Whether this database has the table, by that key. Rows of a table that only other devices have are kept here, and
        /// shown once the app makes the table.
        public var isHere: Bool

        init(_ table: StoreStatus.TableCount) {
            name = table.name
            identity = table.identity.text
            objects = table.objects
            isHere = table.isLocal
        }
    }

    public struct LeftOut: Codable, Equatable, Sendable {
        public var name: String
        public var reason: String
    }

    public struct Peer: Codable, Equatable, Sendable {
        public var id: String
        public var name: String
        /// Changesets that its head announces and that are not replayed here.
        public var behind: Int
        /// Changesets of this device that it has not replayed yet, as far as its head tells.
        public var unacknowledged: Int
        /// When its head was written, in milliseconds since the Unix epoch.
        public var lastSeenMilliseconds: Int64?
        /// `active`, `silent` or `retired`: as `DevicesReport` tells it.
        public var activity: String
        /// Whether some log does not reach back any more to where it stopped, so that it starts from a snapshot when it
        /// returns.
        public var isLeftBehind: Bool
        /// Why its log cannot be replayed further.
        public var problem: String?
        /// What kind of reason that is, a `FerryError.Code`; since when it has kept the log from being replayed, in
        /// milliseconds since the Unix epoch; and the file that it is about.
        public var problemCode: String?
        public var problemSinceMilliseconds: Int64?
        public var problemFile: String?
        /// How this device's state and rows compare with that one's, as its head tells: `inStep` (proven by digests), `behind`,
        /// `ahead`, `apart` (both), `unproven` (the same changes, and it tells no digests of its rows, or `differingSchemas`),
        /// `waits` (the same changes and the same state, and rows of `waitingTables` wait here or there for the app), `differs` (the
        /// same changes and another state, or other rows: `Replica.verify` tells where). `nil` where it has no head.
        public var standing: String?
        /// Changesets of any device that it has replayed and this one has not.
        public var changesetsBehind: Int?
        /// Changesets of any device that this one has and it has not replayed.
        public var changesetsAhead: Int?
        /// Tables in which the two differ; `nil` unless `differs`.
        public var differing: [String]?
        /// Tables with rows that wait, here or there, for a process with a collation or a function of the app's; `nil` unless `waits`
        /// or `differs`, or where there are none.
        public var waitingTables: [String]?
        /// Those of them in which the states are the same and the rows differ; `nil` where there are none.
        public var differingRows: [String]?
        /// Tables that the two have by other schemas, as far as that may be the reason; `nil` where there are none.
        public var differingSchemas: [String]?
        /// Where rows differ: the tables with a UNIQUE index that is computed of integer keys, so that devices may show other rows
        /// of them; `nil` where there are none.
        public var differingByKeys: [String]?
        /// The IDs under which databases go on that had this one before they were restored or copied; `nil` where there
        /// are none. It is in use itself only where it was copied.
        public var successors: [String]?
    }

    /// Objects whose rows are not shown as they were written, and rows of tables that stay which refer to nothing, by reason.
    public struct Exceptional: Codable, Equatable, Sendable {
        public var table: String
        /// `waiting`, `outranked`, `refused`, `awaitingApp` (all hidden), `heldBack`, `clearedReference` or `outdated` (shown),
        /// `joined` (shown by
        /// the row of another), `stranded` (shown, of a table that stays), or `left` (no row here: the table was dropped or
        /// emptied without a deletion).
        public var kind: String
        public var reason: String
        public var count: Int
    }

    /// How concurrent writes to a table, an index or a column merge.
    public struct Policy: Codable, Equatable, Sendable {
        /// As `PolicyTarget.text`.
        public var target: String
        public var policy: String
        /// Whether this process can apply it. Where it knows the policy of a table not, it replays nothing of that table.
        public var applied: Bool
    }

    public var device: DeviceName
    public var container: ContainerPlace
    public var tables: [Table]
    public var leftOut: [LeftOut]
    /// Tables that other devices have by another primary key.
    public var tablesApart: [TableApart]
    /// Tables with rows that wait for a process with a collation or a function of the app's.
    public var waitingTables: [WaitingTable]
    /// The app's triggers that a replay by this process leaves out.
    public var leftOutTriggers: [LeftOutTrigger]
    public var devices: [Peer]
    /// Changes that are not in the container yet, those not packed yet included.
    public var unpublished: Int
    /// Objects that are alive and have no row.
    public var hidden: Int
    public var exceptions: [Exceptional]
    /// Conflicts that nobody has resolved.
    public var conflicts: Int
    public var policies: [Policy]
    /// Foreign keys that need not lead anywhere.
    public var plainReferences: [PlainReference]
}

/// What `init` did.
public struct InitReport: Codable, Equatable, Sendable {
    /// A reference that no foreign key declares.
    public struct Reference: Codable, Equatable, Sendable {
        public var table: String
        public var column: String
        public var parent: String
        /// Whether its values are translated on every device. The keys of other tables are the same everywhere, and the
        /// values travel as they are.
        public var isTranslated: Bool
    }

    public var device: StatusReport.DeviceName
    public var container: StatusReport.DeviceName
    public var path: String
    public var tables: [StatusReport.Table]
    public var leftOut: [StatusReport.LeftOut]
    /// References that no foreign key declares and that were named.
    public var references: [Reference]
    /// Columns that look like references and that neither a foreign key nor the selection declares.
    public var hints: [UndeclaredReference]
    /// What to do about a store of Core Data's; `nil` where the database is none.
    public var coreData: CoreDataAdvice?
    /// Foreign keys of the schema's that count as plain references: SQLite cannot use them, rows break them, or they were named.
    public var plainReferences: [PlainReference]
    public var published: SyncReport.Published
    /// Rows that cannot travel because their key holds a NULL.
    public var rowsWithoutKey: Int
    public var seconds: Double
}

/// What `join` did, or would do.
public struct JoinReport: Codable, Equatable, Sendable {
    public var device: StatusReport.DeviceName
    public var container: StatusReport.DeviceName
    public var path: String
    public var dryRun: Bool
    /// Tables that were made because the database lacked them.
    public var createdTables: [String]
    /// Changes that came from the container.
    public var replayed: SyncReport.Replayed
    /// Changes that this database brought along.
    public var published: SyncReport.Published
    public var tables: [StatusReport.Table]
    public var leftOut: [StatusReport.LeftOut]
    /// How the rows that the database had stand to the container's, by table.
    public var rows: [RowComparisonCount]
    /// Integer keys that rows on both sides have though nothing says that they are the same rows, so that both are kept.
    public var matchingKeys: Int
    /// Rows that were deleted because only this database had them (`--rows theirs`).
    public var removed: Int
    /// Fields in which the database's rows differed from the container's; the container's values are shown.
    public var conflicts: Int
    public var hidden: Int
    public var waiting: [SyncReport.Waiting]
    /// Foreign keys that count as plain references, on whatever device they came to do so.
    public var plainReferences: [PlainReference]
    public var rowsWithoutKey: Int
    public var seconds: Double
}

/// One change of one object, for `log`.
public struct LogEntry: Codable, Equatable, Sendable {
    /// When it was made, in milliseconds since the Unix epoch, by the clock of the device that made it; `nil` for rows
    /// that were there before their database joined.
    public var timeMilliseconds: Int64?
    /// The name of the device that made it.
    public var device: String
    /// The number of its changeset in that device's log.
    public var sequence: UInt64
    public var table: String
    /// The row's key on this device, or the object's ID where it has no row here.
    public var key: String
    /// `insert`, `update` or `delete`.
    public var operation: String
    /// The columns written.
    public var columns: [String]
}

/// What `leave` did.
public struct LeaveReport: Codable, Equatable, Sendable {
    public var container: String
    /// Changes that were not in the container yet and will not be.
    public var unpublished: Int
    /// The app's triggers and views that ask whether a replay is writing. The table `ferry_replay` stays for them and says
    /// that none is.
    public var askers: [String]
}

/// Where long work stands.
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
    }

    public var phase: Phase
    public var completed: Int
    /// `nil` where it is not known yet.
    public var total: Int?
}

public typealias ProgressHandler = @Sendable (SyncProgress) -> Void

extension TableIdentity {
    /// The words for people.
    public var text: String {
        switch self {
        case .surrogate: "integer key"
        case .surrogateBy(let column): "integer key (\(column))"
        case .key(let columns): "key (\(columns.joined(separator: ", ")))"
        case .declared(let columns): "declared (\(columns.joined(separator: ", ")))"
        }
    }
}
