import FerryCore
import FerrySQL
import FerrySchema

/// The former values of a parent key, if changed or gone after Ferry's transaction. A temporary table for the
/// statements updating local rows (`LocalForeignKeyAction`).
///
/// | column | content |
/// | --- | --- |
/// | `n` | the order in which the rows were first changed |
/// | `fate` | 0: the row is gone; 1: a different row shows its object; 2: the row has new values |
/// | `isThere` | true if a row has the former values now |
/// | `isAnew` | true if the object was deleted at some time and has begun anew |
/// | `isReused` | true if the former values contain integers that mean different rows now |
/// | `place` | the order of following: a move to values another move leaves comes after that move |
/// | `isCircular` | true for a move in a circle with further moves, only possible at once |
/// | `b0`, `b1`, … | the values before; unique |
/// | `a0`, `a1`, … | the values now |
///
/// Columns have the types and collations of the parent columns, because SQLite compares references by them.
struct ChangedParentKeys {
    static let gone = 0
    static let joined = 1
    static let changed = 2

    let access: StoreAccess
    let table: TrackedTable
    let key: LocalParentKey
    /// The temporary table, with its schema.
    let name: String
    private var connection: SQLConnection { access.connection }

    /// Makes and fills the table.
    /// - Parameter number: distinguishes the tables of a transaction.
    init(_ access: StoreAccess, _ table: TrackedTable, _ key: LocalParentKey, number: Int) throws {
        self.access = access
        self.table = table
        self.key = key
        name = "temp.ferry_former_\(number)"
        let before = try columns("b")
        let now = try columns("a")
        try connection.executeScript(
            """
            CREATE TABLE \(name)(
                n INTEGER PRIMARY KEY, fate INTEGER NOT NULL, isThere INTEGER NOT NULL DEFAULT 0,
                isAnew INTEGER NOT NULL, isReused INTEGER NOT NULL, place INTEGER,
                isCircular INTEGER NOT NULL DEFAULT 0, \(before.joined(separator: ", ")),
                \(now.joined(separator: ", ")), UNIQUE(\(list("b"))))
            """)
        try fill()
        try prune()
        try order()
    }

    func drop() throws { try connection.executeScript("DROP TABLE \(name)") }

    private func columns(_ letter: String) throws -> [String] {
        key.columns.enumerated().map { index, column in
            "\(letter)\(index) \(column.affinity.type) COLLATE \(quoted(column.collation))"
        }
    }

    /// The column list `b0, b1` or `a0, a1`.
    func list(_ letter: String, of row: String = "") -> String {
        key.columns.indices.map { "\(row)\(letter)\($0)" }.joined(separator: ", ")
    }

    // MARK: Making

    private func fill() throws {
        let width = key.columns.count
        let places = Array(repeating: "?", count: 2 * width + 3).joined(separator: ", ")
        // Two rows may have had equal values in succession. Then the first had them before the transaction.
        let insertion = try connection.makeStatement(
            "INSERT OR IGNORE INTO \(name)(fate, isAnew, isReused, \(list("b")), \(list("a"))) VALUES (\(places))")
        let names = table.localParentColumns.map(\.name)
        let positions = key.columns.compactMap { column in names.firstIndex { equalNames($0, column.name) } }
        let writer = access.writer(of: table.id)
        for row in access.departures.rows[table.id] ?? [] {
            let before = positions.map { row.values[$0] }
            if before.contains(.null) { continue }
            let (present, isAnew) = try presentKey(of: row.object)
            let offered = try present.flatMap { try writer.offered(by: $0) }
            let now = offered.map { values in positions.map { values[$0] } }
            insertion.reset()
            insertion.bind(now == nil ? Self.gone : present == row.key ? Self.changed : Self.joined, 1)
            insertion.bind(isAnew ? 1 : 0, 2)
            insertion.bind(try isReused(before, row.object) ? 1 : 0, 3)
            for (index, value) in before.enumerated() { insertion.bind(value, Int32(index + 4)) }
            for (index, value) in (now ?? []).enumerated() { insertion.bind(value, Int32(width + index + 4)) }
            try insertion.run()
        }
    }

    /// The local key of the row now showing an object, and whether the object has begun anew.
    private func presentKey(of object: ObjectID) throws -> (key: [FieldValue]?, isAnew: Bool) {
        let objects = access.objects(of: table.id)
        var state = try objects.load(object)
        let isAnew = state.registers.floor != nil
        if state.shown == .joined, let shown = try access.unified.representative(of: object, table.id) {
            state = try objects.load(shown)
        }
        return (state.shown.hasRow ? state.key : nil, isAnew)
    }

    /// True if integers in a row's former values now mean different rows.
    private func isReused(_ before: [FieldValue], _ object: ObjectID) throws -> Bool {
        let references = zip(key.columns, before).compactMap {
            column, value -> (column: TrackedColumn, value: FieldValue)? in
            guard let number = table.columnID(column.name), table.columns[number].reference != nil else { return nil }
            return (table.columns[number], value)
        }
        if references.isEmpty { return false }
        let own = try access.objects(of: table.id).load(object).kept.fields
        return try references.contains { column, value in
            guard let parent = column.reference, case .reference(let former)? = own[column.id] else { return false }
            let shown = try access.unified.representative(of: former, parent) ?? former
            return try ReferenceTranslator(access).value(value, column) != .reference(shown)
        }
    }

    /// Removes unchanged keys.
    private func prune() throws {
        let pairs = key.columns.indices.map { "b\($0) IS a\($0)" }.joined(separator: " AND ")
        try connection.executeScript("DELETE FROM \(name) WHERE fate <> \(Self.gone) AND \(pairs)")
        let matches = key.columns.enumerated().map { "t.\(quoted($1.name)) = former.b\($0)" }
        try connection.executeScript(
            """
            UPDATE \(name) AS former SET place = n, isThere = EXISTS(
                SELECT 1 FROM main.\(table.quotedName) AS t WHERE \(matches.joined(separator: " AND ")))
            """)
        // A reference by value means any row with the values, and not an object that came again elsewhere. A reused
        // integer belongs to a different row.
        if !key.isMappedKey {
            try connection.executeScript(
                """
                DELETE FROM \(name)
                WHERE isThere AND NOT isReused AND (fate = \(Self.gone) OR fate = \(Self.joined) AND isAnew)
                """)
        }
    }

    private func order() throws {
        let matches = key.columns.indices.map { "next.b\($0) = former.a\($0)" }.joined(separator: " AND ")
        var next: [Int: Int] = [:]
        for row in try connection.rows(
            "SELECT former.n, next.n FROM \(name) AS former JOIN \(name) AS next ON \(matches)")
        {
            if case .integer(let from) = row[0], case .integer(let to) = row[1] { next[Int(from)] = Int(to) }
        }
        if next.isEmpty { return }
        for start in next.keys {
            var end = start
            var length = 0
            while let following = next[end], length <= next.count, following != start || length == 0 {
                end = following
                length += 1
            }
            let isCircular = next[end] == start
            // The longer the path to the end, the later the move.
            try connection.execute(
                "UPDATE \(name) SET place = (SELECT max(n) FROM \(name)) + ?, isCircular = ? WHERE n = ?",
                .integer(Int64(length)), .integer(isCircular ? 1 : 0), .integer(Int64(start)))
        }
    }

    /// The places with work, in order.
    func places() throws -> [Int64] {
        try connection.rows("SELECT DISTINCT place FROM \(name) ORDER BY place").compactMap { row in
            if case .integer(let place) = row[0] { place } else { nil }
        }
    }
}
