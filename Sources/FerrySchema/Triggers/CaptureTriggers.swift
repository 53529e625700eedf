import FerryCore
import FerrySQL

/// The triggers recording changes: plain SQL with functions present in every SQLite, so any process can run them.
package struct CaptureTriggers {
    package let table: TrackedTable
    /// True if the app has triggers that run before insertions or updates of the table. Such a trigger may give a row the UNIQUE value
    /// that the statement then displaces, after Ferry's triggers have looked for the holder.
    private let areWritesPreceded: Bool

    /// The time of the write, in the app's own transaction. `julianday('now')` is the cheapest clock in SQLite.
    private static let now = "julianday('now')"

    private var prefix: String { "ferry_\(table.id)" }

    /// The common prefix of the names of a table's triggers, with an underscore at the end.
    package static func prefix(of table: TrackedTable) -> String { prefix(ofTable: table.id) }

    package static func prefix(ofTable number: Int) -> String { "ferry_\(number)_" }

    package var statements: [String] {
        [insert, delete] + updates + [keyUpdate] + referenceUpdates + displacements + newKeyDisplacements
            + unforeseenDisplacements
    }

    // MARK: Building blocks

    private func key(_ row: String) -> String {
        table.keyColumns.map { "\(row).\(quoted($0))" }.joined(separator: ", ")
    }

    private var keySlots: String { table.keyColumns.indices.map { "k\($0)" }.joined(separator: ", ") }

    private func note(
        _ event: PendingEvent, _ row: String, mask: String? = nil, value: String? = nil,
        where condition: String? = nil
    ) -> String {
        // NULL columns are left out: a statement given as text compiles the trigger anew each time.
        let columns = (mask == nil ? "" : "mask, ") + (value == nil ? "" : "value, ") + keySlots
        let optional = [mask, value].compactMap { $0.map { "\($0), " } }.joined()
        let values = "\(table.id), \(event.rawValue), \(Self.now), \(optional)\(key(row))"
        let conditions = [condition.map { "(\($0))" }, isOfGeneration(row)].compactMap { $0 }
        // Without a condition VALUES is cheaper: SQLite runs a SELECT as a coroutine.
        return "INSERT INTO ferry_pending(\"table\", event, at, \(columns)) "
            + (conditions.isEmpty
                ? "VALUES (\(values));" : "SELECT \(values) WHERE \(conditions.joined(separator: " AND "));")
    }

    /// The condition for a row of this generation; `nil` where all rows belong to the generation.
    private func isOfGeneration(_ row: String) -> String? { table.formerRows?.isFirst(row) }

    private var oldColumns: String { table.localColumns.map { ", c\($0.id)" }.joined() }

    private func keepBeforeImage(_ row: String) -> String {
        let values = "last_insert_rowid()" + table.localColumns.map { ", \(row).\(quoted($0.name))" }.joined()
        return "INSERT INTO \(table.beforeImageTable)(sequence\(oldColumns)) "
            + (isOfGeneration(row).map { "SELECT \(values) WHERE \($0);" } ?? "VALUES (\(values));")
    }

    private func trigger(_ name: String, _ event: String, when: String? = nil, _ body: [String]) -> String {
        "CREATE TRIGGER \(prefix)_\(name) \(event) ON \(table.quotedName)"
            + (when.map { " WHEN \($0)" } ?? "") + " BEGIN " + body.joined(separator: " ") + " END"
    }

    /// True if old and new value differ in representation. A collation may call different bytes equal. A column without
    /// affinity distinguishes 1 from 1.0.
    private func differs(_ column: TrackedColumn) -> String {
        let name = quoted(column.name)
        let comparison = comparing(name, "IS NOT", column.collation)
        if column.affinity != .blob { return "(\(comparison))" }
        // Only numbers, which sort before all texts, can be equal with different types.
        return "(\(comparison) OR OLD.\(name) < '' AND typeof(OLD.\(name)) <> typeof(NEW.\(name)))"
    }

    /// - Parameter collation: the column's own collation. COLLATE BINARY is added unless the collation is BINARY
    ///   already.
    private func comparing(_ name: String, _ comparison: String, _ collation: String) -> String {
        "OLD.\(name)\(collation == "BINARY" ? "" : " COLLATE BINARY") \(comparison) NEW.\(name)"
    }

    private var keyChanged: String { comparingKeys("IS NOT").joined(separator: " OR ") }

    private var keyStayed: String { comparingKeys("IS").joined(separator: " AND ") }

    /// A derived identity changes where the key's collation sees a difference. A mapped key changes with any byte.
    private func comparingKeys(_ comparison: String) -> [String] {
        table.keyColumns.enumerated().map { place, column in
            if table.isMapped { return comparing(quoted(column), comparison, table.mappedKey.collation) }
            return "OLD.\(quoted(column))\(identityCollation(place)) \(comparison) NEW.\(quoted(column))"
        }
    }

    /// The COLLATE clause that compares a part of the key as identities do; empty where the column's own collation
    /// does.
    private func identityCollation(_ place: Int) -> String {
        guard !table.isMapped, let column = table.columnID(table.keyColumns[place]) else { return "" }
        let collation = table.identityCollation(place)
        return equalNames(table.columns[column].collation, collation) ? "" : " COLLATE \(collation)"
    }

    // MARK: Triggers

    private var insert: String { trigger("insert", "AFTER INSERT", [note(.insert, "NEW")]) }

    private var delete: String { trigger("delete", "AFTER DELETE", [note(.delete, "OLD"), keepBeforeImage("OLD")]) }

    /// The columns of a trigger, and the masks of the changed columns.
    private struct UpdateGroup {
        var first: Int
        var columns: [String]
        var changed: String
        var masks: [String]
    }

    private func updateGroups(_ columns: [TrackedColumn]) -> [UpdateGroup] {
        stride(from: 0, to: columns.count, by: ColumnMask.groupSize).map { start in
            let group = columns[start..<min(start + ColumnMask.groupSize, columns.count)]
            // After a dropped column, the numbers of a group may straddle a boundary of 32. Then the group has several
            // masks.
            let masks = Dictionary(grouping: group) { $0.id / ColumnMask.groupSize }
            return UpdateGroup(
                first: start, columns: group.map(\.name), changed: group.map { differs($0) }.joined(separator: " OR "),
                masks: masks.keys.sorted().map { number -> String in
                    // Shorter than CASE, and compiled anew for every statement given as text.
                    let bits = (masks[number] ?? []).map { column in
                        "\(differs(column)) * \(1 << (column.id % ColumnMask.groupSize))"
                    }
                    return ((number == 0 ? [] : ["\(number << ColumnMask.groupSize)"]) + bits).joined(separator: " | ")
                })
        }
    }

    /// Triggers for updates leaving the key unchanged. `keyUpdate` records everything if the key changes too. SQLite
    /// leaves the order of two triggers undefined, and the new key means the object only after the record of the
    /// change.
    ///
    /// If a single mask holds all columns, an update without any change is recorded too, with an empty mask. A further
    /// comparison of the columns would cost every update more than such a record costs a single update.
    private var updates: [String] {
        let groups = updateGroups(table.localColumns.filter { !table.keyColumnIDs.contains($0.id) })
        let isOneMask = groups.count == 1 && groups[0].masks.count == 1
        // Columns of the key may change and stay equal, as under NOCASE. Only statements naming the key columns need
        // this trigger.
        let inKey = updateGroups(table.localColumns.filter { table.keyColumnIDs.contains($0.id) })
        return groups.map { group in
            trigger(
                "update_\(group.first)",
                "AFTER UPDATE" + (groups.count == 1 ? "" : " OF " + group.columns.map(quoted).joined(separator: ", ")),
                when: keyStayed + (isOneMask ? "" : " AND (\(group.changed))"),
                group.masks.map { note(.update, "NEW", mask: $0) })
        }
            + inKey.map { group in
                trigger(
                    "update_key_\(group.first)", "AFTER \(updating([]))",
                    when: "\(keyStayed) AND (\(group.changed))",
                    group.masks.map { note(.update, "NEW", mask: $0) })
            }
    }

    /// UPDATE OF the given columns and the key, so the trigger costs unrelated statements nothing. An integer key has
    /// further names: https://www.sqlite.org/lang_createtable.html#rowid
    private func updating(_ columns: some Sequence<String>) -> String {
        "UPDATE OF "
            + (table.keyColumns + columns + table.namesOfRowID).map { quoted($0) }.joined(separator: ", ")
    }

    private var keyUpdate: String {
        if table.isMapped {
            let rekey = note(.rekey, "NEW", value: "OLD.\(quoted(table.keyColumns[0]))")
            let updates = updateGroups(table.localColumns).flatMap { group in
                group.masks.map { note(.update, "NEW", mask: $0, where: group.changed) }
            }
            let references = clearableColumns.map { column in
                note(
                    .reference, "NEW", mask: "\(column.id)", value: "OLD.\(quoted(column.name))",
                    where: wasCleared(column))
            }
            return trigger("rekey", "AFTER \(updating([]))", when: keyChanged, [rekey] + updates + references)
        }
        return trigger(
            "rekey", "AFTER \(updating([]))", when: keyChanged,
            [note(.delete, "OLD"), keepBeforeImage("OLD"), note(.insert, "NEW")])
    }

    private var clearableColumns: [TrackedColumn] { table.clearableColumns.sorted().map { table.columns[$0] } }

    private func wasCleared(_ column: TrackedColumn) -> String {
        "OLD.\(quoted(column.name)) IS NOT NULL AND \(differs(column))"
    }

    private var referenceUpdates: [String] {
        clearableColumns.map { column in
            trigger(
                "reference_\(column.id)", "AFTER UPDATE OF \(quoted(column.name))",
                when: "\(keyStayed) AND \(wasCleared(column))",
                [note(.reference, "NEW", mask: "\(column.id)", value: "OLD.\(quoted(column.name))")])
        }
    }

    /// Triggers before a statement that may claim UNIQUE values. Each records the holder of the value, for every index.
    private var displacements: [String] {
        var insertBody: [String] = []
        var updateBody: [String] = []
        for index in table.uniqueIndexes {
            insertBody += recordHolder(index, newRow, where: notNew)
            updateBody += recordHolder(index, newRow, where: notSelf("OLD"))
        }
        updateBody += recordKeyHolder()
        if areWritesPreceded, !table.uniqueIndexes.isEmpty { updateBody += recordItself }
        var result: [String] = []
        if !insertBody.isEmpty { result.append(trigger("displace_insert", "BEFORE INSERT", insertBody)) }
        let condition = updateCondition
        result.append(trigger("displace_update", "BEFORE \(condition.event)", when: condition.when, updateBody))
        return result
    }

    /// The last part of the name of a trigger before insertions with a key chosen by SQLite, where an index uses the
    /// key.
    package static let newKeyTrigger = OwnNames.newKeyTrigger

    package static func needsNewKeyTrigger(_ table: TrackedTable) -> Bool { table.keyIsRowID && table.hasIndexOnKey }

    /// The trigger may also run for an app's own -1, and then records a holder needlessly.
    private var newKeyDisplacements: [String] {
        if !Self.needsNewKeyTrigger(table) { return [] }
        let body = table.uniqueIndexes.filter(\.isOnKey).flatMap { recordHolder($0, newRowWithoutKey) }
        return [trigger(Self.newKeyTrigger, "BEFORE INSERT", when: choosesKey, body)]
    }

    /// The condition for a holder other than the row replaced under its own key. Where SQLite is going to choose the
    /// key, a row under -1 is a different row. An app that replaces such a row under -1 itself has a new row in place
    /// of the old row.
    private var notNew: String {
        if !table.keyIsRowID { return notSelf("NEW") }
        return "(\(choosesKey) OR \(notSelf("NEW")))"
    }

    private var choosesKey: String { "NEW.\(quoted(table.keyColumns[0])) = -1" }

    /// The event and condition for a change of the key or of a column in a UNIQUE index. Expressions may use any
    /// column.
    package var updateCondition: (event: String, when: String) {
        if table.uniqueIndexes.contains(where: \.needsEvaluation) { return ("UPDATE", "1") }
        let columns = Set(table.uniqueIndexes.flatMap { $0.terms.compactMap(\.column) }).sorted()
            .map { table.columns[$0] }
        let parts = columns.map { differs($0) } + ["(\(keyChanged))"]
        return (updating(columns.map(\.name)), parts.joined(separator: " OR "))
    }

    /// The new row with columns under their own names, as used in the texts of expressions and conditions.
    private var newRow: String {
        newRow(key: table.isMapped ? newValue(table.keyColumns[0]) : "", table.generatedColumns.map(\.name))
    }

    /// The new row where SQLite is going to choose the integer key, absent from NEW as yet: the highest key plus 1
    /// (https://www.sqlite.org/autoinc.html).
    private var newRowWithoutKey: String {
        let key = quoted(table.keyColumns[0])
        let highest = "(SELECT max(\(key)) FROM \(table.quotedName))"
        let issued = "(SELECT seq FROM sqlite_sequence WHERE name = \(quotedText(table.localName)))"
        let next =
            table.isAutoincrement
            ? "max(coalesce(\(highest), 0), coalesce(\(issued), 0)) + 1" : "coalesce(\(highest) + 1, 1)"
        var rest = table.generatedColumns
        var row = newRow(key: next, [])
        while let place = rest.indices.first(where: { place in
            !rest.indices.contains { $0 != place && IndexText.mentions(rest[place].expression, rest[$0].name) }
        }) {
            let column = rest.remove(at: place)
            row = "(SELECT *, (\(column.expression)) AS \(quoted(column.name)) FROM \(row))"
        }
        // Expressions that seem to mention each other, because an unrelated word matches a column's name.
        let others = rest.map { ", NEW.\(quoted($0.name)) AS \(quoted($0.name))" }.joined()
        return "(SELECT *\(others) FROM \(row))"
    }

    private func newRow(key: String, _ generated: [String]) -> String {
        let values = (table.localColumns.map(\.name) + generated).map { (newValue($0), $0) }
        let keys = table.namesOfMappedKey.map { (key, $0) }
        return "(SELECT " + (values + keys).map { "\($0) AS \(quoted($1))" }.joined(separator: ", ") + ")"
    }

    private func recordHolder(_ index: TrackedUniqueIndex, _ newRow: String, where isOther: String? = nil) -> [String] {
        recordRows(isHolder(of: index, newRow) + [isOther].compactMap { $0 })
    }

    /// Conditions for a row `holder` holding the claim of the new values NEW under an index, before the statement
    /// writes.
    package func isHolder(of index: TrackedUniqueIndex) -> [String] { isHolder(of: index, newRow) }

    /// The same conditions before an insertion with a key chosen by SQLite, where the index uses the key.
    package func isHolder(ofNewKeyIn index: TrackedUniqueIndex) -> [String] {
        isHolder(of: index, newRowWithoutKey) + [choosesKey]
    }

    private func isHolder(of index: TrackedUniqueIndex, _ newRow: String) -> [String] {
        let terms = index.terms.map { term -> String in
            if let column = term.column {
                let name = quoted(table.columns[column].name)
                return
                    "holder.\(name) COLLATE \(quoted(term.collation)) = \(newValue(table.columns[column].name))"
            }
            let text = term.expression ?? "NULL"
            return "(\(text)) COLLATE \(quoted(term.collation)) = (SELECT \(text) FROM \(newRow))"
        }
        var conditions = terms
        if let condition = index.condition {
            conditions += ["(\(condition))", "(SELECT \(condition) FROM \(newRow))"]
        }
        return conditions
    }

    /// The same conditions for the key.
    package var isKeyHolder: [String] { table.keyColumns.map { "holder.\(quoted($0)) = NEW.\(quoted($0))" } }

    /// The value a column is going to hold. OR REPLACE puts the default in place of a forbidden NULL, but only after
    /// this trigger. A nondeterministic default cannot be predicted (`NondeterministicDefaults`).
    private func newValue(_ name: String) -> String {
        let value = "NEW.\(quoted(name))"
        guard let column = table.localColumns.first(where: { equalNames($0.name, name) }), !column.mayBeNull,
            let text = column.defaultSQL, DefaultText.isSteady(text)
        else { return value }
        return "coalesce(\(value), (\(text)))"
    }

    /// The row that an update gives a UNIQUE value, with its former values.
    private var recordItself: [String] {
        let values = table.localColumns.map { ", OLD.\(quoted($0.name))" }.joined()
        let condition = [keyStayed, isOfGeneration("OLD")].compactMap { $0 }.map { "(\($0))" }.joined(
            separator: " AND ")
        return [
            note(.examine, "OLD", where: keyStayed),
            "INSERT INTO \(table.beforeImageTable)(sequence\(oldColumns)) SELECT last_insert_rowid()\(values) WHERE \(condition);",
        ]
    }

    private func recordKeyHolder() -> [String] { recordRows(isKeyHolder + [notSelf("OLD")]) }

    package func notSelf(_ row: String) -> String {
        let same = table.keyColumns.enumerated().map { place, column in
            "holder.\(quoted(column))\(identityCollation(place)) IS \(row).\(quoted(column))"
        }.joined(separator: " AND ")
        return "NOT (\(same))"
    }

    private func recordRows(_ conditions: [String]) -> [String] {
        let source = "FROM \(table.quotedName) AS holder WHERE " + conditions.joined(separator: " AND ")
        let keys = table.keyColumns.map { "holder.\(quoted($0))" }.joined(separator: ", ")
        let values = table.localColumns.map { ", holder.\(quoted($0.name))" }.joined()
        return [
            "INSERT INTO ferry_pending(\"table\", event, at, \(keySlots)) "
                + "SELECT \(table.id), \(PendingEvent.examine.rawValue), \(Self.now), \(keys) \(source);",
            // At most a single row holds a UNIQUE value, so `last_insert_rowid()` is the sequence of the holder's record.
            // Once the app has dropped the index, several rows may hold the value, and nothing is displaced.
            "INSERT INTO \(table.beforeImageTable)(sequence\(oldColumns)) "
                + "SELECT last_insert_rowid()\(values) \(source) LIMIT 1;",
        ]
    }

    /// Triggers before a statement that computes a nondeterministic default, which may displace any row. Each records
    /// all rows, once until the next flush.
    private var unforeseenDisplacements: [String] {
        let defaults = NondeterministicDefaults(table: table)
        let keys = table.keyColumns.map { "holder.\(quoted($0))" }.joined(separator: ", ")
        let values = table.localColumns.map { ", holder.\(quoted($0.name))" }.joined()
        let hasKey = zip(table.keyColumns.indices, table.keyColumns).map { "holder.\(quoted($1)) = note.k\($0)" }
        let source = "FROM \(table.quotedName) AS holder"
        let body = [
            "INSERT INTO ferry_pending(\"table\", event, mask, at, \(keySlots)) SELECT \(table.id), "
                + "\(PendingEvent.examine.rawValue), \(NondeterministicDefaults.mask), \(Self.now), \(keys) \(source);",
            "INSERT INTO \(table.beforeImageTable)(sequence\(oldColumns)) SELECT note.sequence\(values) "
                + "FROM ferry_pending AS note CROSS JOIN \(table.quotedName) AS holder "
                + "WHERE note.\"table\" = \(table.id) AND note.event = \(PendingEvent.examine.rawValue) "
                + "AND note.mask = \(NondeterministicDefaults.mask) AND \(hasKey.joined(separator: " AND ")) "
                + "AND note.sequence NOT IN (SELECT sequence FROM \(table.beforeImageTable));",
            // An empty table gets no mark: no pending change would exist to remove the mark at the flush.
            "INSERT INTO \(table.beforeImageTable)(sequence) "
                + "SELECT \(NondeterministicDefaults.mark) WHERE EXISTS (SELECT 1 \(source));",
        ]
        return [("insert", "INSERT", false), ("update", "UPDATE", true)].compactMap { name, event, isUpdate in
            let columns = defaults.names(isUpdate: isUpdate)
            if columns.isEmpty { return nil }
            return trigger(
                "unforeseen_\(name)",
                "BEFORE \(event)" + (isUpdate ? " OF " + columns.map(quoted).joined(separator: ", ") : ""),
                when: NondeterministicDefaults.isGiven(columns)
                    + " AND NOT EXISTS (SELECT 1 FROM \(table.beforeImageTable) "
                    + "WHERE sequence = \(NondeterministicDefaults.mark))", body)
        }
    }

    package init(table: TrackedTable, areWritesPreceded: Bool = false) {
        self.table = table
        self.areWritesPreceded = areWritesPreceded
    }
}
