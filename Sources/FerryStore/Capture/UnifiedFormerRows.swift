import FerryCore
import FerryMerge
import FerrySchema

/// Tells what the rows of unified objects showed before unseen writes (`UnseenWrites`).
///
/// The row lacks the former values, and the rules need them: a row with another UNIQUE value seems to show one object alone. A member
/// without a row of its own keeps all of its values, and the values that unified both objects are equal. So the object checksum proves
/// which of the row's values was the member's.
struct UnifiedFormerRows {
    private let access: StoreAccess
    private let table: TrackedTable
    private let checks: FormerChecks
    private let columns: [TrackedColumn]

    /// Maximum number of combinations of former values to try for a row.
    private static let maximumCombinations = 512

    /// - Parameter columns: the columns present before and now, without the key's columns.
    init(_ access: StoreAccess, _ table: TrackedTable, _ checks: FormerChecks, _ columns: [TrackedColumn]) {
        self.access = access
        self.table = table
        self.checks = checks
        self.columns = columns
    }

    /// The portable values that a unified row showed before; `nil` if its object's own values are as before, as far as known.
    /// - Parameter row: the portable values of the present row.
    func row(of state: ObjectState, _ row: ColumnValues) throws -> ColumnValues? {
        let members = try access.unified.members(of: state.object, table.id).map {
            try access.objects(of: table.id).load($0).kept.fields
        }
        if members.isEmpty || isExplained(state, row) { return nil }
        let own = columns.filter { state.registers.stamp(of: $0.id) != nil && state.kept.fields[$0.id] == nil }
        var open: [(column: Int, values: [FieldValue])] = []
        for column in own {
            let others = Set(members.compactMap { $0[column.id] }).filter { $0 != row[column.id] }
            if !others.isEmpty { open.append((column.id, others.sorted())) }
        }
        var left = Self.maximumCombinations
        return former(open[...], row, state, &left) ?? withClaims(of: members, own, row)
    }

    /// What a row showed before, as far as values tell: the rules have changed since, and decide about nothing.
    /// - Parameter row: the local values of the present row.
    func expectation(of state: ObjectState, _ row: ColumnValues) throws -> UnseenWrites.ExpectedRow {
        let present = try ReferenceTranslator(access).values(row, table)
        var expected = UnseenWrites.ExpectedRow(values: [:], own: [:], others: Set(state.kept.fields.keys))
        if let former = try self.row(of: state, present) {
            for column in columns where column.reference == nil && former[column.id] != present[column.id] {
                expected.values[column.id] = former[column.id]
                expected.own[column.id] = former[column.id]
            }
        }
        let states =
            try [state] + access.unified.members(of: state.object, table.id).map(access.objects(of: table.id).load)
        let referring = Set((table.foreignKeys + table.plainKeys).flatMap(\.columns))
        let single = table.columnGroups.filter { $0.columns.count == 1 }.map { $0.columns[0] }
        for column in columns
        where expected.isOfAnother(column.id) && single.contains(column.id) && !referring.contains(column.id)
            && column.policy == .lastWriterWins
        {
            let stamps = states.compactMap { state in
                state.registers.stamp(of: column.id).map { (stamp: $0, value: state.kept.fields[column.id]) }
            }
            if let value = stamps.max(by: { $0.stamp < $1.stamp })?.value { expected.values[column.id] = value }
        }
        return expected
    }

    private func isExplained(_ state: ObjectState, _ row: ColumnValues) -> Bool {
        let open = columns.filter { state.registers.stamp(of: $0.id) != nil && state.kept.fields[$0.id] == nil }
        return switch checks.explain(state.check &- checks.known(state, row), state, row, open) {
        case .nothing, .converted: true
        case .written, .unknown: false
        }
    }

    /// - Parameter left: the number of combinations still to try.
    private func former(
        _ open: ArraySlice<(column: Int, values: [FieldValue])>, _ row: ColumnValues, _ state: ObjectState,
        _ left: inout Int
    ) -> ColumnValues? {
        guard let first = open.first else {
            left -= 1
            return isExplained(state, row) ? row : nil
        }
        for value in [row[first.column]].compactMap({ $0 }) + first.values where left > 0 {
            var guess = row
            guess[first.column] = value
            if let found = former(open.dropFirst(), guess, state, &left) { return found }
        }
        return nil
    }

    /// The row with a member's values under a UNIQUE index, where the row shares no index with any member: other columns were written too.
    private func withClaims(
        of members: [ColumnValues], _ own: [TrackedColumn], _ row: ColumnValues
    ) -> ColumnValues? {
        let indexes = table.uniqueIndexes.compactMap { index -> [Int]? in
            let columns = index.terms.compactMap(\.column)
            return columns.count == index.terms.count && !columns.isEmpty ? columns : nil
        }
        let isShared = indexes.contains { index in
            members.contains { member in index.allSatisfy { member[$0] == row[$0] } }
        }
        if isShared { return nil }
        let written = Set(own.map(\.id))
        for index in indexes where !written.isDisjoint(with: index) {
            for member in members where index.allSatisfy({ member[$0].map { $0 != .null } ?? false }) {
                return row.overlaid(
                    with: member.filter { column, _ in index.contains(column) && written.contains(column) })
            }
        }
        return nil
    }
}
