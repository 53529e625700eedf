import FerryCore
import FerrySchema

/// The findings of `Store.verify`. The JSON keys are fixed: scripts rely on them.
///
/// Invariants:
/// - `differences` has at most `maximumListed` entries; further differences are only counted.
/// - `unchecked` has a table at most once.
/// - `remedies` are those of the findings at the last call of `computeRemedies`, in the order of the cases.
public struct VerificationReport: Codable, Equatable, Sendable {
    /// Maximum number of listed differences; further differences are only counted.
    package static let maximumListed = 1000

    /// A row referring to a missing row.
    package struct ForeignKeyViolation: Codable, Equatable, Sendable {
        package var table: String
        /// The row's rowid; absent in a table without rowids.
        package var rowID: Int64?
        /// The parent table.
        package var parent: String
    }

    /// A difference between the store and the rows expected from the state.
    public struct Difference: Codable, Equatable, Sendable {
        /// The kind of a difference. Later versions may add kinds.
        public enum Kind: String, Codable, Sendable {
            /// An expected row is missing.
            case missingRow
            /// An unexpected row exists: its object is deleted, hidden, or unified.
            case needlessRow
            /// A row belongs to no object.
            case unknownRow
            /// A row shows an unexpected value.
            case value
            /// A value with a known time is missing.
            case lostValue
            /// The object changed unnoticed since Ferry last wrote the object.
            case check
            /// The digest for comparing devices differs from the table's objects.
            case digest
            /// The object's ID differs from the ID of its key.
            case identity
            /// The state wrongly marks the object as shown, hidden or unified.
            case mark
        }

        public var table: String
        /// The row's key on this device in readable form; the object's ID without a row.
        public var key: String
        public var kind: Kind
        /// The affected column.
        public var column: String?
        /// The problem, in a sentence without values.
        public var problem: String
        /// The remedy.
        package var remedy: VerificationRemedy

        /// In JSON a key is a list of values, so this text has another name.
        private enum CodingKeys: String, CodingKey {
            case table
            case key = "row"
            case kind, column, problem, remedy
        }

        /// - Parameter remedy: `nil` for the usual remedy of the kind.
        package init(
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

    /// A table not fully checked, because this process lacks a collation or function of the app.
    public struct UncheckedTable: Codable, Equatable, Sendable {
        public var table: String
        /// The missing part, in SQLite's words.
        public var reason: String

        package init(table: String, reason: String) {
            self.table = table
            self.reason = reason
        }
    }

    package struct Table: Codable, Equatable, Sendable {
        package var name: String
        /// Number of living objects, including hidden objects, as `StoreStatus` counts them.
        package var objects: Int
        package var rows: Int
    }

    /// The output of `PRAGMA integrity_check`; empty for a sound file.
    public var integrity: [String] = []
    /// The output of `PRAGMA foreign_key_check`, without plain references.
    package var foreignKeys: [ForeignKeyViolation] = []
    /// Foreign keys that need no parent row.
    package var plainReferences: [PlainReference] = []
    /// True if all rows were computed anew from the state and compared.
    package var deep = false
    /// The compared tables; empty unless `deep`.
    package var tables: [Table] = []
    /// The listed differences, at most `maximumListed`.
    public var differences: [Difference] = []
    /// The number of all differences.
    public var differenceCount = 0
    /// Tables not fully checked here; empty if everything was checked.
    public var unchecked: [UncheckedTable] = []
    /// The remedies for all findings, each once.
    public private(set) var remedies: [VerificationRemedy] = []
    /// Unseen writes accepted as changes before; absent unless requested.
    package var takenTables: [UnseenChanges]?
    /// The duration.
    package var durationMilliseconds: Int64 = 0

    package init() {}

    /// True if everything was checked, and nothing is wrong.
    public var isSound: Bool { !hasFindings && unchecked.isEmpty }

    /// True if anything is wrong.
    package var hasFindings: Bool { !integrity.isEmpty || !foreignKeys.isEmpty || differenceCount > 0 }

    /// Computes the remedies for all findings.
    mutating func computeRemedies() {
        var remedies: Set<VerificationRemedy> = Set(differences.map(\.remedy))
        let damage = integrity.filter { !Self.isOfAConstraint($0) }
        if damage.count < integrity.count { remedies.insert(.mend) }
        if !damage.isEmpty { remedies.insert(damage.allSatisfy(Self.isOfAnIndex) ? .reindex : .replaceFile) }
        if !foreignKeys.isEmpty { remedies.insert(.sync) }
        if !unchecked.isEmpty { remedies.insert(.checkInApp) }
        self.remedies = VerificationRemedy.allCases.filter(remedies.contains)
    }

    /// True if SQLite finds the file itself sound: the content can be read and compared.
    package var isReadable: Bool { integrity.allSatisfy(Self.isOfAConstraint) }

    /// True for a row breaking a constraint SQLite was told to ignore at the write.
    private static func isOfAConstraint(_ line: String) -> Bool {
        line.hasPrefix("CHECK constraint failed in ") || line.hasPrefix("NULL value in ")
    }

    /// True for an index with missing or extra entries. https://www.sqlite.org/pragma.html#pragma_integrity_check
    private static func isOfAnIndex(_ line: String) -> Bool {
        line.hasPrefix("wrong # of entries in index ")
            || line.hasPrefix("row ") && line.contains(" missing from index ")
    }

    /// True if some findings may be writes without a trigger. `Store.takeUnseenWrites` accepts these as changes.
    package var mayBeTaken: Bool {
        isReadable
            && differences.contains { [.missingRow, .unknownRow, .value, .check].contains($0.kind) }
    }

    mutating func addUnchecked(_ table: String, _ reason: String) {
        if unchecked.contains(where: { equalBytes($0.table, table) }) { return }
        unchecked.append(.init(table: table, reason: reason))
    }

    mutating func add(_ difference: Difference) {
        differenceCount += 1
        if differences.count < Self.maximumListed { differences.append(difference) }
    }
}
