import FerryCore
import FerryMerge

/// What local keys mean: the objects that they belong to when a note is made.
extension CaptureHistory {
    /// The object that a local key belonged to when the note being read was made.
    mutating func object(_ table: TrackedTable, _ key: [FieldValue]) throws -> ObjectID? {
        if !table.isMapped { return try derivedObject(table, key) }
        if let known = keys[table.id]?[key[0]] { return known.object }
        if freedKeys[table.id]?.contains(key[0]) ?? false { return nil }
        return try formerOwners.object(table.id, key[0])
    }

    mutating func derivedObject(_ table: TrackedTable, _ key: [FieldValue]) throws -> ObjectID {
        let object = try presentObject(table, key)
        // The row of another object may show this key.
        if tracks[table.id]?[object] == nil, let shown = try access.joined.representative(of: object, table.id) {
            return shown
        }
        let mapped =
            table.hasReferencesInKey
            && zip(key, table.keyColumnIDs).contains { value, column in
                table.columns[column].reference.map { keys[$0]?[table.columns[column].key(value)] != nil } ?? false
            }
        if !mapped || tracks[table.id]?[object] != nil { return object }
        if let kept = keptObject(table, key) { return kept }
        // A key that it refers to has changed hands since, which foreign keys that are off allow: what the row was
        // before is what the store has under the keys of then.
        var former: [FieldValue] = key
        for (place, column) in table.keyColumnIDs.enumerated() {
            guard let parent = table.columns[column].reference else { continue }
            if let known = try access.objects(of: parent).object(forKey: table.columns[column].key(key[place])) {
                former[place] = .reference(known)
            }
        }
        let before = table.derivedID(former)
        identities[table.id, default: [:]][before] = former
        let states = access.objects(of: table.id)
        if try !states.load(object).shown.hasRow, try states.load(before).shown.hasRow { return before }
        return object
    }

    /// The object of a row that was written in this flush while what its key refers to was there, and that stayed when that
    /// was deleted. `followKeys` says in the end what the row is.
    private mutating func keptObject(_ table: TrackedTable, _ key: [FieldValue]) -> ObjectID? {
        var isLeft = false
        var former = key
        for (place, number) in table.keyColumnIDs.enumerated() {
            let column = table.columns[number]
            guard let parent = column.reference, let holder = keys[parent]?[column.key(key[place])] else { continue }
            former[place] = .reference(holder.object)
            isLeft = isLeft || holder.isGone
        }
        let object = table.derivedID(former)
        guard isLeft, let track = tracks[table.id]?[object], !track.isDeleted, track.key == key else { return nil }
        return object
    }

    /// The object of a row by what its key means when the note being read was made.
    mutating func presentObject(_ table: TrackedTable, _ key: [FieldValue]) throws -> ObjectID {
        let values = try travellingKey(table, key)
        let object = table.derivedID(values)
        if table.hasReferencesInKey { identities[table.id, default: [:]][object] = values }
        return object
    }

    /// The object whose row a note of an update is about: by ON UPDATE CASCADE on a reference to itself a row may be noted
    /// under a key before it has it, also under that of a row which was made and deleted before.
    mutating func writtenObject(_ table: TrackedTable, _ key: [FieldValue]) throws -> ObjectID? {
        if !table.isMapped { return try object(table, key) }
        if keys[table.id]?[key[0]]?.isGone ?? false, let former = upcomingKeys[table.id]?[key[0]], former != key[0],
            let object = try object(table, [former])
        {
            return object
        }
        return try referredObject(table, key[0])
    }

    /// The object that a key refers to: by ON UPDATE CASCADE a row may mention a key before its object has it.
    mutating func referredObject(_ table: TrackedTable, _ key: FieldValue) throws -> ObjectID? {
        if let object = try object(table, [key]) { return object }
        guard let former = upcomingKeys[table.id]?[key], former != key else { return nil }
        return try object(table, [former])
    }

    mutating func travellingKey(_ table: TrackedTable, _ key: [FieldValue]) throws -> [FieldValue] {
        var values = key
        for (place, column) in table.keyColumnIDs.enumerated() where table.columns[column].reference != nil {
            values[place] = try travelling(key[place], table.columns[column])
        }
        return values
    }

    /// A value as it travels: a reference for what refers to a mapped table.
    mutating func travelling(_ written: FieldValue, _ column: TrackedColumn) throws -> FieldValue {
        guard let parent = column.reference else { return written }
        if case .null = written { return written }
        let value = column.key(written)
        let known = try referredObject(registry[parent], value)
        if let known, !unmade.contains(known) { return .reference(known) }
        if !isReservable(value, in: registry[parent], by: column) { return written }
        // A reference to a row that is not there (foreign keys may be off). What gets that key is what it refers to.
        let states = access.objects(of: parent)
        if let known = try states.object(forKey: value), tracks[parent]?[known] == nil, !unmade.contains(known),
            try !states.load(known).shown.hasRow
        {
            keys[parent, default: [:]][value] = (known, false)
            return .reference(known)
        }
        // One that was made and unmade may be part of its identity already.
        let reserved: ObjectID = known ?? access.random.makeID()
        unmade.remove(reserved)
        keys[parent, default: [:]][value] = (reserved, false)
        reservations.append((parent, reserved, value))
        reserving.insert(reserved)
        return .reference(reserved)
    }

    /// Whether a key that no row has means a row still, for what refers to it. Nor may a column that is checked (foreign keys
    /// may be off) make a plain value a key: it would be one for the others.
    func isReservable(_ value: FieldValue, in parent: TrackedTable, by column: TrackedColumn? = nil) -> Bool {
        let isPlain = column?.isUnchecked ?? false || parent.hasUncheckedReferences
        return !isPlain || KeyReservations.isReservable(value, in: parent)
    }

    /// A value that nobody wrote in this flush as it travels: what it meant at the end of the last one, for its key may
    /// have changed hands since.
    mutating func formerTravelling(_ value: FieldValue, _ column: TrackedColumn) throws -> FieldValue {
        guard let parent = column.reference, value != .null else { return value }
        if let known = try formerOwners.object(parent, column.key(value)) { return .reference(known) }
        return try column.isUnchecked ? value : travelling(value, column)
    }

    /// What was only referred to, got a row and lost it within this flush is only referred to again, by the same key.
    /// - Parameter unknown: objects that were deleted and of which nothing was written.
    func restoreReservations(of unknown: [(table: TrackedTable, track: Track)]) throws {
        for (table, track) in unknown {
            let states = access.objects(of: table.id)
            var state = try states.load(track.object)
            let isReserved =
                state.isStored || reservations.contains { $0.table == table.id && $0.object == track.object }
            guard isReserved, state.registers.newest == nil, state.key.isEmpty,
                try states.object(forKey: track.key[0]) == nil
            else { continue }
            state.key = track.key
            try states.save(state)
        }
    }

    /// Enters objects that are only referred to so far under the keys by which they are, once all keys are released.
    mutating func saveReservations() throws {
        for (table, object, key) in reservations where tracks[table]?[object]?.keepsKey ?? true {
            // It may have been given away since.
            if keys[table]?[key]?.object != object { continue }
            var state = try access.objects(of: table).load(object)
            state.key = [key]
            try access.objects(of: table).save(state)
        }
        reservations.removeAll { tracks[$0.table]?[$0.object] == nil }
    }

    mutating func insertedObject(
        _ note: Note, _ clock: inout HybridClock
    ) throws -> (id: ObjectID, isFresh: Bool) {
        let table = note.table
        if !table.isMapped {
            let present = try presentObject(table, note.key)
            // OR REPLACE on the key itself notes no deletion, also where the row that was there is another object's.
            let object = try objectShowing(present, table) ?? present
            if object == present { try leaveRow(of: object, to: note, &clock) }
            guard let examination = examined[table.id]?[object], examination.yieldsToInsertion else {
                return (object, false)
            }
            try displace(object, examination, table, note.key, &clock)
            return (present, false)
        }
        try displaceHolder(of: note.key, table, unlessIts: nil, &clock)
        if let known = try self.object(table, note.key), !(keys[table.id]?[note.key[0]]?.isGone ?? false) {
            // OR REPLACE on the key itself, or a key that was referred to before.
            if try !yields(known, table, to: note) {
                return (known, tracks[table.id]?[known]?.isFresh ?? reserving.contains(known))
            }
            noteTakenKey(note, from: known)
        } else {
            noteTakenKey(note, from: nil)
        }
        let object = try newObject(table, note.key)
        if !object.isFresh { try leaveFormerKeys(of: object.id, table, for: note.key[0]) }
        keys[table.id, default: [:]][note.key[0]] = (object.id, false)
        freedKeys[table.id]?.remove(note.key[0])
        return object
    }

    /// The object whose row shows the key of another one, because what its own key refers to was joined.
    /// - Parameter present: the object that the key means by itself.
    /// - Returns: `nil` where there is none, or its row is gone.
    private mutating func objectShowing(_ present: ObjectID, _ table: TrackedTable) throws -> ObjectID? {
        guard tracks[table.id]?[present] == nil,
            let object = try access.joined.representative(of: present, table.id)
        else { return nil }
        if let track = tracks[table.id]?[object] {
            return try !track.isDeleted && presentObject(table, track.key) == present ? object : nil
        }
        // Of the objects that a row shows, only one has the key under which it stands.
        let key = try Travelling(access).key(access.objects(of: table.id).load(object).key, table)
        return table.derivedID(key) == present ? object : nil
    }

    /// What comes back under another key leaves the one that it had in this flush, and the one that stayed reserved for it,
    /// to nobody.
    private mutating func leaveFormerKeys(of object: ObjectID, _ table: TrackedTable, for key: FieldValue) throws {
        let track = tracks[table.id]?[object]
        let stored = try access.objects(of: table.id).load(object).key.first
        for former in [track?.key.first, stored].compactMap({ $0 }) where former != key {
            if let holder = keys[table.id]?[former], holder.object != object { continue }
            keys[table.id]?[former] = nil
            freedKeys[table.id, default: []].insert(former)
            track?.formerKeys.append(former)
        }
    }

    /// Whether an object that only has its key reserved gives it up to a new row: one that had a row and died, one whose
    /// row another device has, and one whose identity the new row would not have.
    private func yields(_ known: ObjectID, _ table: TrackedTable, to note: Note) throws -> Bool {
        guard table.hasUncheckedReferences, tracks[table.id]?[known] == nil else { return false }
        let state = try access.objects(of: table.id).load(known)
        guard state.isStored, !state.shown.hasRow else { return false }
        if case .declared = table.identity { return true }
        return state.registers.newest != nil || KeyReservations.isStandIn(note.key[0], for: known)
    }

    /// Remembers what rows mean by a key that a row takes: they refer to that row from now on.
    /// - Parameter known: the object that only had the key reserved.
    mutating func noteTakenKey(_ note: Note, from known: ObjectID?) {
        let (table, key) = (note.table, note.key[0])
        guard table.hasUncheckedReferences || known != nil, takenKeys[table.id]?[key] == nil else { return }
        if let known {
            if tracks[table.id]?[known] != nil { return }
            takenKeys[table.id, default: [:]][key] = TakenKey(meaning: .reference(known), time: note.time)
        } else if !KeyReservations.isReservable(key, in: table) {
            takenKeys[table.id, default: [:]][key] = TakenKey(meaning: key, time: note.time)
        }
    }

    /// A key that changes hands was taken from a row that vanished. A row does not get one that another still has: that was
    /// displaced before.
    /// - Parameter object: whose row gets the key; `nil` where a row is inserted.
    mutating func displaceHolder(
        of key: [FieldValue], _ table: TrackedTable, unlessIts object: ObjectID?, _ clock: inout HybridClock
    ) throws {
        guard let suspects = examined[table.id], !suspects.isEmpty, let holder = try self.object(table, key),
            holder != object, let examination = suspects[holder],
            examination.yieldsToInsertion || object != nil && examination.isOfAnyStatement
        else { return }
        try displace(holder, examination, table, key, &clock)
    }

    mutating func newObject(
        _ table: TrackedTable, _ key: [FieldValue]
    ) throws -> (id: ObjectID, isFresh: Bool) {
        if case .declared(let names) = table.identity,
            // Where a column is gone, nothing tells what the row stands for.
            names.allSatisfy({ name in table.localColumns.contains { equalNames($0.name, name) } }),
            let row = try access.reader(of: table.id).read(key)
        {
            let values = try names.map { name -> FieldValue in
                guard let column = table.columnID(name), let value = row[column] else { return .null }
                return try travelling(value, table.columns[column])
            }
            for ordinal in 0... {
                let candidate = table.declaredID(values, ordinal: ordinal)
                let track = tracks[table.id]?[candidate]
                if let track, !track.isDeleted { continue }
                let state = try access.objects(of: table.id).load(candidate)
                // Another object's row may show it.
                let isTaken = state.shown.hasRow || state.shown == .joined
                if track == nil, isTaken || (state.registers.inserted == nil && !state.key.isEmpty) { continue }
                return (candidate, false)
            }
        }
        minted += 1
        return (ObjectID(high: mintedPrefix.high, low: mintedPrefix.low | UInt64(minted)), true)
    }
}
