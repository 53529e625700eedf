import FerryCore

/// A value lost in concurrent writes, as recorded by a device at replay.
///
/// Every device records conflicts on its own. So a conflict resolved here is still listed elsewhere.
public struct Conflict: Identifiable, Equatable, Sendable {
    public typealias Kind = ConflictKind

    /// A write of the conflict.
    public struct Side: Equatable, Sendable {
        /// The written value, with references as keys of this device if the target is known; `nil` for a conflict about
        /// the whole row.
        public var value: FieldValue?
        public var device: DeviceID
        public var deviceName: String
        /// The time of the write in milliseconds since the Unix epoch, by the writer's clock; `nil` for pre-existing
        /// rows.
        public var timeMilliseconds: Int64?
    }

    /// The conflict's number in this database, ascending in the order of recording.
    public var number: Int64
    public var id: Int64 { number }
    public var table: String
    public var object: ObjectID
    /// The row's present or former key on this device; empty if unknown.
    public var key: [FieldValue]
    /// The column of a `field` conflict; `nil` for the whole row.
    public var column: String?
    public var kind: Kind
    /// The losing write.
    public var lost: Side
    /// The winning write at that time. Later writes may have followed.
    public var kept: Side
    /// The time of recording on this device, in milliseconds since the Unix epoch.
    public var noticedMilliseconds: Int64
    /// The time a person resolved the conflict; `nil` if unresolved.
    public var resolvedMilliseconds: Int64?
}

/// A selection of conflicts to list.
public struct ConflictFilter: Equatable, Sendable {
    public enum Resolution: Sendable {
        case unresolved
        case resolved
        case any
    }

    /// Only conflicts of this table.
    package var table: String?
    /// Only conflicts of this kind.
    package var kind: Conflict.Kind?
    package var resolution: Resolution

    public init(table: String? = nil, kind: Conflict.Kind? = nil, resolution: Resolution = .unresolved) {
        self.table = table
        self.kind = kind
        self.resolution = resolution
    }
}
