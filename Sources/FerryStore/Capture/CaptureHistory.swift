import FerryCore
import FerryMerge

/// The notes of one flush, gathered per object.
struct CaptureHistory {
    let access: StoreAccess
    var connection: SQLConnection { access.connection }
    var registry: Registry { access.registry }

    /// What rows meant by a key before a row took it: a reference, or the plain value.
    struct TakenKey {
        var meaning: FieldValue
        var time: HybridTime
    }

    struct ReferenceNote {
        var column: Int
        var time: HybridTime
        var former: FieldValue
    }

    /// A row that may have been displaced.
    struct Examination {
        var sequence: Int64
        var time: HybridTime
        var key: [FieldValue]
        /// What had changed of the object until then: its old row has these values. What changed later did so in the
        /// statement that displaced it, or after one that did not.
        var changed: ColumnTimes
        /// Whether any statement since may have displaced it (`UnforeseenDefaults`).
        var isOfAnyStatement: Bool
        /// Whether it changed later in another way than a foreign key's action changes it, so that it was there.
        var isWritten = false

        /// Whether a row that is inserted under its key takes the place of one that was displaced before. Where any statement
        /// may have done so, it is more likely that OR REPLACE put the new row in place of this one.
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
    /// Mapped keys as of the note being read, where they differ from the store's: the object, or one that is gone.
    var keys: [Int: KeyHolders] = [:]
    /// Mapped keys as of the end of the last flush. What this one changes of them stands in `keys` and `freedKeys`.
    let formerOwners: FormerOwners
    /// Keys that belong to nobody any more (their object has another key now).
    var freedKeys: [Int: Set<FieldValue>] = [:]
    /// Mapped keys that a later note gives to an object: ON UPDATE CASCADE notes the children's change before the
    /// parent's, so they mention a key that nobody has yet.
    var upcomingKeys: [Int: [FieldValue: FieldValue]] = [:]
    /// Objects that were made and unmade within this flush: nobody knows of them.
    var unmade: Set<ObjectID> = []
    /// The keys that they had, and when they were unmade: in tables to which references lead that are unchecked, or of keys.
    var unmadeKeys: [Int: [(key: FieldValue, object: ObjectID, time: HybridTime)]] = [:]
    /// Objects that this flush reserved a key for.
    var reserving: Set<ObjectID> = []
    /// The values from which objects that are known by references are derived.
    var identities: [Int: [ObjectID: [FieldValue]]] = [:]
    /// Objects that are referred to by a key that no row has.
    var reservations: [(table: Int, object: ObjectID, key: FieldValue)] = []
    /// Keys that rows took in this flush and by which rows referred to something that had no row: in tables to which
    /// unchecked references lead.
    var takenKeys: [Int: [FieldValue: TakenKey]] = [:]
    /// Keys that nobody has any more though rows refer to them, and what those rows mean by them.
    var lostKeys: [Int: [FieldValue: FieldValue]] = [:]
    /// Rows that belong to other objects since their own were given other ones.
    var leftRows: [LeftRow] = []
    var minted: UInt32 = 0
    let mintedPrefix: (high: UInt64, low: UInt64)
    private(set) var rowsWithoutKey = 0
    private(set) var keylessTables: Set<Int> = []
    /// The tables with old rows of the notes that were read.
    private(set) var tablesWithOldRows: Set<Int> = []

    init(_ access: StoreAccess) {
        self.access = access
        formerOwners = FormerOwners(access)
        // 48 bits of time, 48 random bits per flush, then a count: IDs of one flush are neighbours, in the state and
        // in the log, where they compress.
        let milliseconds = UInt64(bitPattern: access.clock.milliseconds()) & 0xffff_ffff_ffff
        let bits = access.random.next()
        mintedPrefix = (milliseconds << 16 | bits >> 48, (bits & 0xffff_ffff) << 32)
    }

    // MARK: Reading the notes

    mutating func read(through end: Int64, _ clock: inout HybridClock) throws {
        let slots = (0..<registry.keyWidth).map { "k\($0)" }.joined(separator: ", ")
        var notes: [Note] = []
        var hasRekeys = false
        var last: TrackedTable?
        // Notes are decoded first: what they lead to runs statements of its own.
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
            case .delete, .examine: tablesWithOldRows.insert(number)
            case .rekey: hasRekeys = hasRekeys || table.isLocal
            case .insert, .update, .reference, .review: break
            }
            // Notes of a dropped table say nothing. Their old rows go with them.
            if !table.isLocal { return }
            // Of an update that changed nothing there is nothing to say.
            if event == .update, Int32(truncatingIfNeeded: row.integer(3)) == 0 { return }
            let key = (0..<table.keyColumns.count).map { row.value(6 + Int32($0)) }
            if key.contains(.null) {
                if event == .insert { rowsWithoutKey += 1 }
                if event != .delete { keylessTables.insert(number) }
                return
            }
            // A row that the former key cannot tell is one of the next generation alone (`GenerationChange`).
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
            // By their IDs: who holds the list while one is taken off makes a copy of it.
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
                // A row that nothing was noted of before: all of it is news.
                var insertion = note
                insertion.event = .insert
                return try take(insertion, &clock)
            }
            let track = try self.track(object, table, key: note.key, isFresh: false)
            if !table.isMapped { track.key = note.key }
            let time = self.time(for: track, note.time, togglesLife: false, &clock)
            for column in CaptureTriggers.columns(of: note.mask) {
                track.changedBefore[column] = track.changed[column]
                track.changed[column] = time
                if !track.detached.isEmpty { track.detached[column] = nil }
                if !table.clearableColumns.contains(column) { examined[table.id]?[object]?.isWritten = true }
            }
        case .review: try review(note, &clock)
        case .delete:
            guard let object = try self.object(table, note.key) else { return }
            examined[table.id]?[object] = nil
            try delete(object, table, note.key, at: note.time, oldRow: note.sequence, &clock)
        case .examine:
            guard let object = try self.object(table, note.key) else { return }
            examined[table.id, default: [:]][object] = Examination(
                sequence: note.sequence, time: note.time, key: note.key,
                changed: tracks[table.id]?[object]?.changed ?? ColumnTimes(),
                isOfAnyStatement: note.mask == UnforeseenDefaults.mask)
        case .reference:
            guard let object = try writtenObject(table, note.key) else { return }
            let track = try self.track(object, table, key: note.key, isFresh: false)
            let column = Int(note.mask)
            guard column < table.columns.count else { return }
            track.references.append(
                ReferenceNote(
                    column: column, time: note.time, former: try travelling(note.value, table.columns[column])))
        case .rekey:
            guard let object = try self.object(table, [note.value]) else { return }
            try displaceHolder(of: note.key, table, unlessIts: object, &clock)
            if let known = try self.object(table, note.key), known != object {
                noteTakenKey(note, from: known)
            } else {
                noteTakenKey(note, from: nil)
            }
            keys[table.id, default: [:]][note.value] = nil
            freedKeys[table.id, default: []].insert(note.value)
            keys[table.id, default: [:]][note.key[0]] = (object, false)
            freedKeys[table.id]?.remove(note.key[0])
            upcomingKeys[table.id]?[note.key[0]] = nil
            let track = try self.track(object, table, key: note.key, isFresh: false)
            track.key = note.key
            track.formerKeys.append(note.value)
            // Rows that are left behind by the change are written at that time.
            track.lastTime = max(track.lastTime, note.time)
        }
    }

    /// The time of an event: an object that dies or comes back within one millisecond needs a later one.
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
        _ object: ObjectID, _ table: TrackedTable, _ key: [FieldValue], at time: HybridTime, oldRow: Int64,
        _ clock: inout HybridClock
    ) throws {
        let track = try self.track(object, table, key: key, isFresh: false)
        if track.isDeleted { return }
        if !track.isFresh, track.isUntouched, table.referenceColumns.isEmpty {
            // Nothing of its row has to be told now.
            let deletion = NotedDeletion(
                time: self.time(for: track, time, togglesLife: true, &clock), sequence: oldRow)
            if table.isMapped { keys[table.id, default: [:]][key[0]] = (object, true) }
            track.deletion = deletion
            track.isDeleted = true
            return
        }
        var old = try access.reader(of: table.id).readOld(oldRow) ?? [:]
        try translateOldRow(&old, of: track, table)
        if !table.isMapped, table.derivedID(of: old) != object {
            // Known under the keys of then, as `derivedObject` found it.
            for (place, column) in table.keyColumnIDs.enumerated() where table.columns[column].reference != nil {
                old[column] = try formerTravelling(key[place], table.columns[column])
            }
        }
        let deletion = self.time(for: track, time, togglesLife: true, &clock)
        if table.isMapped { keys[table.id, default: [:]][key[0]] = (object, true) }
        if track.isFresh {
            // Made and unmade within one flush: nobody needs to hear of it.
            tracks[table.id]?[object] = nil
            unmade.insert(object)
            // Rows that refer by its key may be left, and another row may get it.
            if table.hasUncheckedReferences || isPartOfKeys(table) {
                unmadeKeys[table.id, default: []] += (track.formerKeys + [key[0]]).map { ($0, object, deletion) }
            }
            return
        }
        finish(track, at: deletion, oldRow: old)
    }

    /// Gives a row that is about to be deleted its references as they travel. What the row never said does not become news
    /// by its deletion.
    mutating func translateOldRow(_ old: inout FieldValues, of track: Track, _ table: TrackedTable) throws {
        for column in table.columns where column.reference != nil {
            guard let value = old[column.id] else { continue }
            let isKey = table.keyColumnIDs.contains(column.id)
            let isAsBefore = track.insertedAt == nil && track.changed[column.id] == nil && !isKey
            old[column.id] = try isAsBefore ? formerTravelling(value, column) : travelling(value, column)
        }
    }

    /// Whether rows of other tables are known by references to a table.
    private func isPartOfKeys(_ table: TrackedTable) -> Bool {
        table.referringColumns.contains { registry[$0.table].keyColumnIDs.contains($0.column) }
    }

    /// Ends what happened to an object by its deletion.
    func finish(_ track: Track, at deletion: HybridTime, oldRow old: FieldValues) {
        track.done += operations(of: track, row: old)
        track.done.append(CapturedOperation(kind: .delete, time: deletion, values: [:], oldRow: old))
        track.insertedAt = nil
        track.changed = ColumnTimes()
        track.references = []
        track.reviewed.columns = []
        track.isDeleted = true
    }

    /// A row that may have been written while no trigger stood there.
    private mutating func review(_ note: Note, _ clock: inout HybridClock) throws {
        let table = note.table
        guard let object = try writtenObject(table, note.key), try hasRow(object, table) else {
            // The object that had the key is gone: all of the row is news.
            var insertion = note
            insertion.event = .insert
            return try take(insertion, &clock)
        }
        let track = try self.track(object, table, key: note.key, isFresh: false)
        if !table.isMapped { track.key = note.key }
        track.reviewed.columns.formUnion(CaptureTriggers.columns(of: note.mask))
        track.reviewed.time = note.time
    }

    private func hasRow(_ object: ObjectID, _ table: TrackedTable) throws -> Bool {
        if let track = tracks[table.id]?[object] { return !track.isDeleted }
        return try access.objects(of: table.id).load(object).shown.hasRow
    }

    /// Whether a known object's row went with its table, so that nothing can be told of what was written to it before
    /// (`UnseenWrites`).
    func isLeftBehind(_ object: ObjectID, _ table: TrackedTable) throws -> Bool {
        let state = try access.objects(of: table.id).load(object)
        return state.isStored && state.registers.inserted == nil && state.registers.newest != nil
    }

    /// The operations that a track amounts to so far, with the values of `row`.
    func operations(of track: Track, row: FieldValues) -> [CapturedOperation] {
        if let inserted = track.insertedAt {
            let time = max(inserted, track.changed.latest ?? inserted)
            return [CapturedOperation(kind: .insert, time: time, values: row, oldRow: nil)]
        }
        var operations = track.changed.byTime.map { time, columns in
            var values: FieldValues = [:]
            for column in columns { if let value = row[column] { values[column] = value } }
            return CapturedOperation(kind: .update, time: time, values: values, oldRow: nil)
        }
        let reviewed = row.filter { track.reviewed.columns.contains($0.key) && track.changed[$0.key] == nil }
        if !reviewed.isEmpty {
            operations.append(
                CapturedOperation(
                    kind: .update, time: track.reviewed.time, values: reviewed, oldRow: nil, isReview: true))
        }
        return operations
    }

    /// A row that was examined and is gone without a DELETE note was displaced by OR REPLACE.
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

    /// Takes down that OR REPLACE deleted a row, which then has the values that it had when it was examined: that of
    /// another row which it displaced may have cleared references of this one.
    mutating func displace(
        _ object: ObjectID, _ examination: Examination, _ table: TrackedTable, _ key: [FieldValue],
        _ clock: inout HybridClock
    ) throws {
        tracks[table.id]?[object]?.changed = examination.changed
        try delete(object, table, key, at: examination.time, oldRow: examination.sequence, &clock)
        examined[table.id]?[object] = nil
    }
}
