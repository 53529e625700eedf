import FerryCore

/// What one of two concurrent writes lost, as a device noted it when it replayed them.
///
/// Every device notes conflicts by itself, so a conflict that is resolved here is still listed elsewhere.
public struct Conflict: Identifiable, Equatable, Sendable {
    public enum Kind: String, CaseIterable, Codable, Sendable {
        /// Two devices wrote the same field.
        case field
        /// A write lost to a deletion that had not seen it.
        case deleted
        /// A deletion lost to a write that had not seen it.
        case revived
        /// Two rows with the same UNIQUE value became one, which shows another value than one of them had.
        case joined
    }

    /// One of the two writes.
    public struct Side: Equatable, Sendable {
        /// The value written, references as keys of this device where the row referred to is known; `nil` where the
        /// conflict is about the whole row.
        public var value: FieldValue?
        public var device: DeviceID
        public var deviceName: String
        /// When it was written, in milliseconds since the Unix epoch, by that device's clock; `nil` for rows that were
        /// there before their database joined.
        public var timeMilliseconds: Int64?
    }

    /// Its number in this database, ascending in the order in which conflicts were noticed.
    public var number: Int64
    public var id: Int64 { number }
    public var table: String
    public var object: ObjectID
    /// The row's key on this device, or the one it had; empty where none is known.
    public var key: [FieldValue]
    /// The column of a `field` conflict; `nil` where it is about the whole row.
    public var column: String?
    public var kind: Kind
    /// What lost.
    public var lost: Side
    /// What was kept instead, at that time. Others may have written since.
    public var kept: Side
    /// When this device noticed it, in milliseconds since the Unix epoch.
    public var noticedMilliseconds: Int64
    /// When somebody said that it is settled; `nil` while nobody has.
    public var resolvedMilliseconds: Int64?
}

/// Which conflicts to list.
public struct ConflictFilter: Equatable, Sendable {
    public enum Resolution: Sendable {
        case unresolved
        case resolved
        case any
    }

    /// Only those of this table.
    public var table: String?
    /// Only those of this kind.
    public var kind: Conflict.Kind?
    public var resolution: Resolution

    public init(table: String? = nil, kind: Conflict.Kind? = nil, resolution: Resolution = .unresolved) {
        self.table = table
        self.kind = kind
        self.resolution = resolution
    }
}

extension Store {
    /// Lists conflicts, the latest noticed first.
    /// - Parameters:
    ///   - limit: the most of them.
    ///   - number: only those before this one: the last of the page before.
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

    /// Lists the conflicts noticed after one, the earliest first: for who remembers the last number that it has seen.
    public func conflicts(after number: Int64, limit: Int = 50) throws -> [Conflict] {
        try readAccess { access in
            try ConflictReader(access).read(
                ["number > ?"], "ORDER BY number LIMIT ?", [.integer(number), .integer(Int64(limit))])
        }
    }

    /// One conflict, resolved or not.
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

    /// The number of the conflict noticed last; 0 where there was none.
    public func lastConflictNumber() throws -> Int64 {
        try read { Int64(try $0.count("SELECT max(number) FROM ferry_conflict")) }
    }

    /// Notes that a person has settled conflicts: they stay, and are neither listed nor counted any more. Only this
    /// device notes it.
    /// - Returns: how many were not resolved before.
    /// - Throws: `nothingFound` where there is no such conflict; nothing is changed then.
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
