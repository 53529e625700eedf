import FerryCore
import FerryMerge
import FerrySQL
import FerrySchema

/// Reserves local keys for objects without a row that rows refer to by unchecked references.
///
/// Invariants:
/// - A *reserved key* is in the state of an object without a row. A row's key is in the state of the row's object.
/// - Capture reserves the key written by the app. A deletion keeps the row's key reserved while rows refer to the key.
/// - Replay knows only the object, and makes a *placeholder key*: an integer below all integers SQLite hands out.
/// - A new row takes a reserved key, but never a placeholder key: the referring rows are rewritten instead.
struct KeyReservations {
    let access: StoreAccess
    private var connection: SQLConnection { access.connection }

    init(_ access: StoreAccess) { self.access = access }

    /// Placeholder keys are this integer and all below. No app chooses them, and SQLite does not hand them out while a
    /// table has any higher key. They fit into 32 bits for a long time.
    private static let firstStandIn: Int64 = -1_000_000_001
    private static let lastStandIn: Int64 = .min / 2

    /// The key by which rows refer to an object: the key of the object's row, or a reserved key. Makes a placeholder
    /// key if there is neither.
    func key(of object: ObjectID, in table: TrackedTable) throws -> FieldValue {
        var state = try access.objects(of: table.id).load(object)
        if state.shown == .joined, let shown = try access.unified.representative(of: object, table.id) {
            return try key(of: shown, in: table)
        }
        if let key = state.key.first { return key }
        let key = try newStandIn(for: object, in: table)
        state.key = [key]
        try access.objects(of: table.id).save(state)
        return key
    }

    /// Never uses a placeholder key twice, even after no state holds the key. Rows may still hold the key until
    /// `moveReferences` rewrites them.
    private func newStandIn(for object: ObjectID, in table: TrackedTable) throws -> FieldValue {
        guard table.isIntegerKey else { return .text(object.description) }
        let lowest = try connection.firstValue(
            "SELECT min(k0) FROM \(table.objectTable) WHERE k0 BETWEEN ? AND ?", .integer(Self.lastStandIn),
            .integer(Self.firstStandIn))
        var standIn = try min(Self.firstStandIn, access.meta.integer(.standIn).map { $0 - 1 } ?? Self.firstStandIn)
        if case .integer(let lowest)? = lowest { standIn = min(standIn, lowest - 1) }
        try access.meta.set(.standIn, standIn)
        return .integer(standIn)
    }

    /// True if replay made the reserved key.
    static func isStandIn(_ key: FieldValue, for object: ObjectID) -> Bool {
        if case .integer(let integer) = key { return integer <= firstStandIn && integer >= lastStandIn }
        return key == .text(object.description)
    }

    // MARK: Rows inserted and deleted

    /// The key for an object getting a row: a reserved key, or the author's key if free.
    /// - Returns: the key, and the placeholder key rows use until `moveReferences` is called; `nil` if no key is
    ///   available.
    func keyForRow(
        of state: ObjectState, in table: TrackedTable
    ) throws -> (key: FieldValue, former: FieldValue?)? {
        if let reserved = Self.reservedKey(of: state) { return (reserved, nil) }
        return try access.keys(of: table.id).allocateKey(wish: state.kept.key).map { ($0, state.key.first) }
    }

    /// The key that an object without a row takes with its next row; `nil` without a reserved key, and for a placeholder key.
    static func reservedKey(of state: ObjectState) -> FieldValue? {
        state.key.first.flatMap { isStandIn($0, for: state.object) ? nil : $0 }
    }

    /// True if rows go on referring to a key after its row is gone, by unchecked columns or from local tables. Then the
    /// key stays reserved.
    func isInUse(_ key: FieldValue, of table: TrackedTable) throws -> Bool {
        if !table.hasUncheckedReferences { return false }
        if try access.departures.isHeld(key, of: table, connection) { return true }
        for place in table.referringColumns {
            let child = access.registry[place.table]
            if !child.columns[place.column].isUnchecked { continue }
            if try !rows(of: child, place.column, holding: key, limit: 1).isEmpty { return true }
        }
        return false
    }

    /// The key kept by an object without a row. Any key stays if neither insertion nor deletion is known. Otherwise a key
    /// stays while rows refer to the key.
    func retained(_ key: [FieldValue], by state: ObjectState, in table: TrackedTable) throws -> [FieldValue] {
        guard table.isMapped, let reserved = key.first,
            try access.objects(of: table.id).object(forKey: reserved) == state.object
        else { return [] }
        // A row that went with its table comes back under its former key (`UnseenWrites`).
        let isOnlyLeft = state.registers.inserted == nil && state.registers.deleted == nil
        return try isOnlyLeft || isInUse(reserved, of: table) ? key : []
    }

    /// An object with a row, to which rows still refer by the object's placeholder key.
    struct KeyMove {
        var object: ObjectID
        var table: TrackedTable
        /// The placeholder key.
        var former: FieldValue
        /// The key of the object's row.
        var key: FieldValue
    }

    /// Rewrites the rows that refer to objects by placeholder keys to the keys of the objects' rows.
    /// - Parameters:
    ///   - moves: all objects that got a key since references were moved last. One row's key may refer to several of them.
    ///   - isWritten: true for objects whose rows refer to the objects by the new keys already.
    /// - Returns: the objects whose rows the schema refuses under the new key, and the columns. Their rows are
    ///   unchanged; the caller has the rules decide.
    func moveReferences(
        _ moves: [KeyMove], besides isWritten: (RowToken) -> Bool = { _ in false }
    ) throws -> [RefusedMove] {
        var refused: [RefusedMove] = []
        // By the table, then by the former and the new key.
        var moved: [Int: [FieldValue: ObjectID]] = [:]
        for move in moves {
            moved[move.table.id, default: [:]][move.former] = move.object
            moved[move.table.id, default: [:]][move.key] = move.object
        }
        for move in moves {
            for place in move.table.referringColumns {
                let child = access.registry[place.table]
                for rowKey in try rows(of: child, place.column, holding: move.former) {
                    let values = try self.values(of: rowKey, child, during: moved)
                    // A row with the placeholder key may belong to another object, which has the integer as a plain value.
                    let owner =
                        child.isMapped ? try ReferenceTranslator(access).object(child, rowKey) : child.derivedID(values)
                    if let owner, isWritten(RowToken(table: child.id, id: owner)) { continue }
                    guard let refusal = try self.move(rowKey, knownBy: values, of: child, place.column, to: move.key)
                    else { continue }
                    guard let owner else { throw failure(child, refusal) }
                    // The placeholder key leads to the object no more. A shadow value does.
                    var state = try access.objects(of: child.id).load(owner)
                    state.kept.fields[place.column] = .reference(move.object)
                    try access.objects(of: child.id).save(state)
                    refused.append(
                        RefusedMove(row: RowToken(table: child.id, id: owner), column: place.column, key: rowKey))
                }
            }
        }
        return refused
    }

    /// A row that goes on referring to an object by a placeholder key.
    struct RefusedMove {
        var row: RowToken
        /// The referring column.
        var column: Int
        /// The row's local key.
        var key: [FieldValue]
    }

    private func rows(
        of child: TrackedTable, _ column: Int, holding key: FieldValue, limit: Int = -1
    ) throws -> [[FieldValue]] {
        try connection.rows(
            "SELECT \(child.keyList) FROM \(child.quotedName) WHERE \(quoted(child.columns[column].name)) = ? "
                + "LIMIT \(limit)", key)
    }

    /// A row's portable key while references are being moved. Key columns may still hold the former keys, or already the
    /// new keys.
    /// - Parameter moved: the objects by their table, and by both keys.
    private func values(
        of rowKey: [FieldValue], _ child: TrackedTable, during moved: [Int: [FieldValue: ObjectID]]
    ) throws -> [FieldValue] {
        var values = try ReferenceTranslator(access).key(rowKey, child)
        for (place, number) in child.keyColumnIDs.enumerated() {
            let column = child.columns[number]
            guard let parent = column.reference else { continue }
            if let object = moved[parent]?[column.key(rowKey[place])] { values[place] = .reference(object) }
        }
        return values
    }

    /// - Parameter values: the row's portable key.
    /// - Returns: why the schema refuses the row under the new key. The row is unchanged then.
    private func move(
        _ rowKey: [FieldValue], knownBy values: [FieldValue], of child: TrackedTable, _ column: Int, to key: FieldValue
    ) throws -> RowWriter.Refusal? {
        let writer = access.writer(of: child.id)
        guard let place = child.keyColumnIDs.firstIndex(of: column) else {
            let object =
                try child.isMapped
                ? ReferenceTranslator(access).object(child, rowKey)
                : ReferenceTranslator(access).object(child, knownBy: values)
            return try writer.update(key: rowKey, [(column, key)], of: object)
        }
        // The key is part of the row's own key. So the row becomes a different row, and the object's state follows.
        let object = child.derivedID(values)
        guard let former = try access.reader(of: child.id).read(rowKey) else { return nil }
        var row = former
        row[column] = key
        if let refusal = try writer.delete(key: rowKey, of: object) { return refusal }
        if let refusal = try writer.insert(key: nil, row.map { ($0.key, $0.value) }) {
            if let second = try writer.insert(key: nil, former.map { ($0.key, $0.value) }) {
                throw failure(child, second)
            }
            return refusal
        }
        try access.objects(of: child.id).set(key, at: place, ofKeyOf: object)
        return nil
    }

    private func failure(_ child: TrackedTable, _ refusal: RowWriter.Refusal) -> FerryError {
        FerryError(
            .database,
            "A row of \(child.localName) refers to a row that has come and cannot be written: \(refusal.message). "
                + "Let the table's constraints allow it, and sync again.")
    }

    // MARK: Values without a target

    /// True if a value of an unchecked column means an object even without a row of that key: integers SQLite hands
    /// out, and texts. Further values, such as 0 and -1, are an app's words for “none” and travel as values.
    static func isReservable(_ value: FieldValue, in table: TrackedTable) -> Bool {
        switch value {
        case .integer(let integer): integer > 0
        case .text(let bytes), .blob(let bytes): !table.isIntegerKey && !bytes.isEmpty
        case .null, .real, .reference: false
        }
    }

    /// The values a remote device wrote as plain values, and that a row of this device would turn into references. They
    /// are stored as shadow values.
    /// - Parameter own: the key of the values' own row, if the row's state is not saved yet.
    func misleading(_ values: ColumnValues, _ table: TrackedTable, own: FieldValue? = nil) throws -> ColumnValues {
        var found: ColumnValues = [:]
        for (column, value) in values where table.columns[column].isUnchecked {
            if case .reference = value { continue }
            guard value != .null, let parent = table.columns[column].reference else { continue }
            let key = table.columns[column].key(value)
            let isOwn = parent == table.id && key == own
            if try isOwn || access.objects(of: parent).object(forKey: key) != nil { found[column] = value }
        }
        return found
    }
}
