import GRDB

/// Identifies a row of a request: the values of its key on this device.
///
/// A key can change: if two devices gave an integer to different rows, a row gets another integer. `LiveChange` reports
/// a move then, by the row's object ID.
public enum LiveKey: Hashable, Sendable, CustomStringConvertible {
    /// The usual key: a single integer.
    case integer(Int64)
    /// Any other key, in the order of its columns.
    case values([DatabaseValue])

    init(_ values: [DatabaseValue]) {
        self = values.count == 1 ? LiveKey(values[0]) : .values(values)
    }

    init(_ value: DatabaseValue) {
        if case .int64(let integer) = value.storage { self = .integer(integer) } else { self = .values([value]) }
    }

    /// The key's values, in the order of its columns.
    public var databaseValues: [DatabaseValue] {
        switch self {
        case .integer(let integer): [integer.databaseValue]
        case .values(let values): values
        }
    }

    public var description: String { databaseValues.map(\.description).joined(separator: ", ") }
}
