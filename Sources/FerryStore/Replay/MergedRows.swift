import FerryCore
import FerryMerge
import FerrySchema

/// Writes states of merged objects, and their rows if nothing depends on them. Everything that may concern further rows
/// is left to the rules.
///
/// Invariants:
/// - `write` saves every merged object's state, perhaps in a batch of `stamps`. Only `unsaved` deletions wait for
///   removal.
/// - `touched` has every object the rules may have to check.
final class MergedRows {
    private let access: StoreAccess
    private let table: TrackedTable
    private let objects: ObjectTable
    private let checks: IncrementalChecksums
    private let writer: RowWriter
    private let meaning: ReferenceTokens
    private let translator: ReferenceTranslator
    let references: ReferenceCache
    private let removal: RowRemoval
    private let reservations: KeyReservations
    /// Writes states with changed stamps in batches; `nil` if merging an object may write a different object's state.
    let stamps: BulkStampWriter?
    private let batch: Objects
    private let hasUncheckedReferences: Bool
    /// True if this process cannot write the table's rows.
    private let isWaiting: Bool
    private let uniqueClaims: UniqueClaims
    private let givenKeys: GivenKeys
    /// True if anomalous objects refer to or claim a value of this table, or have a parent key of this table.
    private let hasAnomalies: Bool
    /// True if peers have columns missing here.
    private let hasForeignColumns: Bool
    let sensitive: DependencyColumns
    /// All column numbers.
    private let allColumns: [Int]
    /// Objects the rules may have to check.
    @exclusivity(unchecked) private(set) var touched: [TouchedObject] = []
    /// The columns of the last object left to the rules. The next object's columns are usually equal, and share the
    /// memory.
    @exclusivity(unchecked) private var lastColumns: [Int] = []
    /// Deleted objects that still have their rows.
    @exclusivity(unchecked) private(set) var deletions: [DyingRow] = []

    /// Objects of the batch on which the writing of rows depends.
    struct Objects {
        /// Objects of a mapped table deleted by the batch.
        var dying = DyingObjects([])
        /// Objects the batch inserts into tables referred to by unchecked references, by table.
        var arriving: [Int: Set<ObjectID>] = [:]
    }

    /// - Parameter isIndependent: true if merging an object writes no different object's state. Then call `finish` at
    ///   the end.
    init(
        _ access: StoreAccess, _ table: TrackedTable, among batch: Objects, _ references: ReferenceCache,
        isIndependent: Bool = false
    ) throws {
        self.access = access
        self.table = table
        self.references = references
        removal = RowRemoval(access)
        self.batch = batch
        objects = access.objects(of: table.id)
        let batches = isIndependent && access.fastPaths.contains(.stampBatches)
        stamps = batches ? BulkStampWriter(objects, atOnce: access.newRowsAtOnce) : nil
        access.fastPathLog.record(
            .stampBatches, isTaken: batches, otherwise: isIndependent ? .off : .uncheckedReferences)
        checks = IncrementalChecksums(access, table)
        writer = access.writer(of: table.id)
        meaning = ReferenceTokens(registry: access.registry)
        translator = ReferenceTranslator(access)
        reservations = KeyReservations(access)
        allColumns = table.columns.map(\.id)
        isWaiting = access.waiting.contains(table.id)
        hasUncheckedReferences = table.columns.contains(where: \.isUnchecked)
        uniqueClaims = UniqueClaims(access)
        givenKeys = GivenKeys(access)
        hasAnomalies = try access.anomalyTokens.areAny(of: table.id)
        hasForeignColumns = table.columns.contains { !$0.isLocal }
        sensitive = DependencyColumns(table)
    }

    /// Writes the result of a merge.
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
            if try hasLostKey(merge) { return try leaveToRules(&merge) }
            try update(&merge)
        case (.row, false):
            try delete(&merge)
        case (.none, true):
            try insert(&merge)
        case (.none, false):
            // A waiting object may retain this deleted object, once this object is known.
            if try table.incoming.contains(where: isHolding)
                && isAwaited(.init(merge.state), merge.state.kept.fields.overlaid(with: merge.won))
                || isNewTarget(merge.state)
            {
                return try leaveToRules(&merge)
            }
            keepWon(&merge, merge.won)
            objects.renewCheck(of: &merge.state)
            try objects.save(merge.state)
            try TombstoneParentKeys(access).note(merge.state, table)
        case (.anomalousRow, _), (.hidden, _), (.joined, _):
            try leaveToRules(&merge)
        }
    }

    /// Deletes a row. A row no travelling row can refer to is removed at once. Remaining rows are removed after the
    /// merge of the batch, children before parents.
    ///
    /// Local rows follow in both cases at the end of the transaction (`LocalTableUpkeep`). Local rows that go on
    /// referring to the key make references unchecked.
    private func delete(_ merge: inout ObjectMerge) throws {
        // The row does not show the values at the deletion.
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

    /// Records the deletion of an object with a plain state, whose row is removed after the merge of the batch.
    func delete(_ state: EncodedState, _ deletion: Stamp) {
        let object = TouchedObject(
            table: table.id, object: state.object, columns: allColumns, isDeleted: true, needsRules: false,
            key: state.key)
        deletions.append(DyingRow(object: object, unsaved: deletion, plain: state))
    }

    /// Saves the state of an object in a table this process cannot write: all winning values become shadow values.
    private func wait(_ merge: inout ObjectMerge) throws {
        let isAlive = merge.before.registers.isAlive && merge.state.registers.isAlive
        if merge.won.isEmpty, merge.before.shown == .row, isAlive {
            try checks.change(&merge)
            return try objects.save(merge.state)
        }
        keepWon(&merge, merge.won)
        try WaitingObjects(access).save(&merge.state, table)
    }

    /// True if earlier references to the object may change their claims now.
    private func isNewTarget(_ state: ObjectState) throws -> Bool {
        guard table.hasUncheckedReferences, GivenKeys.isPlain(state.givenKey) else { return false }
        let token = RowToken(table: table.id, id: state.object)
        return try !state.key.isEmpty || !access.anomalyTokens.objects(concernedBy: token).isEmpty
    }

    /// Whether what identifies a row is void with the row's former life, and nobody has said it again.
    private func hasLostKey(_ merge: ObjectMerge) throws -> Bool {
        let isAsBefore =
            merge.before.registers.inserted == merge.state.registers.inserted
            && !merge.won.hasAny(of: table.keyColumnIDs)
        if isAsBefore || table.isMapped { return false }
        if merge.won.hasAny(of: table.keyColumnIDs) {
            // Who inserts a row again says its whole key again.
            return try table.keyColumnIDs.contains { merge.won[$0] == nil }
                || access.keyRefusal(of: merge.state.object, merge.won, merge.state.registers, table) != nil
        }
        return try table.keyColumnIDs.contains {
            try merge.state.registers.stamp(of: $0) == nil
                && access.defaultValue(of: table.columns[$0]) ?? .null == .null
        }
    }

    private func isHolding(_ incoming: TrackedTable.IncomingKey) -> Bool {
        access.registry[incoming.table].foreignKeys[incoming.foreignKey].action == .restrict
    }

    private func keepWon(_ merge: inout ObjectMerge, _ values: ColumnValues) {
        merge.state.kept.fields = merge.state.kept.fields.overlaid(with: values)
    }

    /// Saves the state with all winning values as shadow values; the rules decide about the row.
    private func leaveToRules(_ merge: inout ObjectMerge) throws {
        keepWon(&merge, merge.won)
        try objects.save(merge.state)
        let columns = merge.won.keys
        if columns != lastColumns { lastColumns = columns }
        touched.append(
            TouchedObject(
                table: table.id, object: merge.state.object, columns: lastColumns, isDeleted: false, needsRules: true))
    }

    /// True if values make a claim no row here shows, or look like a different row's key here.
    private func claimsByGivenKeys(_ values: ColumnValues) throws -> Bool {
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
        // An anomalous object may have the same claim.
        if hasAnomalies, merge.won.hasAny(of: sensitive.claimed) { return try leaveToRules(&merge) }
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

    /// Writes the rest of the batch of states. Call last.
    func finish() throws { try stamps?.finish() }

    /// True if a reference of several columns would become half its own. The row shows the key of the row its target
    /// was unified with, and only some columns are written.
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
        if try isNewTarget(merge.state) || claimsByGivenKeys(shown)
            || access.keyRefusal(of: merge.state.object, all, merge.state.registers, table) != nil
        {
            return try leaveToRules(&merge)
        }
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
            let move = KeyReservations.KeyMove(object: merge.state.object, table: table, former: former, key: key)
            for unmoved in try reservations.moveReferences([move]) {
                touched.append(
                    TouchedObject(
                        table: unmoved.row.table, object: unmoved.row.id, columns: [unmoved.column], isDeleted: false,
                        needsRules: true, key: unmoved.key))
            }
        }
        merge.state.key =
            try key.map { [$0] }
            ?? table.keyColumnIDs.map { column in
                try translator.local(all[column] ?? .null, table.columns[column]) ?? .null
            }
        merge.state.shown = .row
        merge.state.kept.key = nil
        merge.state.kept.fields = hasForeignColumns ? all.filter { !table.columns[$0.key].isLocal } : [:]
        try keepMisleading(shown, &merge)
        objects.renewCheck(of: &merge.state, row: all)
        try objects.save(merge.state)
    }

    private func keepMisleading(_ values: ColumnValues, _ merge: inout ObjectMerge) throws {
        if hasUncheckedReferences {
            let own = table.isMapped ? merge.state.key.first : nil
            keepWon(&merge, try reservations.misleading(values, table, own: own))
        }
        if let converted = table.convertedValues(values) { keepWon(&merge, converted) }
    }

    /// Returns the key for an insertion. An object with earlier references has a key already.
    /// - Returns: `nil` if the key is available only later, or never.
    private func keyForInsertion(_ state: ObjectState) throws -> (key: FieldValue, former: FieldValue?)? {
        // A key released by this batch is free only after the rows are removed.
        if batch.dying.areAny, let wish = state.kept.key, let holder = try objects.object(forKey: wish),
            batch.dying.contains(holder)
        {
            return nil
        }
        return try reservations.keyForRow(of: state, in: table)
    }

    /// Converts to local values, by ascending column; `nil` if a target has no row, or if a checked reference has a plain value. A
    /// device with a broken foreign key writes such a value, and its word of the foreign key may come later in the same pass.
    private func localValues(_ values: ColumnValues) throws -> [(column: Int, value: FieldValue)]? {
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
            } else if value != .null, table.columns[column].reference != nil, !table.columns[column].isUnchecked {
                isComplete = false
            } else {
                result.append((column, value))
            }
        }
        return isComplete ? result : nil
    }

    /// True if an object refers to itself by an unchecked column: the row's key must be known first.
    private func refersToItself(_ object: ObjectID, _ values: ColumnValues) -> Bool {
        hasUncheckedReferences
            && values.contains { column, value in
                value == .reference(object) && table.columns[column].reference == table.id
            }
    }

    /// True if an unchecked reference leads to an object about to get a row.
    private func isArriving(_ target: ObjectID, _ column: TrackedColumn) throws -> Bool {
        guard column.isUnchecked, let parent = column.reference, batch.arriving[parent]?.contains(target) ?? false
        else { return false }
        return try !(access.objects(of: parent).place(of: target)?.shown.hasRow ?? false)
    }

    /// True if an anomalous object waits for this object, or has the same claim.
    private func isAwaited(_ owner: UniqueClaims.Owner, _ values: ColumnValues) throws -> Bool {
        guard hasAnomalies else { return false }
        let tokens =
            try [RowToken(table: table.id, id: owner.object)] + meaning.parentKeys(of: table, values)
            + uniqueClaims.claims(table, values, of: owner).map(\.token)
        return try tokens.contains { try !access.anomalyTokens.objects(concernedBy: $0).isEmpty }
    }
}
