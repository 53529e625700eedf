import FerryCore

/// Reads the states of objects that are about to be asked for, and what their rows show, several at a time: objects of one
/// import have neighbouring IDs, so that the next state is mostly the one behind the last, and no search of its own.
///
/// Who uses it writes, between the reading and the asking, no state and no row of the table but those of objects that were
/// asked for.
final class StatesAhead {
    /// What was read of an object. A class, because it is large and goes from hand to hand.
    final class Known {
        let state: State
        /// What its row shows in the columns that were asked for, as it lies in the database; none where it has no row.
        let row: FieldValues

        init(_ state: State, row: FieldValues = [:]) {
            self.state = state
            self.row = row
        }

        enum State {
            /// Only where plain ones were asked for.
            case plain(PlainState)
            /// Any, also one that is not stored.
            case whole(ObjectState)
        }
    }

    /// The most that are read at once.
    let number: Int
    /// Bytes of values after which no more are read at once.
    private static let maximumBytes = 1 << 16
    /// How many states that nobody asked for are passed over before the next one is searched for.
    private static let patience = 4

    private let objects: ObjectTable
    /// Where the row's values are in what is read, behind its key: the state's columns come first, and the ID.
    private let firstValue: Int32
    private let connection: SQLConnection
    /// What is to be asked for, ascending.
    @exclusivity(unchecked) private var expected: [ObjectID] = []
    /// Where in `expected` the next one is, and where what was not read yet begins.
    @exclusivity(unchecked) private var place = 0
    @exclusivity(unchecked) private var unread = 0
    @exclusivity(unchecked) private var columns: [Int] = []
    @exclusivity(unchecked) private var takesPlain = false
    /// What was read last: of the expected ones before `unread`.
    @exclusivity(unchecked) private var known: [Known] = []
    @exclusivity(unchecked) private var statements: [[Int]: SQLStatement] = [:]
    @exclusivity(unchecked) private var patience = StatesAhead.patience

    init(_ objects: ObjectTable, _ access: StoreAccess) {
        self.objects = objects
        connection = access.connection
        number = 4 * access.newRowsAtOnce
        firstValue = Int32(objects.stateColumns.count) + 2
        known.reserveCapacity(number)
    }

    /// Says what will be asked for; what was read before is forgotten.
    /// - Parameters:
    ///   - expected: ascending.
    ///   - columns: the numbers of the columns whose values are wanted, ascending; the local table has them.
    ///   - takesPlain: whether states that are plain are wanted as such.
    func expect(_ expected: [ObjectID], columns: [Int], takesPlain: Bool = false) {
        self.expected = expected
        self.columns = columns
        self.takesPlain = takesPlain
        place = 0
        unread = 0
        known.removeAll(keepingCapacity: true)
    }

    /// What is known of an object.
    /// - Returns: `nil` where it was not expected.
    func take(_ object: ObjectID) throws -> Known? {
        while place < expected.count, expected[place] < object { place += 1 }
        guard place < expected.count, expected[place] == object else { return nil }
        if place >= unread { try read() }
        defer { place += 1 }
        return known[known.count - (unread - place)]
    }

    /// Reads what is known of the next objects.
    private func read() throws {
        known.removeAll(keepingCapacity: true)
        unread = place
        let statement = try statement()
        defer { statement.rewind() }
        /// The object whose state the statement is on; `nil` before the first.
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
        if takesPlain, let plain = objects.readPlain(object, statement, from: 1) {
            return Known(.plain(plain), row: row(statement, &bytes))
        }
        var state = ObjectState(object: object)
        try objects.read(statement, from: 1, into: &state)
        let row = state.shown.hasRow ? row(statement, &bytes) : [:]
        return Known(.whole(state), row: row)
    }

    /// Goes to the first state that is not before an object's.
    /// - Returns: whose it is; `nil` where there is none.
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
            // They lie far apart; one step tells whether that is still so.
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

    private func row(_ statement: SQLStatement, _ bytes: inout Int) -> FieldValues {
        guard let last = columns.last else { return [:] }
        // The first column of the row's key, which is NULL where there is no such row.
        if statement.isNull(firstValue - 1) { return [:] }
        let row = FieldValues(width: last + 1, columns: columns) { statement.value(firstValue + Int32($0)) }
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
            from += " LEFT JOIN \(quoted(table.name)) AS app ON \(Self.isRow(of: table))"
        }
        let made = try connection.makeStatement(
            "SELECT \(selected.joined(separator: ", ")) FROM \(from) WHERE states.object >= ? ORDER BY states.object")
        statements[columns] = made
        return made
    }

    /// The condition by which a row is the one that shows an object. The sign keeps the key's own affinity and collation, as
    /// where it is bound.
    private static func isRow(of table: TrackedTable) -> String {
        // A 16-byte key is not stored twice.
        if table.keyColumns.count == 1, !table.isMapped {
            return "app.\(quoted(table.keyColumns[0])) = coalesce(states.k0, states.object)"
        }
        return table.keyColumns.enumerated().map { "app.\(quoted($1)) = +states.k\($0)" }.joined(separator: " AND ")
    }
}
