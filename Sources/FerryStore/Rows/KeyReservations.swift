import FerryCore
import FerryMerge

/// The local keys of objects that rows refer to and that have no row, where no foreign key sees to it that they have one.
///
/// The state of such an object holds a key as that of an object with a row does: the key is *reserved*. Capture reserves
/// the key that the app wrote; a deletion leaves the row's key reserved while rows refer to it. Replay, which is told
/// only the object, makes a *stand-in*: an integer below any that SQLite hands out. When the object's row comes, it
/// takes a reserved key, but not a stand-in: then the rows that refer to it are written anew.
struct KeyReservations {
    let access: StoreAccess
    private var connection: SQLConnection { access.connection }

    init(_ access: StoreAccess) { self.access = access }

    /// Stand-ins are these and all below: integers that no app chooses, that SQLite does not hand out while a table has
    /// any key above them, and that fit 32 bits for a long time.
    private static let firstStandIn: Int64 = -1_000_000_001
    private static let lastStandIn: Int64 = .min / 2

    /// The key of an object for what refers to it: that of its row, or a reserved one, which is made where there is none.
    func key(of object: ObjectID, in table: TrackedTable) throws -> FieldValue {
        var state = try access.objects(of: table.id).load(object)
        if state.shown == .joined, let shown = try access.joined.representative(of: object, table.id) {
            return try key(of: shown, in: table)
        }
        if let key = state.key.first { return key }
        let key = try newStandIn(for: object, in: table)
        state.key = [key]
        try access.objects(of: table.id).save(state)
        return key
    }

    /// No stand-in is used again, even when no state holds it any more: rows may hold it that `moveReferences` is about
    /// to move.
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

    /// Whether a reserved key was made by replay.
    static func isStandIn(_ key: FieldValue, for object: ObjectID) -> Bool {
        if case .integer(let integer) = key { return integer <= firstStandIn && integer >= lastStandIn }
        return key == .text(object.description)
    }

    // MARK: Rows that come and go

    /// The key for an object that gets a row: a reserved one, or the author's where it is free.
    /// - Returns: the key, and the stand-in by which rows refer to the object until `moveReferences` is called; `nil`
    ///   where there is no key to be had.
    func keyForRow(
        of state: ObjectState, in table: TrackedTable
    ) throws -> (key: FieldValue, former: FieldValue?)? {
        let reserved = state.key.first
        if let reserved, !Self.isStandIn(reserved, for: state.object) { return (reserved, nil) }
        return try access.writer(of: table.id).allocateKey(wish: state.kept.key).map { ($0, reserved) }
    }

    /// Whether rows refer to a key by columns that no foreign key checks, or stay on this device and go on referring to it,
    /// so that it stays reserved when its row goes.
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

    /// The key that an object without a row keeps: what the app wrote for one that was never seen, and what rows refer to.
    func retained(_ key: [FieldValue], by state: ObjectState, in table: TrackedTable) throws -> [FieldValue] {
        guard table.isMapped, let reserved = key.first,
            try access.objects(of: table.id).object(forKey: reserved) == state.object
        else { return [] }
        // What went with its table comes back by the key that it had (`UnseenWrites`).
        let isOnlyLeft = state.registers.inserted == nil && state.registers.deleted == nil
        return try isOnlyLeft || isInUse(reserved, of: table) ? key : []
    }

    /// Makes the rows that refer to an object by a stand-in refer to its row's key.
    func moveReferences(
        to object: ObjectID, in table: TrackedTable, from former: FieldValue, to key: FieldValue
    ) throws {
        for place in table.referringColumns {
            let child = access.registry[place.table]
            for rowKey in try rows(of: child, place.column, holding: former) {
                let values = try self.values(of: rowKey, child, referringTo: object, in: table, by: [former, key])
                try move(rowKey, knownBy: values, of: child, place.column, to: key)
            }
        }
    }

    private func rows(
        of child: TrackedTable, _ column: Int, holding key: FieldValue, limit: Int = -1
    ) throws -> [[FieldValue]] {
        try connection.rows(
            "SELECT \(child.keyList) FROM \(quoted(child.name)) WHERE \(quoted(child.columns[column].name)) = ? "
                + "LIMIT \(limit)", key)
    }

    /// A row's key as it travels while references to an object are being moved: by what they held before, and by what those of
    /// its columns hold that were moved already.
    private func values(
        of rowKey: [FieldValue], _ child: TrackedTable, referringTo object: ObjectID, in table: TrackedTable,
        by keys: [FieldValue]
    ) throws -> [FieldValue] {
        var values = try Travelling(access).key(rowKey, child)
        for (place, number) in child.keyColumnIDs.enumerated() {
            let column = child.columns[number]
            if column.reference == table.id, keys.contains(column.key(rowKey[place])) {
                values[place] = .reference(object)
            }
        }
        return values
    }

    /// - Parameter values: the row's key as it travels.
    private func move(
        _ rowKey: [FieldValue], knownBy values: [FieldValue], of child: TrackedTable, _ column: Int, to key: FieldValue
    ) throws {
        let writer = access.writer(of: child.id)
        guard let place = child.keyColumnIDs.firstIndex(of: column) else {
            let object =
                try child.isMapped
                ? Travelling(access).object(child, rowKey)
                : Travelling(access).object(child, knownBy: values)
            if let refusal = try writer.update(key: rowKey, [(column, key)], of: object) {
                throw failure(child, refusal)
            }
            return
        }
        // The key is part of the row's own: another row, and the state of its object follows.
        let object = child.derivedID(values)
        guard var row = try access.reader(of: child.id).read(rowKey) else { return }
        row[column] = key
        if let refusal = try writer.delete(key: rowKey, of: object) { throw failure(child, refusal) }
        if let refusal = try writer.insert(key: nil, row.map { ($0.key, $0.value) }) { throw failure(child, refusal) }
        try connection.execute(
            "UPDATE \(child.objectTable) SET k\(place) = ? WHERE object = ? AND \(Shown.way) IN "
                + "(\(Shown.row.rawValue), \(Shown.exceptionalRow.rawValue))", key, .blob(object.bytes[...]))
    }

    private func failure(_ child: TrackedTable, _ refusal: RowWriter.Refusal) -> FerryError {
        FerryError(
            .database,
            "A row of \(child.name) refers to a row that has come and cannot be written: \(refusal.message). "
                + "Let the table's constraints allow it, and sync again.")
    }

    // MARK: Values that refer to nothing

    /// Whether a value of an unchecked column means a row where there is none by that key: integers that SQLite hands
    /// out, and texts. Others, 0 and -1 among them, are an app's words for “none” and travel as they are.
    static func isReservable(_ value: FieldValue, in table: TrackedTable) -> Bool {
        switch value {
        case .integer(let integer): integer > 0
        case .text(let bytes), .blob(let bytes): !table.isIntegerKey && !bytes.isEmpty
        case .null, .real, .reference: false
        }
    }

    /// Plain values that a row of this device's would be taken to mean an object by: a device that had no row by that key
    /// wrote them. They are kept beside the row.
    func misleading(_ values: FieldValues, _ table: TrackedTable) throws -> FieldValues {
        var found: FieldValues = [:]
        for (column, value) in values where table.columns[column].isUnchecked {
            if case .reference = value { continue }
            guard value != .null, let parent = table.columns[column].reference,
                try access.objects(of: parent).object(forKey: table.columns[column].key(value)) != nil
            else { continue }
            found[column] = value
        }
        return found
    }
}
