import FerryCore

/// What a trigger noted (the column `event` of `ferry_pending`).
enum PendingEvent: Int {
    /// A row was inserted.
    case insert = 1
    /// Columns of a row changed; `mask` says which.
    case update = 2
    /// A row was deleted; its values lie in the table of old rows under the same sequence.
    case delete = 3
    /// A row holds a UNIQUE value that a statement is about to claim: with OR REPLACE it vanishes without a DELETE
    /// trigger. Its values lie in the table of old rows; the flush looks whether it is still there. With
    /// `UnforeseenDefaults.mask` any statement since may have displaced it.
    case examine = 4
    /// A column under SET NULL or SET DEFAULT changed from `value`, perhaps by the foreign key's action.
    case reference = 5
    /// A mapped key changed from `value`.
    case rekey = 6
    /// No trigger: columns of a row may have been written while none stood there; `mask` says which (`UnseenWrites`).
    case review = 7
}

/// The triggers that note changes: plain SQL that any process runs, with functions that every SQLite has.
struct CaptureTriggers {
    let table: TrackedTable

    /// Columns per mask: the mask's low 32 bits say which columns, the bits above which group of 32.
    static let groupSize = 32

    /// The mask that says that one column changed.
    static func mask(of column: Int) -> Int64 {
        Int64(column / groupSize) << Int64(groupSize) | 1 << Int64(column % groupSize)
    }

    /// The columns that changed according to a mask.
    static func columns(of mask: Int64) -> some Sequence<Int> {
        let first = Int(mask >> groupSize) * groupSize
        return (0..<groupSize).lazy.filter { mask >> Int64($0) & 1 != 0 }.map { first + $0 }
    }

    /// The time, in the app's own transaction; `julianday('now')` is the cheapest that SQLite offers.
    private static let now = "julianday('now')"

    private var prefix: String { "ferry_\(table.id)" }

    /// The names of all triggers of a table's begin with this and an underscore.
    static func prefix(of table: TrackedTable) -> String { "ferry_\(table.id)_" }

    var statements: [String] {
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
        // What is NULL is left out: statements that come as text compile this anew each time.
        let columns = (mask == nil ? "" : "mask, ") + (value == nil ? "" : "value, ") + keySlots
        let optional = [mask, value].compactMap { $0.map { "\($0), " } }.joined()
        let values = "\(table.id), \(event.rawValue), \(Self.now), \(optional)\(key(row))"
        // Without a condition VALUES is cheaper: SQLite runs a SELECT as a coroutine.
        return "INSERT INTO ferry_pending(\"table\", event, at, \(columns)) "
            + (condition.map { "SELECT \(values) WHERE \($0);" } ?? "VALUES (\(values));")
    }

    private var oldColumns: String { table.localColumns.map { ", c\($0.id)" }.joined() }

    private func keepOldRow(_ row: String) -> String {
        let values = table.localColumns.map { ", \(row).\(quoted($0.name))" }.joined()
        return "INSERT INTO \(table.oldRowsTable)(sequence\(oldColumns)) VALUES (last_insert_rowid()\(values));"
    }

    private func trigger(_ name: String, _ event: String, when: String? = nil, _ body: [String]) -> String {
        "CREATE TRIGGER \(prefix)_\(name) \(event) ON \(quoted(table.name))"
            + (when.map { " WHEN \($0)" } ?? "") + " BEGIN " + body.joined(separator: " ") + " END"
    }

    /// Differs in representation: bytes that a collation takes for equal differ, and so do 1 and 1.0 in a column that
    /// keeps them apart.
    private func differs(_ column: TrackedColumn) -> String {
        let name = quoted(column.name)
        let comparison = comparing(name, "IS NOT", column.collation)
        if column.affinity != .blob { return "(\(comparison))" }
        // Only numbers, which stand before all texts, can be equal and of different types.
        return "(\(comparison) OR OLD.\(name) < '' AND typeof(OLD.\(name)) <> typeof(NEW.\(name)))"
    }

    /// - Parameter collation: under which the bytes are not compared anyway.
    private func comparing(_ name: String, _ comparison: String, _ collation: String) -> String {
        "OLD.\(name)\(collation == "BINARY" ? "" : " COLLATE BINARY") \(comparison) NEW.\(name)"
    }

    private var keyChanged: String { comparingKeys("IS NOT").joined(separator: " OR ") }

    private var keyStayed: String { comparingKeys("IS").joined(separator: " AND ") }

    /// A derived identity changes where the key's collation sees a difference, a mapped key with its bytes.
    private func comparingKeys(_ comparison: String) -> [String] {
        table.keyColumns.enumerated().map { place, column in
            if table.isMapped { return comparing(quoted(column), comparison, table.mappedKey.collation) }
            return "OLD.\(quoted(column))\(identityCollation(place)) \(comparison) NEW.\(quoted(column))"
        }
    }

    /// What makes a comparison of a part of the key one of the IDs that are derived of it; empty where the column's own
    /// collation does.
    private func identityCollation(_ place: Int) -> String {
        guard !table.isMapped, let column = table.columnID(table.keyColumns[place]) else { return "" }
        let collation = table.identityCollation(place)
        return table.columns[column].collation == collation ? "" : " COLLATE \(collation)"
    }

    // MARK: Triggers

    private var insert: String { trigger("insert", "AFTER INSERT", [note(.insert, "NEW")]) }

    private var delete: String { trigger("delete", "AFTER DELETE", [note(.delete, "OLD"), keepOldRow("OLD")]) }

    /// The columns of one trigger, and the masks of those that changed.
    private struct UpdateGroup {
        var first: Int
        var columns: [String]
        var changed: String
        var masks: [String]
    }

    private func updateGroups(_ columns: [TrackedColumn]) -> [UpdateGroup] {
        stride(from: 0, to: columns.count, by: Self.groupSize).map { start in
            let group = columns[start..<min(start + Self.groupSize, columns.count)]
            // Numbers of one group may straddle a boundary after a column was dropped: one mask for each.
            let masks = Dictionary(grouping: group) { $0.id / Self.groupSize }
            return UpdateGroup(
                first: start, columns: group.map(\.name), changed: group.map { differs($0) }.joined(separator: " OR "),
                masks: masks.keys.sorted().map { number -> String in
                    // Shorter than CASE, and compiled anew for every statement that comes as text.
                    let bits = (masks[number] ?? []).map { column in
                        "\(differs(column)) * \(1 << (column.id % Self.groupSize))"
                    }
                    return ((number == 0 ? [] : ["\(number << Self.groupSize)"]) + bits).joined(separator: " | ")
                })
        }
    }

    /// Where the key changes too, `keyUpdate` notes everything, because SQLite does not say which of two triggers is
    /// first, and the new key means the object only once the change of the key has been noted.
    ///
    /// Where one mask holds all columns, an update that changes nothing is noted too, with an empty mask: comparing the
    /// columns once more would cost every update more than such a note costs one.
    private var updates: [String] {
        let groups = updateGroups(table.localColumns.filter { !table.keyColumnIDs.contains($0.id) })
        let isOneMask = groups.count == 1 && groups[0].masks.count == 1
        // Columns of the key may change and stay the same key, as under NOCASE: that concerns only statements that name them.
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

    /// An update that names columns which matter: a trigger that does not concern a statement costs it nothing then. An
    /// integer key has further names: https://www.sqlite.org/lang_createtable.html#rowid
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
            [note(.delete, "OLD"), keepOldRow("OLD"), note(.insert, "NEW")])
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

    /// Before a statement that may claim a UNIQUE value: notes the row that holds it, for each index.
    private var displacements: [String] {
        var insertBody: [String] = []
        var updateBody: [String] = []
        for index in table.uniqueIndexes {
            insertBody += noteHolder(index, newRow, where: notNew)
            updateBody += noteHolder(index, newRow, where: notSelf("OLD"))
        }
        updateBody += noteKeyHolder()
        var result: [String] = []
        if !insertBody.isEmpty { result.append(trigger("displace_insert", "BEFORE INSERT", insertBody)) }
        let condition = updateCondition
        result.append(trigger("displace_update", "BEFORE \(condition.event)", when: condition.when, updateBody))
        return result
    }

    /// The last part of the name of the trigger before an insertion for which SQLite chooses the key, where what the new row
    /// claims is computed of it.
    static let newKeyTrigger = "displace_new_key"

    static func needsNewKeyTrigger(_ table: TrackedTable) -> Bool { table.keyIsRowID && table.hasIndexOnKey }

    /// An app may write -1 itself: then a row is looked at in vain.
    private var newKeyDisplacements: [String] {
        if !Self.needsNewKeyTrigger(table) { return [] }
        let body = table.uniqueIndexes.filter(\.isOnKey).flatMap { noteHolder($0, newRowWithoutKey) }
        return [trigger(Self.newKeyTrigger, "BEFORE INSERT", when: choosesKey, body)]
    }

    /// Whether a row `holder` is another one than the one that an insertion replaces under its key. Where SQLite is going to choose
    /// that, a row under -1 is another one; an app that replaces such a row under that very key has a new row in its place.
    private var notNew: String {
        if !table.keyIsRowID { return notSelf("NEW") }
        return "(\(choosesKey) OR \(notSelf("NEW")))"
    }

    private var choosesKey: String { "NEW.\(quoted(table.keyColumns[0])) = -1" }

    /// When the key or a column of a UNIQUE index changes. Expressions may depend on any column.
    var updateCondition: (event: String, when: String) {
        if table.uniqueIndexes.contains(where: \.needsEvaluation) { return ("UPDATE", "1") }
        let columns = Set(table.uniqueIndexes.flatMap { $0.terms.compactMap(\.column) }).sorted()
            .map { table.columns[$0] }
        let parts = columns.map { differs($0) } + ["(\(keyChanged))"]
        return (updating(columns.map(\.name)), parts.joined(separator: " OR "))
    }

    /// The new row's columns under their own names, in which the texts of expressions and conditions are written.
    private var newRow: String {
        newRow(key: table.isMapped ? newValue(table.keyColumns[0]) : "", table.generatedColumns.map(\.name))
    }

    /// The same where SQLite is going to choose the integer key, which NEW does not have yet: the one above the highest
    /// (https://www.sqlite.org/autoinc.html).
    private var newRowWithoutKey: String {
        let key = quoted(table.keyColumns[0])
        let highest = "(SELECT max(\(key)) FROM \(quoted(table.name)))"
        let name = table.name.replacing("'", with: "''")
        let issued = "(SELECT seq FROM sqlite_sequence WHERE name = '\(name)')"
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
        // Where texts seem to speak of each other because of some other word.
        let others = rest.map { ", NEW.\(quoted($0.name)) AS \(quoted($0.name))" }.joined()
        return "(SELECT *\(others) FROM \(row))"
    }

    private func newRow(key: String, _ generated: [String]) -> String {
        let values = (table.localColumns.map(\.name) + generated).map { (newValue($0), $0) }
        let keys = table.namesOfMappedKey.map { (key, $0) }
        return "(SELECT " + (values + keys).map { "\($0) AS \(quoted($1))" }.joined(separator: ", ") + ")"
    }

    private func noteHolder(_ index: TrackedUniqueIndex, _ newRow: String, where isOther: String? = nil) -> [String] {
        noteRows(isHolder(of: index, newRow) + [isOther].compactMap { $0 })
    }

    /// What holds, before a statement gives a row the values NEW, of a row `holder` that has what these claim under an index.
    func isHolder(of index: TrackedUniqueIndex) -> [String] { isHolder(of: index, newRow) }

    /// The same before an insertion for which SQLite chooses the key that the index is computed of.
    func isHolder(ofNewKeyIn index: TrackedUniqueIndex) -> [String] {
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

    /// The same for the key.
    var isKeyHolder: [String] { table.keyColumns.map { "holder.\(quoted($0)) = NEW.\(quoted($0))" } }

    /// What a column is going to hold: OR REPLACE puts the default in place of a NULL that the column does not allow, but
    /// only after this trigger. What a default will be that is another each time it is computed nobody knows
    /// (`UnforeseenDefaults`).
    private func newValue(_ name: String) -> String {
        let value = "NEW.\(quoted(name))"
        guard let column = table.localColumns.first(where: { equalNames($0.name, name) }), !column.mayBeNull,
            let text = column.defaultSQL, DefaultText.isSteady(text)
        else { return value }
        return "coalesce(\(value), (\(text)))"
    }

    private func noteKeyHolder() -> [String] { noteRows(isKeyHolder + [notSelf("OLD")]) }

    func notSelf(_ row: String) -> String {
        let same = table.keyColumns.enumerated().map { place, column in
            "holder.\(quoted(column))\(identityCollation(place)) IS \(row).\(quoted(column))"
        }.joined(separator: " AND ")
        return "NOT (\(same))"
    }

    private func noteRows(_ conditions: [String]) -> [String] {
        let source = "FROM \(quoted(table.name)) AS holder WHERE " + conditions.joined(separator: " AND ")
        let keys = table.keyColumns.map { "holder.\(quoted($0))" }.joined(separator: ", ")
        let values = table.localColumns.map { ", holder.\(quoted($0.name))" }.joined()
        return [
            "INSERT INTO ferry_pending(\"table\", event, at, \(keySlots)) "
                + "SELECT \(table.id), \(PendingEvent.examine.rawValue), \(Self.now), \(keys) \(source);",
            // At most one row holds a UNIQUE value, so the last inserted key is that of its note.
            "INSERT INTO \(table.oldRowsTable)(sequence\(oldColumns)) SELECT last_insert_rowid()\(values) \(source);",
        ]
    }

    /// Before a statement that has a default computed which may displace any row: notes all rows, once until they are packed.
    private var unforeseenDisplacements: [String] {
        let defaults = UnforeseenDefaults(table: table)
        let keys = table.keyColumns.map { "holder.\(quoted($0))" }.joined(separator: ", ")
        let values = table.localColumns.map { ", holder.\(quoted($0.name))" }.joined()
        let hasKey = zip(table.keyColumns.indices, table.keyColumns).map { "holder.\(quoted($1)) = note.k\($0)" }
        let source = "FROM \(quoted(table.name)) AS holder"
        let body = [
            "INSERT INTO ferry_pending(\"table\", event, mask, at, \(keySlots)) SELECT \(table.id), "
                + "\(PendingEvent.examine.rawValue), \(UnforeseenDefaults.mask), \(Self.now), \(keys) \(source);",
            "INSERT INTO \(table.oldRowsTable)(sequence\(oldColumns)) SELECT note.sequence\(values) "
                + "FROM ferry_pending AS note CROSS JOIN \(quoted(table.name)) AS holder "
                + "WHERE note.\"table\" = \(table.id) AND note.event = \(PendingEvent.examine.rawValue) "
                + "AND note.mask = \(UnforeseenDefaults.mask) AND \(hasKey.joined(separator: " AND ")) "
                + "AND note.sequence NOT IN (SELECT sequence FROM \(table.oldRowsTable));",
            // Without a row there is no note with which the mark would go.
            "INSERT INTO \(table.oldRowsTable)(sequence) "
                + "SELECT \(UnforeseenDefaults.mark) WHERE EXISTS (SELECT 1 \(source));",
        ]
        return [("insert", "INSERT", false), ("update", "UPDATE", true)].compactMap { name, event, isUpdate in
            let columns = defaults.names(isUpdate: isUpdate)
            if columns.isEmpty { return nil }
            return trigger(
                "unforeseen_\(name)",
                "BEFORE \(event)" + (isUpdate ? " OF " + columns.map(quoted).joined(separator: ", ") : ""),
                when: UnforeseenDefaults.isGiven(columns) + " AND NOT EXISTS (SELECT 1 FROM \(table.oldRowsTable) "
                    + "WHERE sequence = \(UnforeseenDefaults.mark))", body)
        }
    }
}
