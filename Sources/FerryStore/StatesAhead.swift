import FerryCore

/// Reads the states of objects that are about to be asked for, and what their rows show, several at a time: objects of one
/// import have neighbouring IDs, so that the next state is mostly the one behind the last, and no search of its own.
///
/// Who uses it writes, between the reading and the asking, no state and no row of the table but those of objects that were
/// asked for.
final class StatesAhead {
    /// What was read of an object.
    struct Known {
        var state: ObjectState
        /// What its row shows in the columns that were asked for, as it lies in the database; none where it has no row.
        var row = FieldValues()
    }

    /// How many are read at once.
    static let maximum = 64
    /// Bytes of values after which no more are read at once.
    private static let maximumBytes = 1 << 16
    /// How many states that nobody asked for are passed over before the next one is searched for.
    private static let patience = 4

    private let objects: ObjectTable
    /// Where the row's values are in what is read, behind its key: the state's columns come first, and the ID.
    private let firstValue: Int32
    private let connection: SQLConnection
    /// What is to be asked for and was not read yet, ascending, begins at `next`.
    private var expected: [ObjectID] = []
    private var next = 0
    private var columns: [Int] = []
    /// What was read and not asked for yet, descending: it is taken off the end, so that nothing is copied.
    private var known: [Known] = []
    private var statements: [[Int]: SQLStatement] = [:]
    private var patience = StatesAhead.patience

    init(_ objects: ObjectTable, _ connection: SQLConnection) {
        self.objects = objects
        self.connection = connection
        firstValue = Int32(objects.stateColumns.count) + 2
        known.reserveCapacity(Self.maximum)
    }

    /// Says what will be asked for; what was read before is forgotten.
    /// - Parameters:
    ///   - expected: ascending.
    ///   - columns: the numbers of the columns whose values are wanted, ascending; the local table has them.
    func expect(_ expected: [ObjectID], columns: [Int]) {
        self.expected = expected
        self.columns = columns
        next = 0
        known.removeAll(keepingCapacity: true)
    }

    /// What is known of an object.
    /// - Returns: `nil` where it was not expected; the state may be one that is not stored.
    func take(_ object: ObjectID) throws -> Known? {
        while let last = lastKnown, last < object { known.removeLast() }
        if known.isEmpty {
            while next < expected.count, expected[next] < object { next += 1 }
            guard next < expected.count, expected[next] == object else { return nil }
            try read()
        }
        return lastKnown == object ? known.removeLast() : nil
    }

    /// Whose state is at the end of `known`; `last` would copy it.
    private var lastKnown: ObjectID? { known.isEmpty ? nil : known[known.count - 1].state.object }

    private func read() throws {
        let statement = try statement()
        defer {
            statement.rewind()
            known.reverse()
        }
        /// The object whose state the statement is on; `nil` before the first.
        var present: ObjectID?
        var isAtEnd = false
        var bytes = 0
        while next < expected.count, known.count < Self.maximum, bytes < Self.maximumBytes {
            let object = expected[next]
            next += 1
            if !isAtEnd, present.map({ $0 < object }) ?? true {
                present = try advance(statement, from: present, to: object)
                isAtEnd = present == nil
            }
            guard present == object else {
                known.append(Known(state: objects.new(object)))
                continue
            }
            var found = Known(state: ObjectState(object: object))
            try objects.read(statement, from: 1, into: &found.state)
            if found.state.shown.hasRow { found.row = row(statement, &bytes) }
            known.append(found)
        }
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
