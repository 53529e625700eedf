import FerryCore
import FerryMerge

/// Writes the rows of merged objects where nothing else depends on them, and their states; what may concern other rows is
/// left to the rules.
final class MergedRows {
    private let access: StoreAccess
    private let table: TrackedTable
    private let objects: ObjectTable
    private let checks: MergedChecks
    private let writer: RowWriter
    private let meaning: References
    private let travelling: Travelling
    private let references: LocalReferences
    private let removal: RowRemoval
    private let reservations: KeyReservations
    /// Writes states whose stamps alone change; `nil` where merging one object may write another one's state.
    let stamps: StampUpdates?
    /// Objects that the batch inserts into tables which references lead to that no foreign key checks, by table.
    private let arriving: [Int: Set<ObjectID>]
    /// Objects of a mapped table that the batch deletes.
    private let dying: Set<ObjectID>
    private let hasUncheckedReferences: Bool
    /// Whether this process cannot write rows of the table.
    private let isWaiting: Bool
    private let uniqueClaims: UniqueClaims
    private let givenKeys: GivenKeys
    /// Whether exceptional objects refer to, claim or offer something of this table.
    private let hasExceptions: Bool
    /// Whether peers have columns that this database does not have.
    private let hasForeignColumns: Bool
    let sensitive: SensitiveColumns
    /// All columns, by number.
    private let allColumns: [Int]
    /// What the rules may have to look at.
    @exclusivity(unchecked) private(set) var touched: [TouchedObject] = []
    /// The columns of the last object left to the rules: mostly the next one's are the same, and share the memory.
    @exclusivity(unchecked) private var lastColumns: [Int] = []
    /// Objects that died and still have their rows.
    @exclusivity(unchecked) private(set) var deletions: [DyingRow] = []

    /// - Parameter isIndependent: whether merging one object writes no other one's state. Then call `finish` at the end.
    init(
        _ access: StoreAccess, _ table: TrackedTable, dying: Set<ObjectID>, arriving: [Int: Set<ObjectID>],
        _ references: LocalReferences? = nil, isIndependent: Bool = false
    ) throws {
        self.access = access
        self.table = table
        self.references = references ?? LocalReferences(access, table)
        removal = RowRemoval(access)
        self.dying = dying
        self.arriving = arriving
        objects = access.objects(of: table.id)
        stamps = isIndependent ? StampUpdates(objects, access) : nil
        checks = MergedChecks(access, table)
        writer = access.writer(of: table.id)
        meaning = References(registry: access.registry)
        travelling = Travelling(access)
        reservations = KeyReservations(access)
        allColumns = table.columns.map(\.id)
        isWaiting = access.waiting.contains(table.id)
        hasUncheckedReferences = table.columns.contains(where: \.isUnchecked)
        uniqueClaims = UniqueClaims(access)
        givenKeys = GivenKeys(access)
        hasExceptions = try access.exceptionTokens.areAny(of: table.id)
        hasForeignColumns = table.columns.contains { !$0.isLocal }
        sensitive = SensitiveColumns(table)
    }

    /// Writes what a merge came to.
    func write(_ merge: inout ObjectMerge) throws {
        let isAlive = merge.state.registers.isAlive
        if !table.isLocal {
            keepWon(&merge, merge.won)
            objects.renewCheck(of: &merge.state)
            try objects.save(merge.state)
            return
        }
        if isWaiting { return try wait(&merge) }
        if hasForeignColumns {
            let hidden = merge.won.filter { !table.columns[$0.key].isLocal }
            keepWon(&merge, hidden)
            for column in hidden.keys { merge.won[column] = nil }
        }
        switch (merge.before.shown, isAlive) {
        case (.row, true):
            try update(&merge)
        case (.row, false):
            try delete(&merge)
        case (.none, true):
            try insert(&merge)
        case (.none, false):
            // What waits for a deleted object may hold it back, once it is known.
            if try table.incoming.contains(where: isHolding)
                && isAwaited(.init(merge.state), merge.state.kept.fields.overlaid(with: merge.won))
                || isNewTarget(merge.state)
            {
                return try leaveToRules(&merge)
            }
            keepWon(&merge, merge.won)
            objects.renewCheck(of: &merge.state)
            try objects.save(merge.state)
            try DeadOffers(access).note(merge.state, table)
        case (.exceptionalRow, _), (.hidden, _), (.joined, _):
            try leaveToRules(&merge)
        }
    }

    /// A row to which no row that travels can refer goes at once; others when the batch is merged, children before their
    /// parents. Rows that stay follow either at the end of the transaction (`StayingRows`); those that go on referring to
    /// its key make the references unchecked ones.
    private func delete(_ merge: inout ObjectMerge) throws {
        // What its row shows is not what it was deleted with.
        if merge.won.hasAny(of: sensitive.offered) { return try leaveToRules(&merge) }
        keepWon(&merge, merge.won)
        var object = TouchedObject(
            table: table.id, object: merge.state.object, columns: allColumns, isDeleted: true, needsRules: false,
            key: merge.before.key)
        guard table.incoming.isEmpty, !table.hasUncheckedReferences else {
            let unsaved = merge.onlyDeletion
            if unsaved == nil { try objects.save(merge.state) }
            deletions.append(DyingRow(object: object, unsaved: unsaved))
            return
        }
        try removal.remove(&object, &merge.state, table) { _ in false }
        if object.needsRules { try objects.save(merge.state) }
        touched.append(object)
    }

    /// The table's rows cannot be written: all that was won is kept beside the row.
    private func wait(_ merge: inout ObjectMerge) throws {
        let isAlive = merge.before.registers.isAlive && merge.state.registers.isAlive
        if merge.won.isEmpty, merge.before.shown == .row, isAlive {
            try checks.change(&merge)
            return try objects.save(merge.state)
        }
        keepWon(&merge, merge.won)
        try WaitingObjects(access).save(&merge.state, table)
    }

    /// Whether what referred to an object before it came may claim something else now.
    private func isNewTarget(_ state: ObjectState) throws -> Bool {
        guard table.hasUncheckedReferences, GivenKeys.isPlain(state.givenKey) else { return false }
        let token = RowToken(table: table.id, id: state.object)
        return try !state.key.isEmpty || !access.exceptionTokens.objects(concernedBy: token).isEmpty
    }

    private func isHolding(_ incoming: TrackedTable.IncomingKey) -> Bool {
        access.registry[incoming.table].foreignKeys[incoming.foreignKey].action == .restrict
    }

    private func keepWon(_ merge: inout ObjectMerge, _ values: FieldValues) {
        merge.state.kept.fields = merge.state.kept.fields.overlaid(with: values)
    }

    /// Writes the state with all values won kept beside the row; the rules decide what the row becomes.
    private func leaveToRules(_ merge: inout ObjectMerge) throws {
        keepWon(&merge, merge.won)
        try objects.save(merge.state)
        let columns = merge.won.keys
        if columns != lastColumns { lastColumns = columns }
        touched.append(
            TouchedObject(
                table: table.id, object: merge.state.object, columns: lastColumns, isDeleted: false, needsRules: true))
    }

    /// Whether values claim something that no other row of this device need tell, or are another row's key to it.
    private func claimsByGivenKeys(_ values: FieldValues) throws -> Bool {
        if table.plainClaimColumns.isEmpty { return false }
        return try givenKeys.areAny(in: values, table) || givenKeys.mistakenID(values, table) != nil
    }

    private func update(_ merge: inout ObjectMerge) throws {
        if merge.won.isEmpty {
            try checks.change(&merge)
            try saveStamps(merge)
            return
        }
        let isSensitive = merge.won.hasAny(of: sensitive.all)
        // What it claims now, an exceptional object may claim too.
        if hasExceptions, merge.won.hasAny(of: sensitive.claimed) { return try leaveToRules(&merge) }
        if merge.won.hasAny(of: sensitive.offered) { return try leaveToRules(&merge) }
        if try showsPartOfAnotherKey(merge) || claimsByGivenKeys(merge.won) { return try leaveToRules(&merge) }
        guard let values = try localValues(merge.won) else { return try leaveToRules(&merge) }
        try checks.change(&merge)
        if try writer.update(key: merge.before.key, values, of: merge.state.object) != nil {
            return try leaveToRules(&merge)
        }
        if !merge.state.kept.fields.isEmpty {
            for column in merge.won.keys { merge.state.kept.fields[column] = nil }
        }
        try keepMisleading(merge.won, &merge)
        try saveStamps(merge)
        if isSensitive {
            touched.append(
                TouchedObject(
                    table: table.id, object: merge.state.object, columns: merge.won.keys, isDeleted: false,
                    needsRules: false, key: merge.before.key))
        }
    }

    private func saveStamps(_ merge: ObjectMerge) throws {
        guard let stamps else { return try objects.save(merge.state, over: merge.before) }
        try stamps.save(merge.state, over: merge.before)
    }

    /// Writes what waits to be written with more: the last thing that is asked for.
    func finish() throws { try stamps?.finish() }

    /// Whether a reference of several columns would be half its own: its row shows the key of what its target was joined
    /// with, and only some of the columns are written.
    private func showsPartOfAnotherKey(_ merge: ObjectMerge) -> Bool {
        if merge.state.kept.fields.isEmpty { return false }
        return table.foreignKeys.contains { key in
            merge.won.hasAny(of: key.columns)
                && key.columns.contains { merge.won[$0] == nil && merge.state.kept.fields[$0] != nil }
        }
    }

    private func insert(_ merge: inout ObjectMerge) throws {
        let all = merge.state.kept.fields.overlaid(with: merge.won)
        let shown = hasForeignColumns ? all.filter { table.columns[$0.key].isLocal } : all
        if try isNewTarget(merge.state) || claimsByGivenKeys(shown) { return try leaveToRules(&merge) }
        guard !refersToItself(merge.state.object, shown), let values = try localValues(shown),
            try references.targetsAreShown(all)
        else {
            return try leaveToRules(&merge)
        }
        var key: FieldValue?
        var former: FieldValue?
        if table.isMapped {
            guard let allocated = try keyForInsertion(merge.state) else { return try leaveToRules(&merge) }
            (key, former) = allocated
        }
        if try isAwaited(.init(merge.state.object, key: key), all) { return try leaveToRules(&merge) }
        if try writer.insert(key: key, values) != nil { return try leaveToRules(&merge) }
        if let former, let key {
            try reservations.moveReferences(to: merge.state.object, in: table, from: former, to: key)
        }
        merge.state.key =
            try key.map { [$0] }
            ?? table.keyColumnIDs.map { column in
                try travelling.local(all[column] ?? .null, table.columns[column]) ?? .null
            }
        merge.state.shown = .row
        merge.state.kept.key = nil
        merge.state.kept.fields = hasForeignColumns ? all.filter { !table.columns[$0.key].isLocal } : [:]
        try keepMisleading(shown, &merge)
        objects.renewCheck(of: &merge.state, row: all)
        try objects.save(merge.state)
    }

    private func keepMisleading(_ values: FieldValues, _ merge: inout ObjectMerge) throws {
        if hasUncheckedReferences { keepWon(&merge, try reservations.misleading(values, table)) }
    }

    /// An object that rows referred to before it came has a key already.
    /// - Returns: `nil` where the key is to be had later, or never.
    private func keyForInsertion(_ state: ObjectState) throws -> (key: FieldValue, former: FieldValue?)? {
        // A key that this batch sets free is free once the rows are gone.
        if !dying.isEmpty, let wish = state.kept.key, let holder = try objects.object(forKey: wish),
            dying.contains(holder)
        {
            return nil
        }
        return try reservations.keyForRow(of: state, in: table)
    }

    /// Values as they lie in rows, by ascending column; `nil` where a reference has no row to refer to.
    private func localValues(_ values: FieldValues) throws -> [(column: Int, value: FieldValue)]? {
        var result: [(column: Int, value: FieldValue)] = []
        result.reserveCapacity(values.count)
        var isComplete = true
        try values.forEachColumn { column, value in
            if case .reference(let target) = value {
                guard try !isArriving(target, table.columns[column]),
                    let local = try references.local(target, column)
                else {
                    isComplete = false
                    return
                }
                result.append((column, local))
            } else {
                result.append((column, value))
            }
        }
        return isComplete ? result : nil
    }

    /// Whether an object refers to itself by a column that no foreign key checks: its row's key has to be known first.
    private func refersToItself(_ object: ObjectID, _ values: FieldValues) -> Bool {
        hasUncheckedReferences
            && values.contains { column, value in
                value == .reference(object) && table.columns[column].reference == table.id
            }
    }

    /// Whether an unchecked reference leads to an object whose row is about to come.
    private func isArriving(_ target: ObjectID, _ column: TrackedColumn) throws -> Bool {
        guard column.isUnchecked, let parent = column.reference, arriving[parent]?.contains(target) ?? false
        else { return false }
        return try !(access.objects(of: parent).place(of: target)?.shown.hasRow ?? false)
    }

    /// Whether an exceptional object waits for this one, or claims what it claims.
    private func isAwaited(_ owner: UniqueClaims.Owner, _ values: FieldValues) throws -> Bool {
        guard hasExceptions else { return false }
        let tokens =
            try [RowToken(table: table.id, id: owner.object)] + meaning.offers(of: table, values)
            + uniqueClaims.claims(table, values, of: owner).map(\.token)
        return try tokens.contains { try !access.exceptionTokens.objects(concernedBy: $0).isEmpty }
    }
}
