import FerryCore
import FerryMerge

/// The pending changes of a flush, gathered by object.
///
/// Keys are interpreted as of the pending change being read.
///
/// Invariants for mapped keys:
/// - The owner of a key comes from `keys`. Without an entry, a key in `freedKeys` has no owner.
/// - A key in neither has the owner of the last flush (`formerOwners`).
/// - `upcomingKeys` has keys a later pending change gives to an object. An entry is removed when that change is read.
/// - `unmade` has objects made and unmade in this flush. A reference may reserve such an object again, and removes it.
/// - Every object in `reservations` was added to `reserving`.
struct CaptureHistory {
    let access: StoreAccess
    var connection: SQLConnection { access.connection }
    var registry: Registry { access.registry }

    /// The rows' meaning of a key before a row took the key: a reference, or the plain value.
    struct TakenKey {
        var meaning: FieldValue
        var time: HybridTime
    }

    struct ReferenceNote {
        var column: Int
        var time: HybridTime
        var former: FieldValue
    }

    /// A displacement candidate.
    struct Examination {
        var sequence: Int64
        var time: HybridTime
        var key: [FieldValue]
        /// The changes of the object so far: the before-image has these values. Later changes came in the displacing
        /// statement, or after a statement that displaced nothing.
        var changed: ColumnTimes
        /// True if any statement since may have displaced the row (`NondeterministicDefaults`).
        var isOfAnyStatement: Bool
        /// True after a later change other than a foreign key's action: the row was still present.
        var isWritten = false

        /// True if an insertion under the row's key replaces a row displaced before. If any statement may displace the
        /// row, OR REPLACE more likely put the new row in its place.
        var yieldsToInsertion: Bool { !isWritten && !isOfAnyStatement }
    }

    struct Note {
        var sequence: Int64
        var table: TrackedTable
        var event: PendingEvent
        var mask: Int64
        var time: HybridTime
        var value: FieldValue
        var key: [FieldValue]
    }

    var tracks: [Int: [ObjectID: Track]] = [:]
    var examined: [Int: [ObjectID: Examination]] = [:]
    /// Owners of mapped keys as of the pending change being read, if different from the store's. Holds the object,
    /// present or gone.
    var keys: [Int: KeyHolders] = [:]
    /// Owners of mapped keys at the end of the last flush. Changes by this flush are in `keys` and `freedKeys`.
    let formerOwners: FormerOwners
    /// Keys without an owner (their object has a new key now).
    var freedKeys: [Int: Set<FieldValue>] = [:]
    /// Placeholder keys whose object got a row under another key. Rows may still refer by them.
    var leftStandIns: [Int: Set<FieldValue>] = [:]
    /// Mapped keys a later pending change gives to an object. ON UPDATE CASCADE records the children's change before
    /// the parent's, so children mention a key nobody has yet.
    var upcomingKeys: [Int: [FieldValue: FieldValue]] = [:]
    /// Objects made and unmade within this flush: nobody knows of them.
    var unmade: Set<ObjectID> = []
    /// The keys of unmade objects, with the time of unmaking. Only for tables referred to by unchecked columns or by
    /// key columns.
    var unmadeKeys: [Int: [(key: FieldValue, object: ObjectID, time: HybridTime)]] = [:]
    /// Objects for which this flush reserved a key.
    var reserving: Set<ObjectID> = []
    /// The key values of objects identified by references.
    var identities: [Int: [ObjectID: [FieldValue]]] = [:]
    /// Objects referred to by a key without a row.
    var reservations: [(table: Int, object: ObjectID, key: FieldValue)] = []
    /// Keys taken by rows in this flush, with the former meaning for referring rows. Only for tables with unchecked
    /// references.
    var takenKeys: [Int: [FieldValue: TakenKey]] = [:]
    /// Keys without an owner still in use by referring rows, with their meaning.
    var lostKeys: [Int: [FieldValue: FieldValue]] = [:]
    /// Rows left to different objects, because their own objects got new rows.
    var leftRows: [LeftRow] = []
    var minted: UInt32 = 0
    let mintedPrefix: (high: UInt64, low: UInt64)
    private(set) var rowsWithoutKey = 0
    private(set) var keylessTables: Set<Int> = []
    /// The tables with before-images of the read pending changes.
    private(set) var tablesWithBeforeImages: Set<Int> = []

    init(_ access: StoreAccess) {
        self.access = access
        formerOwners = FormerOwners(access)
        // 48 bits of time, 48 random bits for each flush, then a count. So IDs of a flush are neighbors, in the state
        // and in the log, where they compress.
        let milliseconds = UInt64(bitPattern: access.clock.milliseconds()) & 0xffff_ffff_ffff
        let bits = access.random.next()
        mintedPrefix = (milliseconds << 16 | bits >> 48, (bits & 0xffff_ffff) << 32)
    }

    // MARK: Reading pending changes

    mutating func read(through end: Int64, _ clock: inout HybridClock) throws {
        let slots = (0..<registry.keyWidth).map { "k\($0)" }.joined(separator: ", ")
        var notes: [Note] = []
        var hasRekeys = false
        var last: TrackedTable?
        // Pending changes are decoded first: processing them runs further statements.
        try connection.forEachRow(
            """
            SELECT sequence, "table", event, mask, at, value, \(slots) FROM ferry_pending
            WHERE sequence <= ? ORDER BY sequence
            """, [.integer(end)]
        ) { row in
            let number = row.int(1)
            if last?.id != number { last = registry.tables[number] }
            guard let table = last, let event = PendingEvent(rawValue: row.int(2)) else { return }
            switch event {
            case .delete, .examine: tablesWithBeforeImages.insert(number)
            case .rekey: hasRekeys = hasRekeys || table.isLocal
            case .insert, .update, .reference, .review: break
            }
            // Pending changes of a dropped table are void. Their before-images are removed with them.
            if !table.isLocal { return }
            // An update without any change is ignored.
            if event == .update, Int32(truncatingIfNeeded: row.integer(3)) == 0 { return }
            let key = (0..<table.keyColumns.count).map { row.value(6 + Int32($0)) }
            if key.contains(.null) {
                if event == .insert { rowsWithoutKey += 1 }
                if event != .delete { keylessTables.insert(number) }
                return
            }
            // A row without the former key belongs only to the next generation (`GenerationChange`).
            if table.identity.isSurrogate, registry.leaving.contains(table.id), key[0].integerKey == nil { return }
            let time: HybridTime
            if row.isNull(4) {
                time = try access.oldTime()
            } else {
                time = clock.advance(toMilliseconds: access.milliseconds(capturedOn: row.double(4)))
            }
            notes.append(
                Note(
                    sequence: row.integer(0), table: table, event: event, mask: row.integer(3), time: time,
                    value: row.value(5), key: key))
        }
        if hasRekeys {
            for note in notes where note.event == .rekey {
                upcomingKeys[note.table.id, default: [:]][note.key[0]] = note.value
            }
        }
        for note in notes { try take(note, &clock) }
        for number in Array(examined.keys) {
            // Iterates over IDs: holding the list while removing an entry would copy the list.
            for object in Array((examined[number] ?? [:]).keys) {
                guard let examination = examined[number]?[object] else { continue }
                try settle(object, examination, registry[number], &clock)
            }
        }
        examined = [:]
    }

    mutating func take(_ note: Note, _ clock: inout HybridClock) throws {
        let table = note.table
        switch note.event {
        case .insert:
            let object = try insertedObject(note, &clock)
            let track = try self.track(object.id, table, key: note.key, isFresh: object.isFresh)
            let time = self.time(for: track, note.time, togglesLife: track.isDeleted, &clock)
            track.key = note.key
            track.isDeleted = false
            track.insertedAt = time
        case .update:
            guard let object = try writtenObject(table, note.key) else {
                // A row without an earlier record: the whole row is new.
                var insertion = note
                insertion.event = .insert
                return try take(insertion, &clock)
            }
            let track = try self.track(object, table, key: note.key, isFresh: false)
            if !table.isMapped { track.key = note.key }
            let time = self.time(for: track, note.time, togglesLife: false, &clock)
            for column in ColumnMask.columns(of: note.mask) {
                track.changedBefore[column] = track.changed[column]
                track.changed[column] = time
                if !track.detached.isEmpty { track.detached[column] = nil }
                if !table.clearableColumns.contains(column) { examined[table.id]?[object]?.isWritten = true }
            }
        case .review: try review(note, &clock)
        case .delete:
            guard let object = try self.object(table, note.key) else { return }
            examined[table.id]?[object] = nil
            try delete(object, table, note.key, at: note.time, beforeImage: note.sequence, &clock)
        case .examine:
            guard let object = try self.object(table, note.key) else { return }
            examined[table.id, default: [:]][object] = Examination(
                sequence: note.sequence, time: note.time, key: note.key,
                changed: tracks[table.id]?[object]?.changed ?? ColumnTimes(),
                isOfAnyStatement: note.mask == NondeterministicDefaults.mask)
        case .reference:
            guard let object = try writtenObject(table, note.key) else { return }
            let track = try self.track(object, table, key: note.key, isFresh: false)
            let column = Int(note.mask)
            guard column < table.columns.count else { return }
            track.references.append(
                ReferenceNote(
                    column: column, time: note.time, former: try portable(note.value, table.columns[column])))
        case .rekey:
            guard let object = try self.object(table, [note.value]) else { return }
            try displaceHolder(of: note.key, table, unlessIts: object, &clock)
            if let known = try self.object(table, note.key), known != object {
                recordTakenKey(note, from: known)
            } else {
                recordTakenKey(note, from: nil)
            }
            keys[table.id, default: [:]][note.value] = nil
            freedKeys[table.id, default: []].insert(note.value)
            keys[table.id, default: [:]][note.key[0]] = (object, false)
            freedKeys[table.id]?.remove(note.key[0])
            upcomingKeys[table.id]?[note.key[0]] = nil
            let track = try self.track(object, table, key: note.key, isFresh: false)
            track.key = note.key
            track.formerKeys.append(note.value)
            // Rows left behind by the change are written at this time.
            track.lastTime = max(track.lastTime, note.time)
        }
    }

    /// The time of an event. An object deleted or revived twice within a millisecond needs a later time.
    func time(
        for track: Track, _ time: HybridTime, togglesLife: Bool, _ clock: inout HybridClock
    ) -> HybridTime {
        let assigned = togglesLife && time <= track.lastTime ? clock.tick() : time
        track.lastTime = max(track.lastTime, assigned)
        return assigned
    }

    mutating func track(
        _ object: ObjectID, _ table: TrackedTable, key: [FieldValue], isFresh: Bool
    ) throws -> Track {
        if let known = tracks[table.id]?[object] { return known }
        let track = Track(object, isFresh: isFresh, key: key)
        tracks[table.id, default: [:]][object] = track
        return track
    }

    mutating func delete(
        _ object: ObjectID, _ table: TrackedTable, _ key: [FieldValue], at time: HybridTime, beforeImage: Int64,
        _ clock: inout HybridClock
    ) throws {
        let track = try self.track(object, table, key: key, isFresh: false)
        if track.isDeleted { return }
        if !track.isFresh, track.isUntouched, table.referenceColumns.isEmpty {
            // Nothing of the row must be interpreted now.
            let deletion = NotedDeletion(
                time: self.time(for: track, time, togglesLife: true, &clock), sequence: beforeImage)
            if table.isMapped { keys[table.id, default: [:]][key[0]] = (object, true) }
            track.deletion = deletion
            track.isDeleted = true
            return
        }
        var old = try access.reader(of: table.id).readOld(beforeImage) ?? [:]
        try translateOldRow(&old, of: track, table)
        if !table.isMapped, table.derivedID(of: old) != object {
            // The object is identified by the keys at that time, as found by `derivedObject`.
            let values = identities[table.id]?[object]
            for (place, column) in table.keyColumnIDs.enumerated() where table.columns[column].reference != nil {
                old[column] = try values?[place] ?? formerPortable(key[place], table.columns[column])
            }
        }
        let deletion = self.time(for: track, time, togglesLife: true, &clock)
        if table.isMapped { keys[table.id, default: [:]][key[0]] = (object, true) }
        if track.isFresh {
            // Made and unmade within a flush: nobody needs to hear of the object.
            tracks[table.id]?[object] = nil
            unmade.insert(object)
            // Rows referring by the key may remain, and a new row may get the key.
            if table.hasUncheckedReferences || isPartOfKeys(table) {
                unmadeKeys[table.id, default: []] += (track.formerKeys + [key[0]]).map { ($0, object, deletion) }
            }
            return
        }
        finish(track, at: deletion, beforeImage: old)
    }

    /// Converts the references of a row about to be deleted to portable values. Values never written are not changed by
    /// the deletion.
    mutating func translateOldRow(_ old: inout ColumnValues, of track: Track, _ table: TrackedTable) throws {
        for column in table.columns where column.reference != nil {
            guard let value = old[column.id] else { continue }
            let isKey = table.keyColumnIDs.contains(column.id)
            let isAsBefore = track.insertedAt == nil && track.changed[column.id] == nil && !isKey
            old[column.id] = try isAsBefore ? formerPortable(value, column) : portable(value, column)
        }
    }

    /// True if rows of further tables are identified by references to the table.
    private func isPartOfKeys(_ table: TrackedTable) -> Bool {
        table.referringColumns.contains { registry[$0.table].keyColumnIDs.contains($0.column) }
    }

    /// Completes an object's operations by its deletion.
    func finish(_ track: Track, at deletion: HybridTime, beforeImage old: ColumnValues) {
        track.done += operations(of: track, row: old)
        track.done.append(CapturedOperation(kind: .delete, time: deletion, values: [:], beforeImage: old))
        track.insertedAt = nil
        track.changed = ColumnTimes()
        track.references = []
        track.reviewed.columns = []
        track.isDeleted = true
    }

    /// Handles a row possibly written while triggers were missing.
    private mutating func review(_ note: Note, _ clock: inout HybridClock) throws {
        let table = note.table
        guard let object = try writtenObject(table, note.key), try hasRow(object, table) else {
            // The key's former object is gone: the whole row is new.
            var insertion = note
            insertion.event = .insert
            return try take(insertion, &clock)
        }
        let track = try self.track(object, table, key: note.key, isFresh: false)
        if !table.isMapped { track.key = note.key }
        track.reviewed.columns.formUnion(ColumnMask.columns(of: note.mask))
        track.reviewed.time = note.time
    }

    private func hasRow(_ object: ObjectID, _ table: TrackedTable) throws -> Bool {
        if let track = tracks[table.id]?[object] { return !track.isDeleted }
        return try access.objects(of: table.id).load(object).shown.hasRow
    }

    /// True if a known object's row went with its table, so earlier writes to the row are indistinguishable
    /// (`UnseenWrites`).
    func isLeftBehind(_ object: ObjectID, _ table: TrackedTable) throws -> Bool {
        let state = try access.objects(of: table.id).load(object)
        return state.isStored && state.registers.inserted == nil && state.registers.newest != nil
    }

    /// The operations of a track so far, with the values of `row`.
    func operations(of track: Track, row: ColumnValues) -> [CapturedOperation] {
        if let inserted = track.insertedAt {
            let time = max(inserted, track.changed.latest ?? inserted)
            return [CapturedOperation(kind: .insert, time: time, values: row, beforeImage: nil)]
        }
        var operations = track.changed.byTime.map { time, columns in
            var values: ColumnValues = [:]
            for column in columns { if let value = row[column] { values[column] = value } }
            return CapturedOperation(kind: .update, time: time, values: values, beforeImage: nil)
        }
        let reviewed = row.filter { track.reviewed.columns.contains($0.key) && track.changed[$0.key] == nil }
        if !reviewed.isEmpty {
            operations.append(
                CapturedOperation(
                    kind: .update, time: track.reviewed.time, values: reviewed, beforeImage: nil, isReview: true))
        }
        return operations
    }

    /// Settles a displacement candidate: a row gone without a DELETE record was displaced by OR REPLACE.
    mutating func settle(
        _ object: ObjectID, _ examination: Examination, _ table: TrackedTable, _ clock: inout HybridClock
    ) throws {
        if tracks[table.id]?[object]?.isDeleted ?? false { return }
        let key = tracks[table.id]?[object]?.key ?? examination.key
        let isThere = try access.reader(of: table.id).read(key) != nil
        let isItsOwn = try !table.isMapped || self.object(table, key) == object
        if isThere && isItsOwn { return }
        if try isLeftBehind(object, table) { return }
        try displace(object, examination, table, key, &clock)
    }

    /// Records a row's deletion by OR REPLACE. The row's values are as of the examination: displacing a further row may
    /// have cleared references of this row.
    mutating func displace(
        _ object: ObjectID, _ examination: Examination, _ table: TrackedTable, _ key: [FieldValue],
        _ clock: inout HybridClock
    ) throws {
        tracks[table.id]?[object]?.changed = examination.changed
        try delete(object, table, key, at: examination.time, beforeImage: examination.sequence, &clock)
        examined[table.id]?[object] = nil
    }
}
