import FerryCore
import FerryMerge
import FerrySchema

/// Tests guesses about lost values by object checksums. A checksum is a sum of hashes, so a guess for a single value
/// can be tried (`UnseenWrites`).
struct FormerChecks {
    private let hashes: ObjectChecksums
    private let covered: Set<Int>
    /// Dropped columns, and new columns: a new column may be a dropped column under a new name.
    private let lost: [Int]
    private let added: [Int]

    /// - Parameter covered: the columns covered by the checksums.
    init(_ table: TrackedTable, covered: [Int]) {
        hashes = ObjectChecksums(table, covering: Set(covered))
        self.covered = Set(covered)
        lost = covered.filter { !table.columns[$0].isLocal }
        added = lost.isEmpty ? [] : table.localColumns.map(\.id).filter { !covered.contains($0) }
    }

    /// The part of an object's checksum computed from the row.
    func known(_ state: ObjectState, _ row: ColumnValues) -> UInt64 {
        let values = row.overlaid(with: state.kept.fields)
        return hashes.check(state.object, state.registers) { covered.contains($0) ? values[$0] : nil }
    }

    /// The change of a checksum caused by replacing a value.
    func change(_ state: ObjectState, _ column: Int, from former: FieldValue, to value: FieldValue) -> UInt64 {
        guard covered.contains(column), let stamp = state.registers.stamp(of: column) else { return 0 }
        return hashes.field(state.object, column, stamp, former) &- hashes.field(state.object, column, stamp, value)
    }

    /// The usual values of columns without content.
    private static let usual: [FieldValue] = [
        .null, .integer(0), .integer(1), .text([]), .real(0), .text(Array("0".utf8)[...]), .blob([]),
    ]
    /// Maximum number of dropped columns to guess.
    private static let maximumTried = 3

    /// True if guesses for the dropped columns explain the whole difference.
    /// - Parameter difference: the state's checksum minus the known part.
    func isSettled(_ difference: UInt64, _ state: ObjectState, _ row: ColumnValues) -> Bool {
        let gone = lost.filter { state.registers.stamp(of: $0) != nil && state.kept.fields[$0] == nil }
        if gone.count > Self.maximumTried { return false }
        return isSum(difference, of: gone[...], state, Self.usual + added.compactMap { row[$0] })
    }

    private func isSum(
        _ difference: UInt64, of columns: ArraySlice<Int>, _ state: ObjectState, _ tried: [FieldValue]
    ) -> Bool {
        guard let column = columns.first, let stamp = state.registers.stamp(of: column) else { return difference == 0 }
        return tried.contains { value in
            let rest = difference &- hashes.field(state.object, column, stamp, value)
            return isSum(rest, of: columns.dropFirst(), state, tried)
        }
    }

    /// The only written column, if its former value can be guessed: NULL and similar values, or the same value with a
    /// different type.
    func onlyChange(
        _ difference: UInt64, _ state: ObjectState, _ row: ColumnValues, _ columns: [TrackedColumn]
    ) -> Int? {
        columns.first { column in
            guard let value = row[column.id] else { return false }
            return (Self.usual + Self.variants(of: value)).contains { former in
                former != value
                    && isSettled(difference &- change(state, column.id, from: former, to: value), state, row)
            }
        }?.id
    }

    /// The value under different types.
    private static func variants(of value: FieldValue) -> [FieldValue] {
        switch value {
        case .integer(let integer): [.text(Array("\(integer)".utf8)[...]), .real(Double(integer))]
        case .real(let real): Int64(exactly: real).map { [.integer($0), .text(Array("\(real)".utf8)[...])] } ?? []
        case .text(let bytes):
            Int64(String(decoding: bytes, as: UTF8.self)).map { [.integer($0), .real(Double($0)), .blob(bytes)] }
                ?? [.blob(bytes)]
        case .blob(let bytes): [.text(bytes)]
        case .null, .reference: []
        }
    }
}
