import FerryCore
import FerryMerge
import FerrySQL
import FerrySchema

/// The stored state of an object.
///
/// Invariants, of a saved state:
/// - `key` is empty unless a row shows the object, or rows go on referring to the key.
/// - `kept` has every value of an object without an own row. Beside a row, `kept` has the values that the row does not show.
/// - `check` is 0 unless the object is alive.
struct ObjectState {
    var object: ObjectID
    /// The local row's key; empty without a row.
    var key: [FieldValue] = []
    var registers = ObjectRegisters()
    var shown = Visibility.none
    var kept = ShadowValues()
    /// The key given by the newest insertion, in a mapped table. The object's own key may differ. `nil` if unknown.
    var givenKey: FieldValue?
    /// The registers of columns under a policy now or before, besides stamps and values.
    var policies: [Int: ColumnRegister] = [:]
    /// The object checksum of registers and values; see `ObjectChecksums`. May be out of date before the rules decide
    /// about the object later in the same transaction.
    var check: UInt64 = 0
    /// The object checksum in the store.
    var storedCheck: UInt64 = 0
    /// True if the store has a state for the object.
    var isStored = false

    /// The value of the column `shown`.
    var shownCode: Int {
        if registers.deleted == nil { return shown.rawValue }
        return shown.rawValue | (shown == .none && check == 0 ? Visibility.tombstone : Visibility.deletion)
    }

    /// True if a deleted object is shown, because rows refer to it (`RetainedRows`).
    var isHeldBack: Bool {
        registers.deleted != nil && registers.inserted != nil && !registers.isAlive
            && (shown == .anomalousRow || shown == .joined)
    }

    /// True if the row went with its table (`UnseenWrites.leave`): changes are known, but no insertion or deletion.
    var isLeft: Bool { isStored && registers.inserted == nil && registers.deleted == nil }

    /// True if the row went with its table or was deleted unseen, and with the row a value that was written later than a time.
    func hasLostValues(after stamp: Stamp) -> Bool {
        isStored && registers.inserted == nil && !shown.hasRow
            && registers.fields.enumerated().contains { column, written in
                written.map { stamp < $0 } ?? false && kept.fields[column] == nil && policies[column] == nil
            }
    }

    /// The SQL condition of `isLeft`, for the index of objects apart.
    static let isLeftCondition =
        "\(Visibility.apartCondition) AND shown = \(Visibility.none.rawValue) AND state IS NOT NULL "
        + "AND instr('13579BDF', substr(hex(substr(state, 1, 1)), 2, 1)) = 0"

    /// The query for the number of objects in a table of objects whose rows went with their table.
    static func leftCount(_ objectTable: String) -> String {
        "SELECT count(*) FROM \(objectTable) WHERE \(isLeftCondition)"
    }

    /// The object's key here, or the wished key.
    var ownKey: FieldValue? { kept.key ?? (shown.hasRow ? key.first : nil) }
}

/// Reads and writes the states of a table's objects: `ferry_object_<n>`.
///
/// Invariant: each changed object checksum also goes to the table digest. After `write(_:)` the caller reports the
/// change.
final class ObjectTable {
    let table: TrackedTable
    /// Computes object checksums.
    let checks: ObjectChecksums
    /// Computes the checksums of how objects are shown.
    let shownChecks: VisibilityChecksums
    let connection: SQLConnection
    let devices: DeviceNumbers
    let digests: StateDigests
    let keyWidth: Int
    private let keySlots: [String]
    private static let rest = ["shown", "\"check\"", "state", "kept"]
    private let selectByObject: LazyStatement
    private let insertOnly: LazyStatement
    private let update: LazyStatement
    private let updateStamps: LazyStatement
    private let deletion: LazyStatement
    private let selectByKey: LazyStatement
    private let selectPlace: LazyStatement

    init(
        _ table: TrackedTable, _ connection: SQLConnection, _ devices: DeviceNumbers, _ digests: StateDigests
    ) {
        self.table = table
        self.devices = devices
        self.digests = digests
        checks = ObjectChecksums(table)
        shownChecks = VisibilityChecksums(table)
        keyWidth = table.keyColumns.count
        let keys = (0..<keyWidth).map { "k\($0)" }
        keySlots = keys
        let rest = Self.rest
        let columns = (keys + rest).joined(separator: ", ")
        let name = table.objectTable
        selectByObject = LazyStatement("SELECT \(columns) FROM \(name) WHERE object = ?", connection)
        selectByKey = LazyStatement("SELECT object FROM \(name) WHERE k0 = ?", connection)
        selectPlace = LazyStatement("SELECT shown, k0 FROM \(name) WHERE object = ?", connection)
        let places = Array(repeating: "?", count: keyWidth + rest.count + 1).joined(separator: ", ")
        let insert = "INSERT INTO \(name)(object, \(columns)) VALUES (\(places))"
        insertOnly = LazyStatement(insert, connection)
        deletion = LazyStatement("DELETE FROM \(name) WHERE object = ?", connection)
        let assignments = (keys + rest).enumerated().map { "\($1) = ?\($0 + 2)" }.joined(separator: ", ")
        update = LazyStatement("UPDATE \(name) SET \(assignments) WHERE object = ?1", connection)
        updateStamps = LazyStatement("UPDATE \(name) SET state = ?2, \"check\" = ?3 WHERE object = ?1", connection)
        self.connection = connection
    }

    /// The state of an object; an empty state if the store has none.
    func load(_ object: ObjectID) throws -> ObjectState {
        let statement = try selectByObject.prepared()
        statement.bind(object, 1)
        defer { statement.rewind() }
        guard try statement.step() else { return new(object) }
        var state = ObjectState(object: object)
        try read(statement, from: 0, into: &state)
        return state
    }

    /// The state of an unknown object.
    func new(_ object: ObjectID) -> ObjectState {
        var state = ObjectState(object: object)
        state.registers.deletionWins = table.deletionWins
        state.registers.fields.reserveCapacity(table.columns.count)
        return state
    }

    /// True if the store knows no object.
    func isEmpty() throws -> Bool {
        try connection.count("SELECT EXISTS(SELECT 1 FROM \(table.objectTable))") == 0
    }

    /// The last known object, in the order of IDs.
    func last() throws -> ObjectID? {
        guard case .blob(let bytes)? = try connection.firstValue("SELECT max(object) FROM \(table.objectTable)")
        else { return nil }
        return ObjectID(bytes: bytes)
    }

    /// The deleted objects, without retained objects.
    func deleted() throws -> Set<ObjectID> {
        var found: Set<ObjectID> = []
        try connection.forEachRow(
            "SELECT object FROM \(table.objectTable) WHERE shown & \(Visibility.deletion) AND \(Visibility.way) = \(Visibility.none.rawValue)"
        ) { if let id: ObjectID = $0.id(0) { found.insert(id) } }
        return found
    }

    /// The columns of a state without the object's ID, as expected by `read`.
    var stateColumns: [String] { keySlots + Self.rest }

    /// Reads a state from `stateColumns`.
    /// - Parameter first: the number of the first of these columns.
    func read(_ statement: SQLStatement, from first: Int32, into state: inout ObjectState) throws {
        state.isStored = true
        let base = first + Int32(keyWidth)
        guard let shown = Visibility(code: statement.int(base)) else {
            throw FerryError(.storeTooNew, "The state was written by a newer Ferry. Update Ferry.")
        }
        state.shown = shown
        if !statement.isNull(first) || shown.hasRow { state.key = key(of: state.object, statement, from: first) }
        state.check = UInt64(bitPattern: statement.integer(base + 1))
        state.storedCheck = state.check
        (state.registers, state.policies) = try statement.withBytes(base + 2) {
            try StateCodec.decode($0, device: { try devices.device($0) })
        }
        state.registers.deletionWins = table.deletionWins
        var given: FieldValue?
        if !statement.isNull(base + 3) {
            (state.kept, given) = try StateCodec.decodeKeptAndGiven(statement.bytes(base + 3))
        }
        if table.isMapped { state.givenKey = given ?? state.ownKey }
        try StateCodec.checkColumns(of: state, below: table.columns.count)
    }

    /// Reads a row's key.
    /// - Parameter first: the number of the key's first column.
    func key(of object: ObjectID, _ statement: SQLStatement, from first: Int32) -> [FieldValue] {
        // A 16-byte key equal to the ID is not stored twice.
        if keyWidth == 1, statement.isNull(first) { return [.blob(object.bytes[...])] }
        return (first..<first + Int32(keyWidth)).map { statement.value($0) }
    }

    /// Computes an object's checksum anew.
    /// - Parameter row: the portable values of the object's row. Shadow values of the state take precedence.
    func renewCheck(of state: inout ObjectState, row: ColumnValues = [:]) {
        guard state.registers.isAlive else {
            state.check = 0
            return
        }
        let kept = state.kept.fields
        let values = kept.isEmpty ? row : row.overlaid(with: kept)
        state.check = checks.check(state.object, state.registers) { values[$0] }
    }

    /// Writes the state of an object. The checksum must be right, unless the state is saved again in the same
    /// transaction.
    func save(_ state: ObjectState) throws {
        // A different copy of the state may have removed the row.
        if try !state.isStored || !write(state, update) { _ = try write(state, insertOnly) }
        note(state)
    }

    /// Writes the state of a stored object. If only stamps changed, writes only stamps and checksum, and touches no
    /// index.
    /// - Parameter former: the stored state.
    func save(_ state: ObjectState, over former: ObjectState) throws {
        guard let update = try stampUpdate(of: state, over: former), try write(update) else { return try save(state) }
        note(state)
    }

    /// The stamps and checksum to write for a stored object.
    /// - Parameter former: the stored state.
    /// - Returns: `nil` if more than stamps changed, or the object is not stored.
    func stampUpdate(of state: ObjectState, over former: ObjectState) throws -> StampUpdate? {
        guard state.isStored, state.shownCode == former.shownCode, state.kept == former.kept,
            state.givenKey == former.givenKey, state.key == former.key
        else { return nil }
        return StampUpdate(object: state.object, stamps: try stamps(of: state), check: state.check)
    }

    /// - Returns: true if the store has a state of the object.
    func write(_ update: StampUpdate) throws -> Bool {
        let statement = try updateStamps.prepared()
        statement.bind(update.object, 1)
        statement.bind(blob: update.stamps, 2)
        statement.bind(Int64(bitPattern: update.check), 3)
        try statement.run()
        return connection.changedRowCount > 0
    }

    private func note(_ state: ObjectState) {
        digests.note(table.id, from: state.storedCheck, to: state.check)
    }

    private func stamps(of state: ObjectState) throws -> [UInt8]? {
        try StateCodec.encode(state.registers, state.policies) { try devices.number(of: $0) }
    }

    /// - Returns: true if a row was written.
    private func write(_ state: ObjectState, _ lazy: LazyStatement) throws -> Bool {
        let statement = try lazy.prepared()
        statement.bind(state.object, 1)
        var place: Int32 = 2
        var isOwnKey = false
        if keyWidth == 1, case .blob(let bytes)? = state.key.first { isOwnKey = ObjectID(bytes: bytes) == state.object }
        for index in 0..<keyWidth {
            if index < state.key.count, !isOwnKey {
                statement.bind(state.key[index], place)
            } else {
                statement.bindNull(place)
            }
            place += 1
        }
        statement.bind(state.shownCode, place)
        statement.bind(Int64(bitPattern: state.check), place + 1)
        statement.bind(blob: try stamps(of: state), place + 2)
        // A given key equal to the object's own key is not stored.
        let given = state.givenKey == state.ownKey ? nil : state.givenKey
        if let kept = StateCodec.encodeKept(state.kept, given: given) {
            statement.bind(blob: kept, place + 3)
        } else {
            statement.bindNull(place + 3)
        }
        try statement.run()
        return connection.changedRowCount > 0
    }

    /// Removes an object's state.
    func remove(_ state: ObjectState) throws {
        let statement = try deletion.prepared()
        statement.bind(state.object, 1)
        try statement.run()
        digests.note(table.id, from: state.storedCheck, to: 0)
    }

    /// Removes an object's local key, until the state is saved with a new key. The key given by the author stays.
    func releaseKey(of object: ObjectID) throws {
        var state = try load(object)
        guard state.isStored else { return }
        state.key = []
        try save(state)
    }

    /// Removes a local key from an object, if the object has the key. Nothing else of the state changes.
    func release(_ key: FieldValue, of object: ObjectID) throws {
        try connection.execute(
            "UPDATE \(table.objectTable) SET k0 = NULL WHERE k0 = ? AND object = ?", key, .blob(object.bytes[...]))
    }

    /// Changes a column of the key of an object with a row of the object's own. Nothing else of the state changes.
    /// - Parameter place: the column's place in the key.
    func set(_ value: FieldValue, at place: Int, ofKeyOf object: ObjectID) throws {
        try connection.execute(
            "UPDATE \(table.objectTable) SET k\(place) = ? WHERE object = ? AND \(Visibility.way) IN "
                + "(\(Visibility.row.rawValue), \(Visibility.anomalousRow.rawValue))", value, .blob(object.bytes[...]))
    }

    /// Forgets an object without a row. A key with referring rows stays reserved for the object.
    func forget(_ state: ObjectState) throws {
        if state.key.isEmpty { return try remove(state) }
        var left = new(state.object)
        left.key = state.key
        left.isStored = true
        left.storedCheck = state.storedCheck
        try save(left)
    }

    /// The object with a mapped table's local key.
    func object(forKey key: FieldValue) throws -> ObjectID? {
        if case .null = key { return nil }
        let statement = try selectByKey.prepared()
        defer { statement.rewind() }
        statement.bind(key, 1)
        return try statement.step() ? statement.id(0) : nil
    }

    /// The local key of an object of a mapped table, or the reserved key.
    func key(of object: ObjectID) throws -> FieldValue? {
        let statement = try selectPlace.prepared()
        defer { statement.rewind() }
        statement.bind(object, 1)
        guard try statement.step() else { return nil }
        if !statement.isNull(1) { return statement.value(1) }
        return (Visibility(code: statement.int(0)) ?? .none).hasRow ? .blob(object.bytes[...]) : nil
    }

    /// The local key and the way of showing of an object, without the rest of the state.
    func place(of object: ObjectID) throws -> (key: FieldValue, shown: Visibility)? {
        let statement = try selectPlace.prepared()
        defer { statement.rewind() }
        statement.bind(object, 1)
        guard try statement.step() else { return nil }
        let key = statement.isNull(1) ? FieldValue.blob(object.bytes[...]) : statement.value(1)
        return (key, Visibility(code: statement.int(0)) ?? .none)
    }
}
