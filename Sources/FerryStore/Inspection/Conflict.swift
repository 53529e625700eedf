import FerryCore

/// A value lost in concurrent writes, as recorded by a device at replay.
///
/// Every device records conflicts on its own. So a conflict resolved here is still listed elsewhere.
public struct Conflict: Identifiable, Equatable, Sendable {
    public enum Kind: String, CaseIterable, Codable, Sendable {
        /// Two devices wrote the same field.
        case field
        /// A write lost to a concurrent deletion.
        case deleted
        /// A deletion lost to a concurrent write.
        case revived
        /// Two rows with the same UNIQUE value were unified, and the row shows a value different from one of theirs.
        case joined
    }

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
    public var table: String?
    /// Only conflicts of this kind.
    public var kind: Conflict.Kind?
    public var resolution: Resolution

    public init(table: String? = nil, kind: Conflict.Kind? = nil, resolution: Resolution = .unresolved) {
        self.table = table
        self.kind = kind
        self.resolution = resolution
    }
}

extension Store {
    /// Lists conflicts, latest first.
    /// - Parameters:
    ///   - limit: maximum number of conflicts.
    ///   - number: only conflicts before this number: the last number of the preceding page.
    /// - Throws: `invalidArgument` for a table that does not travel.
    public func conflicts(
        _ filter: ConflictFilter = ConflictFilter(), limit: Int = 50, before number: Int64? = nil
    ) throws -> [Conflict] {
        try readAccess { access in
            let reader = ConflictReader(access)
            var (conditions, values) = try reader.conditions(filter)
            if let number {
                conditions.append("number < ?")
                values.append(.integer(number))
            }
            values.append(.integer(Int64(limit)))
            return try reader.read(conditions, "ORDER BY number DESC LIMIT ?", values)
        }
    }

    /// Lists the conflicts recorded after a number, earliest first: for a caller who remembers the last number seen.
    public func conflicts(after number: Int64, limit: Int = 50) throws -> [Conflict] {
        try readAccess { access in
            try ConflictReader(access).read(
                ["number > ?"], "ORDER BY number LIMIT ?", [.integer(number), .integer(Int64(limit))])
        }
    }

    /// A single conflict, resolved or not.
    /// - Throws: `nothingFound`.
    public func conflict(_ number: Int64) throws -> Conflict {
        try readAccess { access in try ConflictReader(access).conflict(number) }
    }

    /// Counts conflicts.
    public func conflictCount(_ filter: ConflictFilter = ConflictFilter()) throws -> Int {
        try readAccess { access in
            let (conditions, values) = try ConflictReader(access).conditions(filter)
            let rows = try access.connection.rows(
                "SELECT count(*) FROM ferry_conflict" + ConflictReader.clause(conditions), values: values)
            if case .integer(let count)? = rows.first?.first { return Int(count) }
            return 0
        }
    }

    /// The number of the last recorded conflict; 0 without any.
    public func lastConflictNumber() throws -> Int64 {
        try read { Int64(try $0.count("SELECT max(number) FROM ferry_conflict")) }
    }

    /// Marks conflicts as resolved by a person. They stay, but are neither listed nor counted by default. Only this
    /// device marks them.
    /// - Returns: the number of newly resolved conflicts.
    /// - Throws: `nothingFound` for an unknown number; nothing is changed then.
    @discardableResult
    public func resolveConflicts(_ numbers: [Int64]) throws -> Int {
        try write { connection in
            guard try Self.identity(connection) != nil else { throw Self.notTracked }
            var count = 0
            for number in Set(numbers).sorted() {
                if try ConflictReader.resolve(number, at: clock.milliseconds(), connection) { count += 1 }
            }
            return count
        }
    }
}
