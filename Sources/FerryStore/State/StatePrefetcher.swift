import FerryCore
import FerrySQL
import FerrySchema

/// Reads ahead states and row values of expected objects, several at a time. Objects of an import have neighboring IDs.
/// So the next state usually follows the last, without a search.
///
/// Between reading and asking, a caller may write only states and rows of objects already asked for.
///
/// Invariants:
/// - `expected` is ascending; `place <= expected.count`.
/// - `known` holds the results for the `known.count` objects before `unread`.
final class StatePrefetcher {
    /// The known state and row of an object. A class, because the value is large and passed around.
    final class Known {
        let state: State
        /// The local values of the requested columns in the object's row; empty without a row.
        let row: ColumnValues

        init(_ state: State, row: ColumnValues = [:]) {
            self.state = state
            self.row = row
        }

        enum State {
            /// Only if plain states were requested.
            case plain(EncodedState)
            /// Any state, also of an unknown object.
            case whole(ObjectState)
        }
    }

    /// Maximum number of states read at once.
    let number: Int
    /// Bytes of values after which reading ahead stops.
    private static let maximumBytes = 1 << 16
    /// Number of unexpected states skipped before a new search.
    private static let patience = 4

    private let objects: ObjectTable
    /// The position of the row's values in the result, behind state columns, ID and key.
    private let firstValue: Int32
    private let connection: SQLConnection
    /// The expected objects, ascending.
    @exclusivity(unchecked) private var expected: [ObjectID] = []
    /// The position of the next expected object, and the position of the first unread object.
    @exclusivity(unchecked) private var place = 0
    @exclusivity(unchecked) private var unread = 0
    @exclusivity(unchecked) private var columns: [Int] = []
    @exclusivity(unchecked) private var takesEncoded = false
    /// The results read last, for expected objects before `unread`.
    @exclusivity(unchecked) private var known: [Known] = []
    @exclusivity(unchecked) private var statements: [[Int]: SQLStatement] = [:]
    @exclusivity(unchecked) private var patience = StatePrefetcher.patience

    /// - Parameter number: the most that are read at once.
    init(_ objects: ObjectTable, atOnce number: Int) {
        self.objects = objects
        connection = objects.connection
        self.number = number
        firstValue = Int32(objects.stateColumns.count) + 2
        known.reserveCapacity(number)
    }

    /// Announces the objects to be asked for; forgets earlier results.
    /// - Parameters:
    ///   - expected: objects in ascending order.
    ///   - columns: numbers of the wanted columns, ascending; the local table has all of them.
    ///   - takesEncoded: true to return plain states undecoded.
    func expect(_ expected: [ObjectID], columns: [Int], takesEncoded: Bool = false) {
        self.expected = expected
        self.columns = columns
        self.takesEncoded = takesEncoded
        place = 0
        unread = 0
        known.removeAll(keepingCapacity: true)
    }

    /// The known state and row of an object.
    /// - Returns: `nil` if the object was not expected.
    func take(_ object: ObjectID) throws -> Known? {
        while place < expected.count, expected[place] < object { place += 1 }
        guard place < expected.count, expected[place] == object else { return nil }
        if place >= unread { try read() }
        defer { place += 1 }
        return known[known.count - (unread - place)]
    }

    /// Reads the next objects.
    private func read() throws {
        known.removeAll(keepingCapacity: true)
        unread = place
        let statement = try statement()
        defer { statement.rewind() }
        /// The object at the statement's present row; `nil` before the first row.
        var present: ObjectID?
        var isAtEnd = false
        var bytes = 0
        while unread < expected.count, known.count < number, bytes < Self.maximumBytes {
            let object = expected[unread]
            unread += 1
            if !isAtEnd, present.map({ $0 < object }) ?? true {
                present = try advance(statement, from: present, to: object)
                isAtEnd = present == nil
            }
            if present == object {
                known.append(try found(object, statement, &bytes))
            } else {
                known.append(Known(.whole(objects.new(object))))
            }
        }
    }

    private func found(_ object: ObjectID, _ statement: SQLStatement, _ bytes: inout Int) throws -> Known {
        if takesEncoded, let plain = objects.readPlain(object, statement, from: 1) {
            return Known(.plain(plain), row: row(statement, &bytes))
        }
        var state = ObjectState(object: object)
        try objects.read(statement, from: 1, into: &state)
        let row = state.shown.hasRow ? row(statement, &bytes) : [:]
        return Known(.whole(state), row: row)
    }

    /// Advances to the first state at or after an object.
    /// - Returns: the state's object; `nil` at the end.
    private func advance(_ statement: SQLStatement, from present: ObjectID?, to object: ObjectID) throws -> ObjectID? {
        if present != nil {
            for _ in 0..<patience {
                guard try statement.step() else { return nil }
                guard let passed: ObjectID = statement.id(0) else { throw Self.damage }
                if passed >= object {
                    patience = Self.patience
                    return passed
                }
            }
            // The objects lie far apart. From now on a single step shows whether they still do.
            patience = 1
        }
        statement.rewind()
        statement.bind(object, 1)
        guard try statement.step() else { return nil }
        guard let found: ObjectID = statement.id(0) else { throw Self.damage }
        return found
    }

    private static var damage: FerryError {
        FerryError(
            .databaseCorrupt,
            "The state of a row cannot be read: it has no ID. Run `ferry doctor`; a backup, or `ferry leave` and "
                + "`ferry join`, mends it.")
    }

    private func row(_ statement: SQLStatement, _ bytes: inout Int) -> ColumnValues {
        guard let last = columns.last else { return [:] }
        // The first column of the row's key: NULL without a row.
        if statement.isNull(firstValue - 1) { return [:] }
        let row = ColumnValues(width: last + 1, columns: columns) { statement.value(firstValue + Int32($0)) }
        row.forEachColumn { _, value in bytes += value.byteCount }
        return row
    }

    private func statement() throws -> SQLStatement {
        if let known = statements[columns] { return known }
        let table = objects.table
        var selected = ["object"] + objects.stateColumns
        var from = "\(table.objectTable) AS states"
        if !columns.isEmpty {
            selected = selected.map { "states.\($0)" } + ["app.\(quoted(table.keyColumns[0]))"]
            selected += columns.map { "app.\(quoted(table.columns[$0].name))" }
            from += " LEFT JOIN \(table.rows) AS app ON \(Self.isRow(of: table))"
        }
        let made = try connection.makeStatement(
            "SELECT \(selected.joined(separator: ", ")) FROM \(from) WHERE states.object >= ? ORDER BY states.object")
        statements[columns] = made
        return made
    }

    /// The condition joining an object with its row. The sign keeps the key column's own affinity and collation, as for
    /// a bound value.
    private static func isRow(of table: TrackedTable) -> String {
        // A 16-byte key equal to the ID is not stored twice.
        if table.keyColumns.count == 1, !table.isMapped {
            return "app.\(quoted(table.keyColumns[0])) = coalesce(states.k0, states.object)"
        }
        return table.keyColumns.enumerated().map { "app.\(quoted($1)) = +states.k\($0)" }.joined(separator: " AND ")
    }
}
