import GRDB

/// Which row of a request it is: the values of its key on this device.
///
/// A key can change: where two devices gave one integer to different rows, one of them gets another. `LiveChange` tells
/// that as a move, by the row's object ID.
public enum LiveKey: Hashable, Sendable, CustomStringConvertible {
    /// The usual key of one integer.
    case integer(Int64)
    /// Any other, in the order of its columns.
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
