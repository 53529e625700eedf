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
    /// The former affinities of the columns with another affinity now; `nil` if unknown.
    private let formerTypes: [Int: SchemaColumn.Affinity]?

    /// - Parameters:
    ///   - covered: the columns covered by the checksums.
    ///   - formerTypes: the former affinities of the columns with another affinity now; `nil` if unknown.
    init(_ table: TrackedTable, covered: [Int], formerTypes: [Int: SchemaColumn.Affinity]?) {
        self.formerTypes = formerTypes
        hashes = ObjectChecksums(table, covering: Set(covered))
        self.covered = Set(covered)
        lost = covered.filter { !table.columns[$0].isLocal }
        added = lost.isEmpty ? [] : table.localColumns.map(\.id).filter { !covered.contains($0) }
    }

    /// True if no covered column was dropped or has another type now.
    var coversPresentColumns: Bool { lost.isEmpty && formerTypes?.isEmpty == true }

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

    /// Maximum number of dropped columns to guess.
    private static let maximumTried = 3

    /// True if guesses for the dropped columns explain the whole difference.
    /// - Parameter difference: the state's checksum minus the known part.
    func isSettled(_ difference: UInt64, _ state: ObjectState, _ row: ColumnValues) -> Bool {
        let gone = lost.filter { state.registers.stamp(of: $0) != nil && state.kept.fields[$0] == nil }
        if gone.count > Self.maximumTried { return false }
        return isSum(difference, of: gone[...], state, FieldValue.withoutContent + added.compactMap { row[$0] })
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

    /// What explains the difference between a row and its object's checksum.
    enum Explanation: Equatable {
        /// There is no difference.
        case nothing
        /// A migration converted the columns with these former values, or filled them, and nobody wrote anything.
        case converted([Int: FieldValue])
        /// Somebody wrote this column alone.
        case written(Int)
        case unknown
    }

    /// Explains a difference, if the former values can be guessed.
    /// - Parameters:
    ///   - difference: the state's checksum minus the known part.
    ///   - columns: the columns that may have other values than before.
    func explain(
        _ difference: UInt64, _ state: ObjectState, _ row: ColumnValues, _ columns: [TrackedColumn]
    ) -> Explanation {
        if isSettled(difference, state, row) { return .nothing }
        let plain = columns.filter { $0.reference == nil && $0.policy == .lastWriterWins }
        if let former = conversion(difference, state, row, plain) { return .converted(former) }
        guard let only = single(difference, state, row, columns, { _ in FieldValue.withoutContent }) else {
            return .unknown
        }
        // Whoever forbids NULL fills the column in the same migration.
        let isFilled = only.former == .null && !only.column.mayBeNull && only.column.policy == .lastWriterWins
        return isFilled ? .converted([only.column.id: .null]) : .written(only.column.id)
    }

    /// Maximum number of combinations of former values to try for a row.
    private static let maximumCombinations = 512

    /// The former values of the columns that a migration converted, if they explain the difference.
    private func conversion(
        _ difference: UInt64, _ state: ObjectState, _ row: ColumnValues, _ columns: [TrackedColumn]
    ) -> [Int: FieldValue]? {
        guard let formerTypes else {
            return single(difference, state, row, columns) { $0.underOtherTypes }.map { [$0.column.id: $0.former] }
        }
        var left = Self.maximumCombinations
        let changed = columns.compactMap { column -> Conversion? in
            guard let type = formerTypes[column.id], let value = row[column.id] else { return nil }
            return Conversion(column: column.id, value: value, formers: value.formers(under: type))
        }
        return converted(difference, changed[...], state, row, &left)
    }

    /// A column with another type, its value, and the values that it may have had.
    private struct Conversion {
        var column: Int
        var value: FieldValue
        var formers: [FieldValue]
    }

    /// - Parameter left: the number of combinations still to try.
    private func converted(
        _ difference: UInt64, _ conversions: ArraySlice<Conversion>, _ state: ObjectState, _ row: ColumnValues,
        _ left: inout Int
    ) -> [Int: FieldValue]? {
        guard let first = conversions.first else {
            left -= 1
            return isSettled(difference, state, row) ? [:] : nil
        }
        for former in first.formers + [first.value] where left > 0 {
            let rest = difference &- change(state, first.column, from: former, to: first.value)
            guard var found = converted(rest, conversions.dropFirst(), state, row, &left) else { continue }
            if former != first.value { found[first.column] = former }
            return found
        }
        return nil
    }

    /// The only column that explains a difference, with its former value.
    /// - Parameter guesses: the possible former values, by the present value.
    private func single(
        _ difference: UInt64, _ state: ObjectState, _ row: ColumnValues, _ columns: [TrackedColumn],
        _ guesses: (FieldValue) -> [FieldValue]
    ) -> (column: TrackedColumn, former: FieldValue)? {
        for column in columns {
            guard let value = row[column.id] else { continue }
            for former in guesses(value) where former != value {
                let rest = difference &- change(state, column.id, from: former, to: value)
                if isSettled(rest, state, row) { return (column, former) }
            }
        }
        return nil
    }
}
