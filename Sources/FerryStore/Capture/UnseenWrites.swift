import FerryCore
import FerryMerge
import FerrySQL
import FerrySchema

/// Finds unseen writes to a table by comparing every row with the state. Records them for the next flush
/// (Docs/Architecture/schema-changes.md, "Writes that no trigger saw").
///
/// The state has no values, but a checksum for each object: a hash of its fields with their stamps. If the row's values
/// give the checksum, nothing was written. Otherwise something was written. If the checksum does not reveal the column,
/// all columns are recorded as possibly written (`PendingEvent.review`).
struct UnseenWrites {
    private let access: StoreAccess
    private let table: TrackedTable
    private let objects: ObjectTable
    private let translator: ReferenceTranslator
    private let checks: FormerChecks
    private let wasAbsent: Bool
    private let wasThere: Bool
    private let hasOtherRules: Bool
    /// The columns present before and now, without the key's columns.
    private let columns: [TrackedColumn]
    private let keySlots: String

    /// The number of findings.
    struct Findings {
        /// Rows possibly written, new rows, and missing rows.
        var changed = 0
        var inserted = 0
        var deleted = 0
        /// Rows gone with their table: no deletions.
        var left = 0
    }

    init(_ access: StoreAccess, _ table: TrackedTable, _ unseen: UnseenTable) {
        self.access = access
        self.table = table
        wasAbsent = unseen.wasAbsent
        wasThere = unseen.wasThere ?? false
        hasOtherRules = unseen.hasOtherRules ?? false
        objects = access.objects(of: table.id)
        translator = ReferenceTranslator(access)
        checks = FormerChecks(table, covered: unseen.covered, formerTypes: unseen.formerTypes)
        let known = Set(unseen.covered)
        let key = Set(table.keyColumnIDs)
        columns = table.localColumns.filter { (known.contains($0.id) || unseen.wasAbsent) && !key.contains($0.id) }
        keySlots = table.keyColumns.indices.map { "k\($0)" }.joined(separator: ", ")
    }

    /// Compares all rows.
    func note() throws -> Findings {
        var findings = Findings()
        guard table.isLocal else { return findings }
        let pending = try PendingKeys(table, access.connection)
        let hasRows = try access.connection.count("SELECT EXISTS(SELECT 1 FROM \(table.rows))") != 0
        // Ferry saw the database without the table, so an app has inserted each row again.
        let isRemade = wasAbsent && !wasThere
        let isGone = try !hasRows || isRemade || hasOtherKeys()
        let reader = access.reader(of: table.id)
        // Rows still show what the former rules said, so the present rules do not tell what anomalous rows should show.
        let exceptional = try hasOtherRules ? expectations() : solvedExceptions()
        var compared: Set<[FieldValue]> = []
        for id in try shownObjects() {
            let state = try objects.load(id)
            guard let known = pending.presentKey(of: state.key) else { continue }
            compared.insert(known)
            guard let row = try reader.read(known) else {
                if try isGone || isLeftOut(known) {
                    try leave(state)
                    findings.left += 1
                } else {
                    // The flush finds out about a row that a statement was about to displace, and has the row's values.
                    if !pending.isExamined(known) {
                        try forgetInsertion(of: state)
                        try append(.delete, known)
                    }
                    findings.deleted += 1
                }
                continue
            }
            let key = spelling(of: known, row)
            if isRemade {
                try append(.insert, key)
                findings.inserted += 1
            } else if pending.mention(known) || pending.mention(state.key) {
                let written = writtenUnseen(state, row, exceptional[id], seen: pending.writtenColumns(of: known))
                if !written.isEmpty { try append(.update, columns: written, key) }
                let rest = columns.map(\.id).filter { !written.contains($0) }
                if try append(review: rest, key) || !written.isEmpty { findings.changed += 1 }
            } else if try compare(state, row, key, exceptional) {
                findings.changed += 1
            }
        }
        // Rows that were made since the last flush, and are gone already.
        for key in pending.presentKeys where !compared.contains(key) && !pending.isExamined(key) {
            if try reader.read(key) != nil { continue }
            try append(.delete, key)
            findings.deleted += 1
        }
        findings.inserted = try recordNewRows(pending)
        return findings
    }

    /// True if the key's columns were renamed, and no row has a former key: then the table has a new key, and nothing
    /// was deleted.
    private func hasOtherKeys() throws -> Bool {
        guard table.keyColumnIDs.contains(where: { table.columns[$0].formerName != nil }) else { return false }
        let known = table.keyColumns.count == 1 ? "coalesce(k0, object)" : keySlots
        return try access.connection.count(
            """
            SELECT EXISTS(SELECT \(table.comparedKeyList) FROM \(table.rows) INTERSECT
                SELECT \(known) FROM \(table.objectTable)
                WHERE \(Visibility.way) IN (\(Visibility.row.rawValue), \(Visibility.anomalousRow.rawValue)))
            """) == 0
    }

    /// True if a migration to a narrower key left the row out, because another row has the key now. Nobody deleted the row.
    /// - Parameter key: the row's former key.
    private func isLeftOut(_ key: [FieldValue]) throws -> Bool {
        if table.nextKeyColumns.isEmpty { return false }
        var condition: [String] = []
        var values: [FieldValue] = []
        for name in table.nextKeyColumns {
            guard let place = table.keyColumns.firstIndex(where: { equalNames($0, name) }), place < key.count else {
                return false
            }
            condition.append("\(quoted(name)) = ?")
            values.append(key[place])
        }
        return try access.connection.count(
            "SELECT EXISTS(SELECT 1 FROM \(table.quotedName) WHERE \(condition.joined(separator: " AND ")))",
            values: values) != 0
    }

    private func shownObjects() throws -> [ObjectID] {
        var ids: [ObjectID] = []
        try access.connection.forEachRow(
            "SELECT object FROM \(table.objectTable) WHERE \(Visibility.way) IN (\(Visibility.row.rawValue), "
                + "\(Visibility.anomalousRow.rawValue)) ORDER BY object"
        ) { if let id: ObjectID = $0.id(0) { ids.append(id) } }
        return ids
    }

    // MARK: Missing rows

    /// Leaves an object whose row went with its table: no deletion. This device has lost the values, so the insertion
    /// counts as unknown. The object comes back with any new insertion, and not piece by piece.
    func leave(_ state: ObjectState) throws {
        for member in try access.unified.members(of: state.object, table.id) {
            try forget(objects.load(member), key: [])
        }
        try forget(state, key: table.isMapped ? state.key : [])
    }

    private func forget(_ former: ObjectState, key: [FieldValue]) throws {
        var state = former
        // A row inserted again by the key is the same object.
        state.key = key
        state.shown = .none
        state.registers.inserted = nil
        state.check = 0
        try objects.save(state)
        let token = RowToken(table: table.id, id: state.object)
        try access.anomalies.forgetSilently(token)
        try access.unified.forget(token)
    }

    /// Forgets the insertion of a deleted row: its values are gone. If the deletion loses, a device with the values
    /// publishes them again (`UnresolvedObjects`). A row without any value beside its key has lost nothing.
    private func forgetInsertion(of former: ObjectState) throws {
        guard former.registers.fields.contains(where: { $0 != nil }) else { return }
        var state = former
        state.registers.inserted = nil
        try objects.save(state)
    }

    // MARK: Present rows

    /// The columns in which a row with pending changes shows something else than expected: an anomalous row shows values of several
    /// objects, so a review of its own object would change nothing.
    /// - Parameter seen: the columns of the pending changes.
    private func writtenUnseen(
        _ state: ObjectState, _ row: ColumnValues, _ expected: ExpectedRow?, seen: Set<Int>
    ) -> [Int] {
        guard let expected, state.registers.isAlive, !wasAbsent else { return [] }
        return columns.filter { column in
            guard !seen.contains(column.id), let local = row[column.id], let shown = expected.values[column.id] else {
                return false
            }
            return shown.taken(by: column.affinity) != local
        }.map(\.id)
    }

    /// Compares a row with its object.
    /// - Returns: true if anything was recorded.
    private func compare(
        _ state: ObjectState, _ row: ColumnValues, _ key: [FieldValue], _ exceptional: [ObjectID: ExpectedRow]
    ) throws -> Bool {
        let expected = exceptional[state.object]
        guard state.registers.isAlive else {
            // No checksum tells the columns of a retained row apart.
            return try expected?.isWrittenRetained == true && append(review: columns.map(\.id), key)
        }
        if wasAbsent { return try append(review: columns.map(\.id), key) }
        if state.shown == .anomalousRow, expected == nil { return false }
        let own = try translator.values(row, table)
        var written: Set<Int> = []
        var open: [TrackedColumn] = []
        var difference = state.check &- checks.known(state, own)
        for column in columns {
            guard let value = own[column.id], let local = row[column.id] else { continue }
            if let expected {
                if let shown = expected.values[column.id], shown.taken(by: column.affinity) != local {
                    written.insert(column.id)
                    if state.kept.fields[column.id] == nil, let known = expected.own[column.id] {
                        difference &-= checks.change(state, column.id, from: known, to: value)
                    }
                    continue
                }
                if expected.isOfAnother(column.id) { continue }
            } else if let kept = state.kept.fields[column.id] {
                // A plain value that would be mistaken for a reference, or a value that the column converts.
                if kept != local, kept.taken(by: column.affinity) != local { written.insert(column.id) }
                continue
            }
            if let register = state.policies[column.id],
                let shown = register.shown(under: column.policy, access.hooks.function(for: column.policy))
            {
                if shown != value { written.insert(column.id) }
            } else if state.registers.stamp(of: column.id) != nil {
                open.append(column)
            } else if try !access.isUnwritten(local, in: column) {
                written.insert(column.id)
            }
        }
        try recordKey(state, row, &written)
        // A known write is no part of the question any more.
        for column in written where expected == nil && state.kept.fields[column] == nil {
            guard let register = state.policies[column], let value = own[column],
                let shown = register.shown(
                    under: table.columns[column].policy, access.hooks.function(for: table.columns[column].policy))
            else { continue }
            difference &-= checks.change(state, column, from: shown, to: value)
        }
        let reviewed: [Int]
        switch checks.explain(difference, state, own, open) {
        case .nothing: reviewed = []
        case .converted(let former): reviewed = try keepConverted(former, state, own)
        case .written(let column):
            written.insert(column)
            reviewed = []
        case .unknown: reviewed = open.map(\.id)
        }
        let isReviewed = try append(review: reviewed, key)
        if !written.isEmpty { try append(.update, columns: written.sorted(), key) }
        return isReviewed || !written.isEmpty
    }

    /// Keeps former values beside the row where the column itself converts them: they are what travels, as a value that another device
    /// wrote under the former type.
    /// - Returns: the columns that a migration converted otherwise, as by CAST.
    private func keepConverted(
        _ former: [Int: FieldValue], _ known: ObjectState, _ row: ColumnValues
    ) throws -> [Int] {
        var state = known
        var others: [Int] = []
        for (column, value) in former.sorted(by: { $0.key < $1.key }) {
            if value.taken(by: table.columns[column].affinity) == row[column] {
                state.kept.fields[column] = value
            } else {
                others.append(column)
            }
        }
        if state.kept != known.kept { try objects.save(state) }
        return others
    }

    /// The key as the row has it: a rebuild may have spelled a text otherwise, and both are one to SQLite.
    private func spelling(of key: [FieldValue], _ row: ColumnValues) -> [FieldValue] {
        if table.isMapped { return key }
        return zip(table.keyColumnIDs, key).map { row[$0] ?? $1 }
    }

    /// Records a key with a new spelling equal in SQLite.
    private func recordKey(_ state: ObjectState, _ row: ColumnValues, _ written: inout Set<Int>) throws {
        guard state.shown == .row else { return }
        for (place, column) in table.keyColumnIDs.enumerated() where place < state.key.count {
            if let value = row[column], value != state.key[place] { written.insert(column) }
        }
    }

    /// The expected row of an anomalous object.
    struct ExpectedRow {
        /// The local values.
        var values: ColumnValues
        /// The object's own values.
        var own: ColumnValues
        /// Columns showing a different object's value, or none.
        var others: Set<Int>
        /// True for a retained row with other values than Ferry has told of the row.
        var isWrittenRetained = false

        func isOfAnother(_ column: Int) -> Bool { others.contains(column) }
    }

    private func anomalousRows() throws -> [ObjectID] {
        var found: [ObjectID] = []
        try access.connection.forEachRow(
            "SELECT object FROM \(table.objectTable) WHERE \(Visibility.way) = \(Visibility.anomalousRow.rawValue)"
        ) { if let id: ObjectID = $0.id(0) { found.append(id) } }
        return found
    }

    /// What anomalous rows should show, as far as their values tell.
    private func expectations() throws -> [ObjectID: ExpectedRow] {
        let formerRows = UnifiedFormerRows(access, table, checks, columns)
        var rows: [ObjectID: ExpectedRow] = [:]
        for id in try anomalousRows() {
            let state = try objects.load(id)
            guard let row = try access.reader(of: table.id).read(state.key) else { continue }
            rows[id] = try formerRows.expectation(of: state, row)
        }
        return rows
    }

    /// What anomalous rows should show by the rules.
    private func solvedExceptions() throws -> [ObjectID: ExpectedRow] {
        let found = try anomalousRows()
        if found.isEmpty { return [:] }
        let formerRows = UnifiedFormerRows(access, table, checks, columns)
        let region = DependencyRegion(access)
        for id in found {
            let state = try objects.load(id)
            guard let row = try access.reader(of: table.id).read(state.key) else { continue }
            region.shown[RowToken(table: table.id, id: id)] = try formerRows.row(
                of: state, translator.values(row, table))
        }
        for id in found { try region.add(RowToken(table: table.id, id: id)) }
        try region.solve()
        let writer = RegionWriter(access, region)
        var rows: [ObjectID: ExpectedRow] = [:]
        for id in found {
            guard let object = region[RowToken(table: table.id, id: id)], object.isShown else { continue }
            var values: ColumnValues = [:]
            for (column, value) in try writer.rowValues(object) { values[column] = value }
            let displayed = region.displayedRow(of: object)
            let others = table.localColumns.map(\.id).filter {
                displayed.source($0) !== object || object.clearedColumns[$0] != nil
                    || object.state.kept.fields[$0] != nil
            }
            rows[id] = ExpectedRow(
                values: values, own: object.values, others: Set(others),
                isWrittenRetained: try isWrittenRetained(object, writer))
        }
        return rows
    }

    /// True if an app has written a retained row. The state has no checksum of a deleted object, but the anomaly has the
    /// checksum of what the row shows.
    private func isWrittenRetained(_ object: RegionObject, _ writer: RegionWriter) throws -> Bool {
        // After a change of the columns, the checksum says nothing about the values.
        guard !object.state.registers.isAlive, !wasAbsent, checks.coversPresentColumns else { return false }
        return try writer.shownCheck(object, .anomalousRow) != access.anomalies.check(of: object.token)
    }

    // MARK: New rows

    private func recordNewRows(_ pending: PendingKeys) throws -> Int {
        // A 16-byte key equal to the ID is stored only as the ID.
        let known = table.keyColumns.count == 1 ? "coalesce(k0, object)" : keySlots
        var keys: [[FieldValue]] = []
        try access.connection.forEachRow(
            """
            SELECT \(table.comparedKeyList) FROM \(table.rows)
            EXCEPT SELECT \(known) FROM \(table.objectTable)
            WHERE \(Visibility.way) IN (\(Visibility.row.rawValue), \(Visibility.anomalousRow.rawValue))
            """
        ) { row in
            let key = table.keyColumns.indices.map { row.value(Int32($0)) }
            if !pending.isNoted(key) { keys.append(key) }
        }
        // Rows under keys of rows with a recorded deletion, still in the state.
        var listed = Set(keys)
        let reader = access.reader(of: table.id)
        for vacant in pending.vacantKeys {
            guard let row = try reader.read(vacant) else { continue }
            let key = spelling(of: vacant, row)
            if listed.insert(key).inserted { keys.append(key) }
        }
        for key in keys { try append(.insert, key) }
        return keys.count
    }

    // MARK: Pending changes

    private func append(_ event: PendingEvent, _ key: [FieldValue], mask: Int64? = nil) throws {
        try PendingTable(access.connection).note(event, in: table.id, key, mask: mask)
    }

    private func append(_ event: PendingEvent, columns: [Int], _ key: [FieldValue]) throws {
        for mask in ColumnMask.masks(of: columns) { try append(event, key, mask: mask) }
    }

    private func append(review columns: [Int], _ key: [FieldValue]) throws -> Bool {
        if columns.isEmpty { return false }
        try append(.review, columns: columns, key)
        return true
    }
}
