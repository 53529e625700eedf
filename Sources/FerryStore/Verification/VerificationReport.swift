/// What `Store.verify` found. Its JSON keys are fixed: scripts rely on them.
public struct VerificationReport: Codable, Equatable, Sendable {
    /// The most differences that are listed; further ones are counted only.
    public static let maximumListed = 1000

    /// A row that refers to one that is not there.
    public struct ForeignKeyViolation: Codable, Equatable, Sendable {
        public var table: String
        /// The row's rowid; absent in a table without.
        public var rowID: Int64?
        /// The table that it refers to.
        public var parent: String
    }

    /// Something that is not as the state says it should be.
    public struct Difference: Codable, Equatable, Sendable {
        /// What is wrong with it. Later versions may tell more kinds.
        public enum Kind: String, Codable, Sendable {
            /// A row that should be there is not.
            case missingRow
            /// A row that should not be there is: its object is deleted, hidden, or shown by another row.
            case needlessRow
            /// A row that belongs to no object.
            case unknownRow
            /// A row shows another value.
            case value
            /// A value that the state has a time for is nowhere to be found.
            case lostValue
            /// The object is not what it was when Ferry last wrote it: somebody changed it unnoticed.
            case check
            /// The digest by which other devices are compared is not that of the table's objects.
            case digest
            /// The object has another ID than its key says.
            case identity
            /// The state marks the object as shown, hidden or joined where it is not.
            case mark
        }

        public var table: String
        /// The row's key on this device as people write it; the object's ID where it has no row.
        public var key: String
        public var kind: Kind
        /// The column concerned.
        public var column: String?
        /// What is wrong, in a sentence without values.
        public var problem: String
        /// What to do about it.
        public var remedy: VerificationRemedy

        /// - Parameter remedy: `nil`: as is mostly to be done about that kind.
        public init(
            table: String, key: String, kind: Kind, column: String? = nil, problem: String,
            remedy: VerificationRemedy? = nil
        ) {
            self.table = table
            self.key = key
            self.kind = kind
            self.column = column
            self.problem = problem
            self.remedy = remedy ?? kind.remedy
        }
    }

    /// A table of which not everything could be looked at, because this process lacks a collation or a function of an app's.
    public struct UncheckedTable: Codable, Equatable, Sendable {
        public var table: String
        /// What is missing, in SQLite's words.
        public var reason: String

        public init(table: String, reason: String) {
            self.table = table
            self.reason = reason
        }
    }

    public struct Table: Codable, Equatable, Sendable {
        public var name: String
        /// Objects that were ever heard of, deleted ones included.
        public var objects: Int
        public var rows: Int
    }

    /// What `PRAGMA integrity_check` says; empty where the file is sound.
    public var integrity: [String] = []
    /// What `PRAGMA foreign_key_check` says, but for plain references.
    public var foreignKeys: [ForeignKeyViolation] = []
    /// Foreign keys that need not lead anywhere.
    public var plainReferences: [PlainReference] = []
    /// Whether all rows were computed anew from the state and compared.
    public var deep = false
    /// What was compared; empty unless `deep`.
    public var tables: [Table] = []
    /// At most `maximumListed`.
    public var differences: [Difference] = []
    /// All of them.
    public var differenceCount = 0
    /// Tables of which not everything could be looked at here; empty where everything was.
    public var unchecked: [UncheckedTable] = []
    /// What to do about all that was found, each once.
    public private(set) var remedies: [VerificationRemedy] = []
    /// What was taken as changes before; absent where nobody asked for that.
    public var taken: [UnseenChanges]?
    /// How long it took.
    public var seconds: Double = 0

    public init() {}

    /// Whether everything was looked at, and nothing is wrong.
    public var isSound: Bool { !hasFindings && unchecked.isEmpty }

    /// Whether something is wrong.
    public var hasFindings: Bool { !integrity.isEmpty || !foreignKeys.isEmpty || differenceCount > 0 }

    /// Notes what to do about all that was found.
    mutating func noteRemedies() {
        var remedies: Set<VerificationRemedy> = Set(differences.map(\.remedy))
        let damage = integrity.filter { !Self.isOfAConstraint($0) }
        if damage.count < integrity.count { remedies.insert(.mend) }
        if !damage.isEmpty { remedies.insert(damage.allSatisfy(Self.isOfAnIndex) ? .reindex : .replaceFile) }
        if !foreignKeys.isEmpty { remedies.insert(.sync) }
        if !unchecked.isEmpty { remedies.insert(.checkInApp) }
        self.remedies = VerificationRemedy.allCases.filter(remedies.contains)
    }

    /// Whether SQLite finds nothing wrong with the file itself: what it holds can be read and compared.
    public var isReadable: Bool { integrity.allSatisfy(Self.isOfAConstraint) }

    /// Whether a row breaks a constraint that SQLite was told to ignore when it was written.
    private static func isOfAConstraint(_ line: String) -> Bool {
        line.hasPrefix("CHECK constraint failed in ") || line.hasPrefix("NULL value in ")
    }

    /// Whether an index lacks entries of its table, or has others. https://www.sqlite.org/pragma.html#pragma_integrity_check
    private static func isOfAnIndex(_ line: String) -> Bool {
        line.hasPrefix("wrong # of entries in index ")
            || line.hasPrefix("row ") && line.contains(" missing from index ")
    }

    /// Whether some of it may be what somebody wrote without a trigger, which `Store.takeUnseenWrites` takes as changes.
    public var mayBeTaken: Bool {
        isReadable
            && differences.contains { [.missingRow, .unknownRow, .value, .check].contains($0.kind) }
    }

    mutating func addUnchecked(_ table: String, _ reason: String) {
        if unchecked.contains(where: { $0.table == table }) { return }
        unchecked.append(.init(table: table, reason: reason))
    }

    mutating func add(_ difference: Difference) {
        differenceCount += 1
        if differences.count < Self.maximumListed { differences.append(difference) }
    }
}
