import FerryCore

/// How an object is shown (the column `shown` of the object's state).
@usableFromInline package enum Visibility: Int {
    /// Without a row and without an anomaly: deleted, or only referred to so far.
    case none = 0
    /// A row as the state says.
    case row = 1
    /// An anomalous row: retained, or with cleared references.
    case anomalousRow = 2
    /// Alive without a row; listed in `ferry_exception`.
    case hidden = 3
    /// Unified without an own row; listed in `ferry_joined`.
    case joined = 4

    @inlinable package var hasRow: Bool { self == .row || self == .anomalousRow }
    @inlinable package var isAnomalous: Bool { self == .anomalousRow || self == .hidden || self == .joined }

    // MARK: The column

    /// The way of showing in SQL. The column has further bits.
    package static let way = way(in: "")
    /// - Parameter row: the alias of the state's row, with a period.
    package static func way(in row: String) -> String { "(\(row)shown & \(ways))" }
    @inlinable static var ways: Int { 7 }
    /// The column's bit for a known deletion.
    @inlinable package static var deletion: Int { 8 }
    /// The column's value for a deletion only: no row, and nothing alive.
    @inlinable package static var tombstone: Int { deletion | 16 }
    /// The condition for tombstones, as in their index.
    package static let tombstoneCondition = "shown = \(tombstone)"

    /// - Parameter code: the column's value.
    @inlinable package init?(code: Int) {
        guard code & ~(Self.ways | Self.tombstone) == 0 else { return nil }
        self.init(rawValue: code & Self.ways)
    }
}
