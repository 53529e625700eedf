import FerryCore
import FerryMerge

/// What the checks of a table's objects say of values that nobody has any more: checks are sums of hashes, so whether one
/// value was another one can be tried (`UnseenWrites`).
struct FormerChecks {
    private let hashes: TableChecks
    private let covered: Set<Int>
    /// Columns that are gone, and those that are new: one may be the other under another name.
    private let lost: [Int]
    private let added: [Int]

    /// - Parameter covered: the columns that the checks cover.
    init(_ table: TrackedTable, covered: [Int]) {
        hashes = TableChecks(table, covering: Set(covered))
        self.covered = Set(covered)
        lost = covered.filter { !table.columns[$0].isLocal }
        added = lost.isEmpty ? [] : table.localColumns.map(\.id).filter { !covered.contains($0) }
    }

    /// What an object's check is made of as far as the row tells.
    func known(_ state: ObjectState, _ row: FieldValues) -> UInt64 {
        let values = row.overlaid(with: state.kept.fields)
        return hashes.check(state.object, state.registers) { covered.contains($0) ? values[$0] : nil }
    }

    /// By how much one value in place of another changes a check.
    func change(_ state: ObjectState, _ column: Int, from former: FieldValue, to value: FieldValue) -> UInt64 {
        guard covered.contains(column), let stamp = state.registers.stamp(of: column) else { return 0 }
        return hashes.field(state.object, column, stamp, former) &- hashes.field(state.object, column, stamp, value)
    }

    /// Values that most columns have where they have nothing to say.
    private static let usual: [FieldValue] = [
        .null, .integer(0), .integer(1), .text([]), .real(0), .text(Array("0".utf8)[...]), .blob([]),
    ]
    /// The most columns that are gone of which values are tried.
    private static let maximumTried = 3

    /// Whether nothing is left to explain: what the columns held that are gone may be.
    /// - Parameter difference: the check that the state has, less what is known.
    func isSettled(_ difference: UInt64, _ state: ObjectState, _ row: FieldValues) -> Bool {
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

    /// The only column that was written, where its former value can be told: NULL and such, or the same as another type.
    func onlyChange(
        _ difference: UInt64, _ state: ObjectState, _ row: FieldValues, _ columns: [TrackedColumn]
    ) -> Int? {
        columns.first { column in
            guard let value = row[column.id] else { return false }
            return (Self.usual + Self.variants(of: value)).contains { former in
                former != value
                    && isSettled(difference &- change(state, column.id, from: former, to: value), state, row)
            }
        }?.id
    }

    /// The value as other types have it.
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
