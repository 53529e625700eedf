import FerryCore
import FerryMerge
import FerrySchema

/// The meaning of local keys: their objects at the time of a pending change.
extension CaptureHistory {
    /// The object of a local key as of the pending change being read.
    mutating func object(_ table: TrackedTable, _ key: [FieldValue]) throws -> ObjectID? {
        if !table.isMapped { return try derivedObject(table, key) }
        if let known = ledger.holder(of: key[0], in: table.id) { return known.object }
        if ledger.isFree(key[0], in: table.id) { return nil }
        return try formerOwners.object(table.id, key[0])
    }

    /// The object of the row with a key made of values. The row may be older than the present meaning of its key.
    mutating func derivedObject(_ table: TrackedTable, _ key: [FieldValue]) throws -> ObjectID {
        let object = try presentObject(table, key)
        if let track = tracks[table.id]?[object], track.holds(key) { return object }
        if mayHaveChanged(key, table), let owner = try earlierOwner(of: key, table, besides: object) { return owner }
        // A different object's row may show this key.
        if tracks[table.id]?[object] == nil, let shown = try access.unified.representative(of: object, table.id) {
            return shown
        }
        return object
    }

    /// True if this flush concerns an object that a key refers to, or will refer to.
    private func mayHaveChanged(_ key: [FieldValue], _ table: TrackedTable) -> Bool {
        table.hasReferencesInKey
            && zip(key, table.keyColumnIDs).contains { value, column in
                guard let parent = table.columns[column].reference else { return false }
                let key = table.columns[column].key(value)
                return ledger.holder(of: key, in: parent) != nil || ledger.announcement(of: key, in: parent) != nil
            }
    }

    /// The object of a row by an earlier meaning of its key. With foreign keys off or deferred, a key of the row's
    /// target may have a new owner since the row was written. `followKeys` finally decides about such a row.
    /// - Parameter present: the object the key means now, which has no row with the key in this flush.
    private mutating func earlierOwner(
        of key: [FieldValue], _ table: TrackedTable, besides present: ObjectID
    ) throws -> ObjectID? {
        var candidates: [[FieldValue]] = [[]]
        var former = key
        for (place, number) in table.keyColumnIDs.enumerated() {
            let column = table.columns[number]
            var meanings = [key[place]]
            if let parent = column.reference {
                let value = column.key(key[place])
                let stored = try formerOwners.object(parent, value)
                if let stored { former[place] = .reference(stored) }
                meanings = earlierMeanings(key[place], column, in: registry[parent], stored)
            }
            candidates = candidates.flatMap { known in meanings.map { known + [$0] } }
        }
        let before = table.derivedID(former)
        if candidates.count == 1, candidates[0] == former, before == present { return nil }
        // A row of this flush: the last object that got the key has the row.
        for values in candidates {
            let object = table.derivedID(values)
            if object == present { continue }
            let known = tracks[table.id]?[object] != nil
            let owner = try known ? object : access.unified.representative(of: object, table.id) ?? object
            guard let track = tracks[table.id]?[owner], track.holds(key) else { continue }
            identities[table.id, default: [:]][object] = values
            return owner
        }
        // A row that this flush did not touch: the store knows the row by the meaning at the end of the last flush.
        if before == present { return nil }
        identities[table.id, default: [:]][before] = former
        let states = access.objects(of: table.id)
        if tracks[table.id]?[before] == nil, try states.load(before).shown.hasRow { return before }
        guard let shown = try access.unified.representative(of: before, table.id), tracks[table.id]?[shown] == nil
        else { return nil }
        let state = try states.load(shown)
        return state.shown.hasRow && state.key == key ? shown : nil
    }

    /// The meanings of a key in this flush and at the end of the last flush, the latest first.
    /// - Parameter stored: the owner at the end of the last flush.
    private func earlierMeanings(
        _ written: FieldValue, _ column: TrackedColumn, in parent: TrackedTable, _ stored: ObjectID?
    ) -> [FieldValue] {
        let key = column.key(written)
        var owners = ledger.holder(of: key, in: parent.id).map { [$0.object] } ?? []
        owners += ledger.earlierHolders(of: key, in: parent.id).reversed()
        if let stored { owners.append(stored) }
        var meanings: [FieldValue] = []
        for owner in owners where !meanings.contains(.reference(owner)) { meanings.append(.reference(owner)) }
        if stored == nil || !isReservable(key, in: parent, by: column) { meanings.append(written) }
        return meanings
    }

    /// The object of a row by the meaning of its key as of the pending change being read.
    mutating func presentObject(_ table: TrackedTable, _ key: [FieldValue]) throws -> ObjectID {
        let values = try portableKey(table, key)
        let object = table.derivedID(values)
        if table.hasReferencesInKey { identities[table.id, default: [:]][object] = values }
        return object
    }

    /// The object of an updated row. Through ON UPDATE CASCADE on a self-reference, a row may be recorded under a key
    /// before it has the key. The key may also be the key of a row made and deleted before.
    mutating func writtenObject(_ table: TrackedTable, _ key: [FieldValue]) throws -> ObjectID? {
        if !table.isMapped { return try object(table, key) }
        if ledger.holder(of: key[0], in: table.id)?.isGone ?? false,
            let former = ledger.announcement(of: key[0], in: table.id), let object = try object(table, [former])
        {
            return object
        }
        return try referredObject(table, key[0])
    }

    /// The object a key refers to: through ON UPDATE CASCADE a row may mention a key before its object has the key.
    mutating func referredObject(_ table: TrackedTable, _ key: FieldValue) throws -> ObjectID? {
        if let object = try object(table, [key]) { return object }
        guard let former = ledger.announcement(of: key, in: table.id) else { return nil }
        return try object(table, [former])
    }

    mutating func portableKey(_ table: TrackedTable, _ key: [FieldValue]) throws -> [FieldValue] {
        var values = key
        for (place, column) in table.keyColumnIDs.enumerated() where table.columns[column].reference != nil {
            values[place] = try portable(key[place], table.columns[column])
        }
        return values
    }

    /// The portable value of a written value: a reference if the column refers to a mapped table.
    mutating func portable(_ written: FieldValue, _ column: TrackedColumn) throws -> FieldValue {
        guard let parent = column.reference else { return written }
        if case .null = written { return written }
        let value = column.key(written)
        let known = try referredObject(registry[parent], value)
        if let known, !ledger.isUnmade(known) { return .reference(known) }
        if !isReservable(value, in: registry[parent], by: column) { return written }
        // A reference without a parent row (foreign keys may be off). The next object with the key is the target.
        let states = access.objects(of: parent)
        if let known = try states.object(forKey: value), tracks[parent]?[known] == nil, !ledger.isUnmade(known),
            try !states.load(known).shown.hasRow
        {
            ledger.hold(value, in: parent, by: known)
            return .reference(known)
        }
        // An unmade object may already be part of the row's identity.
        let reserved: ObjectID = known ?? access.random.makeID()
        ledger.reserve(value, in: parent, for: reserved)
        return .reference(reserved)
    }

    /// True if a key without a row still means an object for referring rows. Even a checked column must not turn a
    /// plain value into a key (foreign keys may be off). Unchecked columns would find the key, too.
    func isReservable(_ value: FieldValue, in parent: TrackedTable, by column: TrackedColumn? = nil) -> Bool {
        // A placeholder key means something else on every device, and must not travel as a value.
        if ledger.isLeftPlaceholder(value, in: parent.id) { return true }
        let isPlain = column?.isUnchecked ?? false || parent.hasUncheckedReferences
        return !isPlain || KeyReservations.isReservable(value, in: parent)
    }

    /// The portable value of a value nobody wrote in this flush. The meaning at the end of the last flush counts,
    /// because the key may have a new owner.
    mutating func formerPortable(_ value: FieldValue, _ column: TrackedColumn) throws -> FieldValue {
        guard let parent = column.reference, value != .null else { return value }
        if let known = try formerOwners.object(parent, column.key(value)) { return .reference(known) }
        return try column.isUnchecked ? value : portable(value, column)
    }

    /// Restores reservations of objects that got a row and lost the row within this flush, by the same key.
    /// - Parameter unknown: deleted objects of which nothing was written.
    func restoreReservations(of unknown: [(table: TrackedTable, track: Track)]) throws {
        for (table, track) in unknown {
            let states = access.objects(of: table.id)
            var state = try states.load(track.object)
            let isReserved =
                state.isStored || ledger.reservations.contains { $0.table == table.id && $0.object == track.object }
            guard isReserved, state.registers.newest == nil, state.key.isEmpty,
                try states.object(forKey: track.key[0]) == nil, try !isPassing(track.key[0], in: table)
            else { continue }
            state.key = track.key
            try states.save(state)
        }
    }

    /// Saves objects only referred to so far under their keys, after all keys are released.
    mutating func saveReservations() throws {
        for reservation in ledger.reservations {
            let (table, object, key) = (reservation.table, reservation.object, reservation.key)
            guard tracks[table]?[object]?.keepsKey ?? true else { continue }
            // The key may have a new owner since.
            if ledger.holder(of: key, in: table)?.object != object { continue }
            if try isPassing(key, in: registry[table]) { continue }
            let states = access.objects(of: table)
            // The state of the former owner may not be written yet. A table that refers to another may come before it, in a circle.
            if let former = try states.object(forKey: key), former != object { try states.releaseKey(of: former) }
            var state = try states.load(object)
            state.key = [key]
            try states.save(state)
        }
        ledger.removeReservations { tracks[$0.table]?[$0.object] == nil }
    }

    /// True if only passing values of a flush meant a reserved key, such as 0: the app's word for "none". A row that still refers by
    /// the key breaks its foreign key, and the key is packed again as a plain value. Saved, the reservation would turn later zeros into
    /// references. The key's own row may be there, with its record in the next flush.
    private func isPassing(_ key: FieldValue, in table: TrackedTable) throws -> Bool {
        if KeyReservations.isReservable(key, in: table) || ledger.isLeftPlaceholder(key, in: table.id) { return false }
        return try access.reader(of: table.id).read([key]) == nil
    }

    mutating func insertedObject(
        _ note: Note
    ) throws -> (id: ObjectID, isFresh: Bool) {
        let table = note.table
        if !table.isMapped {
            let present = try presentObject(table, note.key)
            // OR REPLACE on the key itself records no deletion, even if the replaced row belongs to a different object.
            let object = try objectShowing(present, table) ?? present
            if object == present { try leaveRow(of: object, to: note) }
            guard let examination = examined[table.id]?[object], examination.yieldsToInsertion else {
                return (object, false)
            }
            try displace(object, examination, table, note.key)
            return (present, false)
        }
        try displaceHolder(of: note.key, table, unlessIts: nil)
        if let known = try self.object(table, note.key),
            !(ledger.holder(of: note.key[0], in: table.id)?.isGone ?? false)
        {
            // OR REPLACE on the key itself, or a key referred to before.
            if try !yields(known, table, to: note) {
                return (known, tracks[table.id]?[known]?.isFresh ?? ledger.hasReserved(known))
            }
            recordTakenKey(note, from: known)
        } else {
            recordTakenKey(note, from: nil)
        }
        let object = try newObject(table, note.key)
        if !object.isFresh { try leaveFormerKeys(of: object.id, table, for: note.key[0]) }
        ledger.hold(note.key[0], in: table.id, by: object.id)
        return object
    }

    /// The object whose row shows a different object's key, because the target of its own key was unified.
    /// - Parameter present: the object the key means by itself.
    /// - Returns: `nil` if no such object exists, or its row is gone.
    private mutating func objectShowing(_ present: ObjectID, _ table: TrackedTable) throws -> ObjectID? {
        guard tracks[table.id]?[present] == nil,
            let object = try access.unified.representative(of: present, table.id)
        else { return nil }
        if let track = tracks[table.id]?[object] {
            return try !track.isDeleted && presentObject(table, track.key) == present ? object : nil
        }
        // Of the objects of a row, only a single object has the key of the row.
        let key = try ReferenceTranslator(access).key(access.objects(of: table.id).load(object).key, table)
        return table.derivedID(key) == present ? object : nil
    }

    /// Releases the former keys of an object coming back under a new key: the key of this flush, and the reserved key.
    private mutating func leaveFormerKeys(of object: ObjectID, _ table: TrackedTable, for key: FieldValue) throws {
        let track = tracks[table.id]?[object]
        let stored = try access.objects(of: table.id).load(object).key.first
        for former in [track?.key.first, stored].compactMap({ $0 }) where former != key {
            if let holder = ledger.holder(of: former, in: table.id), holder.object != object { continue }
            if KeyReservations.isStandIn(former, for: object) { ledger.leavePlaceholder(former, in: table.id) }
            ledger.free(former, in: table.id)
            track?.formerKeys.append(former)
        }
    }

    /// True if an object with only a reserved key leaves the key to a new row. Such an object
    /// - had a row and was deleted,
    /// - has a row on a remote device, or
    /// - has an identity the new row would not have.
    private func yields(_ known: ObjectID, _ table: TrackedTable, to note: Note) throws -> Bool {
        guard table.hasUncheckedReferences, tracks[table.id]?[known] == nil else { return false }
        let state = try access.objects(of: table.id).load(known)
        guard state.isStored, !state.shown.hasRow else { return false }
        if case .declared = table.identity { return true }
        return state.registers.newest != nil || KeyReservations.isStandIn(note.key[0], for: known)
    }

    /// Records the meaning of a key taken by a row: referring rows refer to the new row from now on.
    /// - Parameter known: the object with only a reservation of the key.
    mutating func recordTakenKey(_ note: Note, from known: ObjectID?) {
        let (table, key) = (note.table, note.key[0])
        guard table.hasUncheckedReferences || known != nil, !ledger.isTaken(key, in: table.id) else { return }
        if let known {
            if tracks[table.id]?[known] != nil { return }
            ledger.take(key, in: table.id, from: .init(meaning: .reference(known), time: note.time))
        } else if !KeyReservations.isReservable(key, in: table) {
            ledger.take(key, in: table.id, from: .init(meaning: key, time: note.time))
        }
    }

    /// Displaces the holder of a key that changes owners: a row gets no key a present row still has.
    /// - Parameter object: the object getting the key; `nil` for an insertion.
    mutating func displaceHolder(
        of key: [FieldValue], _ table: TrackedTable, unlessIts object: ObjectID?
    ) throws {
        guard let suspects = examined[table.id], !suspects.isEmpty, let holder = try self.object(table, key),
            holder != object, let examination = suspects[holder],
            examination.yieldsToInsertion || object != nil && examination.isOfAnyStatement
        else { return }
        try displace(holder, examination, table, key)
    }

    mutating func newObject(
        _ table: TrackedTable, _ key: [FieldValue]
    ) throws -> (id: ObjectID, isFresh: Bool) {
        let columns = table.declaredColumns.compactMap { $0 }
        // After a column was dropped, the row's identity is unknown.
        if !columns.isEmpty, columns.count == table.declaredColumns.count,
            let row = try access.reader(of: table.id).read(key)
        {
            let values = try columns.map { try portable(row[$0] ?? .null, table.columns[$0]) }
            for ordinal in 0... {
                let candidate = table.declaredID(values, ordinal: ordinal)
                let track = tracks[table.id]?[candidate]
                if let track, !track.isDeleted { continue }
                let state = try access.objects(of: table.id).load(candidate)
                // A different object's row may show the object.
                let isTaken = state.shown.hasRow || state.shown == .joined
                if track == nil, isTaken || (state.registers.inserted == nil && !state.key.isEmpty) { continue }
                return (candidate, false)
            }
        }
        minted += 1
        return (ObjectID(high: mintedPrefix.high, low: mintedPrefix.low | UInt64(minted)), true)
    }
}
