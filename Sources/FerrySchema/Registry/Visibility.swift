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
    /// The condition for objects that are not simply shown by a row: tombstones, anomalous objects, and objects without a
    /// row. Their index has this condition, and a query that names the condition finds them without reading all others.
    package static let apartCondition = "shown NOT IN (\(row.rawValue), \(row.rawValue | deletion))"
    /// The condition for tombstones.
    package static let tombstoneCondition = "\(apartCondition) AND shown = \(tombstone)"
    /// The condition for all other objects apart. SQLite searches their index for each of the numbers.
    package static let anomalyCondition: String = {
        let codes = (0...ways).filter { Visibility(rawValue: $0).map { $0 != .row } ?? false }
        let list = (codes + codes.map { $0 | deletion }).map(String.init).joined(separator: ", ")
        return "\(apartCondition) AND shown IN (\(list))"
    }()

    /// - Parameter code: the column's value.
    @inlinable package init?(code: Int) {
        guard code & ~(Self.ways | Self.tombstone) == 0 else { return nil }
        self.init(rawValue: code & Self.ways)
    }
}
