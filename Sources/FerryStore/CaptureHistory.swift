import FerryCore
import FerryMerge

/// The notes of one flush, gathered per object.
struct CaptureHistory {
    let access: StoreAccess
    private var connection: SQLConnection { access.connection }
    private var registry: Registry { access.registry }

    /// What happened to one object.
    final class Track {
        let object: ObjectID
        /// Minted in this flush, so that the store has no state for it.
        let isFresh: Bool
        var key: [FieldValue]
        /// Operations that are complete: those before a deletion, and deletions.
        var done: [CapturedOperation] = []
        var insertedAt: HybridTime?
        /// The time of the last change of each column.
        var changed: [Int: HybridTime] = [:]
        /// Keys that it had in this flush before the present one.
        var formerKeys: [FieldValue] = []
        /// The time of the change before the last one.
        var changedBefore: [Int: HybridTime] = [:]
        var references: [ReferenceNote] = []
        /// Columns whose row refers by a key that the object referred to has no more, and that object.
        var detached: FieldValues = [:]
        var isDeleted = false
        var lastTime = HybridTime.zero

        /// Whether its key may be another than the state has; a plain update leaves it alone.
        var mayHaveMoved: Bool { isDeleted || insertedAt != nil || !formerKeys.isEmpty }

        init(_ object: ObjectID, isFresh: Bool, key: [FieldValue]) {
            self.object = object
            self.isFresh = isFresh
            self.key = key
        }
    }

    struct ReferenceNote {
        var column: Int
        var time: HybridTime
        var former: FieldValue
    }

    /// A row that may have been displaced.
    private struct Examination {
        var sequence: Int64
        var time: HybridTime
        var key: [FieldValue]
    }

    private struct Note {
        var sequence: Int64
        var table: TrackedTable
        var event: PendingEvent
        var mask: Int64
        var time: HybridTime
        var value: FieldValue
        var key: [FieldValue]
    }

    private var tracks: [Int: [ObjectID: Track]] = [:]
    private var examined: [Int: [ObjectID: Examination]] = [:]
    /// Mapped keys as of the note being read, where they differ from the store's: the object, or one that is gone.
    private var keys: [Int: [FieldValue: (object: ObjectID, isGone: Bool)]] = [:]
    /// Keys that belong to nobody any more (their object has another key now).
    private var freedKeys: [Int: Set<FieldValue>] = [:]
    /// Mapped keys that a later note gives to an object: ON UPDATE CASCADE notes the children's change before the
    /// parent's, so they mention a key that nobody has yet.
    private var upcomingKeys: [Int: [FieldValue: FieldValue]] = [:]
    /// Objects that were made and unmade within this flush: nobody knows of them.
    private var unmade: Set<ObjectID> = []
    /// Objects that are referred to by a key that no row has.
    private var reservations: [(table: Int, object: ObjectID, key: FieldValue)] = []
    private var minted: UInt32 = 0
    private let mintedPrefix: (high: UInt64, low: UInt64)
    private(set) var rowsWithoutKey = 0

    init(_ access: StoreAccess) {
        self.access = access
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
        // Notes are decoded first: what they lead to runs statements of its own.
        try connection.forEachRow(
            """
            SELECT sequence, "table", event, mask, at, value, \(slots) FROM ferry_pending
            WHERE sequence <= ? ORDER BY sequence
            """, [.integer(end)]
        ) { row in
            guard let table = registry.tables[row.int(1)], table.isLocal,
                let event = PendingEvent(rawValue: row.int(2))
            else { return }
            let key = (0..<table.keyColumns.count).map { row.value(6 + Int32($0)) }
            if key.contains(.null) {
                if event == .insert { rowsWithoutKey += 1 }
                return
            }
            let time: HybridTime
            if row.isNull(4) {
                time = .unknown
            } else {
                let captured = Int64(((row.double(4) - 2_440_587.5) * 86_400_000).rounded())
                time = clock.advance(toMilliseconds: access.clock.milliseconds(captured: captured))
            }
            notes.append(
                Note(
                    sequence: row.integer(0), table: table, event: event, mask: row.integer(3), time: time,
                    value: row.value(5), key: key))
        }
        for note in notes where note.event == .rekey {
            upcomingKeys[note.table.id, default: [:]][note.key[0]] = note.value
        }
        for note in notes { try take(note, &clock) }
        for (number, objects) in examined {
            for (object, examination) in objects { try settle(object, examination, registry[number], &clock) }
        }
    }

    private mutating func take(_ note: Note, _ clock: inout HybridClock) throws {
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
            guard let object = try self.object(table, note.key) else {
                // A row that nothing was noted of before: all of it is news.
                var insertion = note
                insertion.event = .insert
                return try take(insertion, &clock)
            }
            examined[table.id]?[object] = nil
            let track = try self.track(object, table, key: note.key, isFresh: false)
            track.key = note.key
            let time = self.time(for: track, note.time, togglesLife: false, &clock)
            let base = Int(note.mask >> CaptureTriggers.groupSize) * CaptureTriggers.groupSize
            for bit in 0..<CaptureTriggers.groupSize where note.mask >> Int64(bit) & 1 != 0 {
                track.changedBefore[base + bit] = track.changed[base + bit]
                track.changed[base + bit] = time
            }
        case .delete:
            guard let object = try self.object(table, note.key) else { return }
            examined[table.id]?[object] = nil
            try delete(object, table, note.key, at: note.time, oldRow: note.sequence, &clock)
        case .examine:
            guard let object = try self.object(table, note.key) else { return }
            examined[table.id, default: [:]][object] = Examination(
                sequence: note.sequence, time: note.time, key: note.key)
        case .reference:
            guard let object = try self.object(table, note.key) else { return }
            let track = try self.track(object, table, key: note.key, isFresh: false)
            let column = Int(note.mask)
            guard column < table.columns.count else { return }
            track.references.append(
                ReferenceNote(
                    column: column, time: note.time, former: try travelling(note.value, table.columns[column])))
        case .rekey:
            guard let object = try self.object(table, [note.value]) else { return }
            try displaceHolder(of: note.key, table, unlessIts: object, &clock)
            keys[table.id, default: [:]][note.value] = nil
            freedKeys[table.id, default: []].insert(note.value)
            keys[table.id, default: [:]][note.key[0]] = (object, false)
            freedKeys[table.id]?.remove(note.key[0])
            upcomingKeys[table.id]?[note.key[0]] = nil
            let track = try self.track(object, table, key: note.key, isFresh: false)
            track.key = note.key
            track.formerKeys.append(note.value)
        }
    }

    /// The time of an event: an object that dies or comes back within one millisecond needs a later one.
    private func time(
        for track: Track, _ time: HybridTime, togglesLife: Bool, _ clock: inout HybridClock
    ) -> HybridTime {
        let assigned = togglesLife && time <= track.lastTime ? clock.tick() : time
        track.lastTime = max(track.lastTime, assigned)
        return assigned
    }

    private mutating func track(
        _ object: ObjectID, _ table: TrackedTable, key: [FieldValue], isFresh: Bool
    ) throws -> Track {
        if let known = tracks[table.id]?[object] { return known }
        let track = Track(object, isFresh: isFresh, key: key)
        tracks[table.id, default: [:]][object] = track
        return track
    }

    private mutating func delete(
        _ object: ObjectID, _ table: TrackedTable, _ key: [FieldValue], at time: HybridTime, oldRow: Int64,
        _ clock: inout HybridClock
    ) throws {
        let track = try self.track(object, table, key: key, isFresh: false)
        if track.isDeleted { return }
        var old = try access.reader(of: table.id).readOld(oldRow) ?? [:]
        for column in table.columns where column.reference != nil {
            if let value = old[column.id] { old[column.id] = try travelling(value, column) }
        }
        if !table.isMapped, table.derivedID(table.keyColumnIDs.map { old[$0] ?? .null }) != object {
            // Known under the keys of then, as `derivedObject` found it.
            for (place, column) in table.keyColumnIDs.enumerated() {
                guard let parent = table.columns[column].reference,
                    let known = try access.objects(of: parent).object(forKey: key[place])
                else { continue }
                old[column] = .reference(known)
            }
        }
        let deletion = self.time(for: track, time, togglesLife: true, &clock)
        if table.isMapped { keys[table.id, default: [:]][key[0]] = (object, true) }
        if track.isFresh {
            // Made and unmade within one flush: nobody needs to hear of it.
            tracks[table.id]?[object] = nil
            unmade.insert(object)
            return
        }
        track.done += operations(of: track, row: old)
        track.done.append(CapturedOperation(kind: .delete, time: deletion, values: [:], oldRow: old))
        track.insertedAt = nil
        track.changed = [:]
        track.references = []
        track.isDeleted = true
    }

    /// The operations that a track amounts to so far, with the values of `row`.
    private func operations(of track: Track, row: FieldValues) -> [CapturedOperation] {
        if let inserted = track.insertedAt {
            let time = track.changed.values.reduce(inserted, max)
            return [CapturedOperation(kind: .insert, time: time, values: row, oldRow: nil)]
        }
        let byTime = Dictionary(grouping: track.changed.keys) { track.changed[$0] ?? .zero }
        return byTime.keys.sorted().map { time in
            var values: FieldValues = [:]
            for column in byTime[time] ?? [] where row[column] != nil { values[column] = row[column] }
            return CapturedOperation(kind: .update, time: time, values: values, oldRow: nil)
        }
    }

    /// A row that was examined and is gone without a DELETE note was displaced by OR REPLACE.
    private mutating func settle(
        _ object: ObjectID, _ examination: Examination, _ table: TrackedTable, _ clock: inout HybridClock
    ) throws {
        if tracks[table.id]?[object]?.isDeleted ?? false { return }
        let key = tracks[table.id]?[object]?.key ?? examination.key
        let isThere = try access.reader(of: table.id).read(key) != nil
        let isItsOwn = try !table.isMapped || self.object(table, key) == object
        if isThere && isItsOwn { return }
        try delete(object, table, key, at: examination.time, oldRow: examination.sequence, &clock)
        examined[table.id]?[object] = nil
    }

    // MARK: Keys and objects

    /// The object that a local key belonged to when the note being read was made.
    private mutating func object(_ table: TrackedTable, _ key: [FieldValue]) throws -> ObjectID? {
        if !table.isMapped { return try derivedObject(table, key) }
        if let known = keys[table.id]?[key[0]] { return known.object }
        if freedKeys[table.id]?.contains(key[0]) ?? false { return nil }
        return try access.objects(of: table.id).object(forKey: key[0])
    }

    private mutating func derivedObject(_ table: TrackedTable, _ key: [FieldValue]) throws -> ObjectID {
        let object = table.derivedID(try travellingKey(table, key))
        let mapped = zip(key, table.keyColumnIDs).contains { value, column in
            table.columns[column].reference.map { keys[$0]?[value] != nil } ?? false
        }
        if !mapped || tracks[table.id]?[object] != nil { return object }
        // A key that it refers to has changed hands since, which foreign keys that are off allow: what the row was
        // before is what the store has under the keys of then.
        var former: [FieldValue] = key
        for (place, column) in table.keyColumnIDs.enumerated() {
            guard let parent = table.columns[column].reference else { continue }
            if let known = try access.objects(of: parent).object(forKey: key[place]) {
                former[place] = .reference(known)
            }
        }
        let before = table.derivedID(former)
        let states = access.objects(of: table.id)
        if try !states.load(object).shown.hasRow, try states.load(before).shown.hasRow { return before }
        return object
    }

    /// The object that a key refers to: by ON UPDATE CASCADE a row may mention a key before its object has it.
    private mutating func referredObject(_ table: TrackedTable, _ key: FieldValue) throws -> ObjectID? {
        if let object = try object(table, [key]) { return object }
        guard let former = upcomingKeys[table.id]?[key], former != key else { return nil }
        return try object(table, [former])
    }

    private mutating func travellingKey(_ table: TrackedTable, _ key: [FieldValue]) throws -> [FieldValue] {
        var values = key
        for (place, column) in table.keyColumnIDs.enumerated() {
            values[place] = try travelling(key[place], table.columns[column])
        }
        return values
    }

    /// A value as it travels: a reference for what refers to a mapped table.
    private mutating func travelling(_ value: FieldValue, _ column: TrackedColumn) throws -> FieldValue {
        guard let parent = column.reference else { return value }
        if case .null = value { return value }
        if let object = try referredObject(registry[parent], value), !unmade.contains(object) {
            return .reference(object)
        }
        // A reference to a row that is not there (foreign keys may be off). What gets that key is what it refers to.
        let reserved: ObjectID = access.random.makeID()
        keys[parent, default: [:]][value] = (reserved, false)
        reservations.append((parent, reserved, value))
        return .reference(reserved)
    }

    /// Enters objects that are only referred to so far under the keys by which they are, once all keys are released.
    private mutating func saveReservations() throws {
        for (table, object, key) in reservations where tracks[table]?[object] == nil {
            var state = ObjectState(object: object)
            state.key = [key]
            try access.objects(of: table).save(state)
        }
        reservations = []
    }

    private mutating func insertedObject(
        _ note: Note, _ clock: inout HybridClock
    ) throws -> (id: ObjectID, isFresh: Bool) {
        let table = note.table
        if !table.isMapped {
            let object = table.derivedID(try travellingKey(table, note.key))
            if let examination = examined[table.id]?[object] {
                try delete(object, table, note.key, at: examination.time, oldRow: examination.sequence, &clock)
                examined[table.id]?[object] = nil
            }
            return (object, false)
        }
        try displaceHolder(of: note.key, table, unlessIts: nil, &clock)
        if let known = try self.object(table, note.key), !(keys[table.id]?[note.key[0]]?.isGone ?? false) {
            // OR REPLACE on the key itself, or a key that was referred to before.
            return (known, tracks[table.id]?[known]?.isFresh ?? false)
        }
        let object = try newObject(table, note.key)
        keys[table.id, default: [:]][note.key[0]] = (object.id, false)
        freedKeys[table.id]?.remove(note.key[0])
        return object
    }

    /// A key that changes hands was taken from a row that vanished.
    private mutating func displaceHolder(
        of key: [FieldValue], _ table: TrackedTable, unlessIts object: ObjectID?, _ clock: inout HybridClock
    ) throws {
        guard let suspects = examined[table.id], !suspects.isEmpty, let holder = try self.object(table, key),
            holder != object, let examination = suspects[holder]
        else { return }
        try delete(holder, table, key, at: examination.time, oldRow: examination.sequence, &clock)
        examined[table.id]?[holder] = nil
    }

    private mutating func newObject(
        _ table: TrackedTable, _ key: [FieldValue]
    ) throws -> (id: ObjectID, isFresh: Bool) {
        if case .declared(let names) = table.identity, let row = try access.reader(of: table.id).read(key) {
            let values = try names.map { name -> FieldValue in
                guard let column = table.columnID(name), let value = row[column] else { return .null }
                return try travelling(value, table.columns[column])
            }
            for ordinal in 0... {
                let candidate = table.declaredID(values, ordinal: ordinal)
                let track = tracks[table.id]?[candidate]
                if let track, !track.isDeleted { continue }
                let state = try access.objects(of: table.id).load(candidate)
                if track == nil, state.shown.hasRow || (state.registers.inserted == nil && !state.key.isEmpty) {
                    continue
                }
                return (candidate, false)
            }
        }
        minted += 1
        return (ObjectID(high: mintedPrefix.high, low: mintedPrefix.low | UInt64(minted)), true)
    }

    // MARK: Finishing

    /// Reads present values, assigns final times, and writes states and operations.
    mutating func finish(_ clock: inout HybridClock) throws -> (tables: [TableChanges], touched: [TouchedObject]) {
        var tables: [TableChanges] = []
        var touched: [TouchedObject] = []
        try followKeys(&clock)
        for table in registry.tables.values where table.isMapped { try releaseKeys(of: tracks[table.id] ?? [:], table) }
        for table in registry.parentsFirst {
            guard let objects = tracks[table.id], !objects.isEmpty else { continue }
            try saveReservations()
            var writer = CapturedWriter(access, table)
            let reader = access.reader(of: table.id)
            for track in objects.values.sorted(by: { $0.object < $1.object }) {
                var operations = track.done
                var cleared: FieldValues = [:]
                var hasRow = false
                if !track.isDeleted {
                    if var row = try reader.read(track.key) {
                        hasRow = true
                        for column in table.columns where column.reference != nil && track.detached[column.id] == nil {
                            if let value = row[column.id] { row[column.id] = try travelling(value, column) }
                        }
                        row = row.overlaid(with: track.detached)
                        cleared = clearedReferences(track, table, &row).overlaid(with: track.detached)
                        operations += self.operations(of: track, row: row)
                    } else {
                        let time = self.time(for: track, track.lastTime, togglesLife: true, &clock)
                        operations.append(CapturedOperation(kind: .delete, time: time, values: [:], oldRow: nil))
                    }
                }
                let outcome = try writer.write(
                    track.object, isFresh: track.isFresh, key: hasRow ? track.key : [], formerKey: track.key,
                    operations,
                    cleared: cleared, &clock)
                if let outcome { touched.append(outcome) }
            }
            if !writer.changes.isEmpty { tables.append(writer.changes.changes) }
        }
        try saveReservations()
        return (tables, touched)
    }

    /// Where foreign keys are off or deferred, an object can lose its key while rows still refer to that key. Whoever
    /// has the key now is what those rows refer to; where nobody has, they refer to the object still, and the rules
    /// decide what they show.
    private mutating func followKeys(_ clock: inout HybridClock) throws {
        var lookup = ChildLookup(access)
        for table in registry.parentsFirst where table.isMapped && !table.incoming.isEmpty {
            // Columns that refer to it through another table's: no foreign key of the table's own tells of them.
            let isInherited = registry.tables.values.contains { child in
                child.localColumns.contains { column in
                    column.reference == table.id
                        && !child.foreignKeys.contains { $0.parent == table.id && $0.columns.contains(column.id) }
                }
            }
            let moved = (tracks[table.id] ?? [:]).values.filter(\.mayHaveMoved)
            for track in moved.sorted(by: { $0.object < $1.object }) {
                let stored = track.isFresh ? nil : try access.objects(of: table.id).load(track.object).key.first
                for key in Set(track.formerKeys + (stored.map { [$0] } ?? [])).sorted() {
                    guard track.isDeleted || track.key[0] != key,
                        try isInherited || lookup.hasChildren(table, key: [key])
                    else { continue }
                    let owner = keys[table.id]?[key].flatMap {
                        $0.isGone || $0.object == track.object ? nil : $0.object
                    }
                    for child in registry.parentsFirst where child.isLocal {
                        for column in child.localColumns where column.reference == table.id {
                            try follow(key, of: track, to: owner, in: child, column, &clock)
                        }
                    }
                }
            }
        }
    }

    private mutating func follow(
        _ key: FieldValue, of former: Track, to owner: ObjectID?, in child: TrackedTable, _ column: TrackedColumn,
        _ clock: inout HybridClock
    ) throws {
        let rows = try connection.rows(
            "SELECT \(child.keyList) FROM \(quoted(child.name)) WHERE \(quoted(column.name)) = ?", key)
        for rowKey in rows where !rowKey.contains(.null) {
            guard let place = child.keyColumnIDs.firstIndex(of: column.id) else {
                guard let object = try self.object(child, rowKey) else { continue }
                let track = try self.track(object, child, key: rowKey, isFresh: false)
                if track.isDeleted { continue }
                if owner == nil {
                    track.detached[column.id] = .reference(former.object)
                } else if track.insertedAt == nil, track.changed[column.id] == nil {
                    track.changed[column.id] = time(for: track, former.lastTime, togglesLife: false, &clock)
                }
                continue
            }
            // The reference is part of the row's identity.
            var values = try travellingKey(child, rowKey)
            let present = child.derivedID(values)
            values[place] = .reference(former.object)
            let object = child.derivedID(values)
            if tracks[child.id]?[object]?.isDeleted ?? false { continue }
            let isNew = tracks[child.id]?[object] != nil
            guard try isNew || access.objects(of: child.id).load(object).shown.hasRow else { continue }
            let track = try self.track(object, child, key: rowKey, isFresh: false)
            if owner == nil {
                if track.key != rowKey {
                    // The object has a row under the new key already; this one is nobody's.
                    if let refusal = try RowWriter(child, access).delete(key: rowKey) { throw refusal }
                } else {
                    track.detached[column.id] = .reference(former.object)
                }
                continue
            }
            var old = try RowReader(child, connection).read(rowKey) ?? [:]
            for column in child.columns where column.reference != nil {
                if let value = old[column.id] { old[column.id] = try travelling(value, column) }
            }
            old[column.id] = .reference(former.object)
            let time = self.time(for: track, former.lastTime, togglesLife: true, &clock)
            track.done.append(CapturedOperation(kind: .delete, time: time, values: [:], oldRow: old))
            track.isDeleted = true
            let successor = try self.track(present, child, key: rowKey, isFresh: false)
            successor.key = rowKey
            successor.isDeleted = false
            successor.insertedAt = self.time(for: successor, time, togglesLife: true, &clock)
        }
    }

    /// Keys change hands within a flush; no two states may hold one key at any time, so all that move let go first.
    /// Until they are saved under their new keys, references to them are found in `keys`.
    private mutating func releaseKeys(of objects: [ObjectID: Track], _ table: TrackedTable) throws {
        for track in objects.values where !track.isDeleted {
            keys[table.id, default: [:]][track.key[0]] = (track.object, false)
        }
        for track in objects.values where !track.isFresh && track.mayHaveMoved {
            try connection.execute(
                "UPDATE \(table.objectTable) SET k0 = NULL WHERE object = ? OR k0 = ?", .blob(track.object.bytes[...]),
                track.isDeleted ? .null : track.key[0])
        }
    }

    /// What a SET NULL or SET DEFAULT did is derived, not written: the column's last change is taken back where it
    /// cleared a reference to an object that this flush deleted. The row's value becomes the one before, so that it is
    /// what the state holds.
    /// - Returns: the columns whose row shows something else than the state.
    private func clearedReferences(
        _ track: Track, _ table: TrackedTable, _ row: inout FieldValues
    ) -> FieldValues {
        var cleared: FieldValues = [:]
        for (column, notes) in Dictionary(grouping: track.references, by: \.column) {
            guard let last = notes.last, let parent = table.columns[column].reference,
                case .reference(let target) = last.former, tracks[parent]?[target]?.isDeleted ?? false,
                row[column] != last.former
            else { continue }
            row[column] = last.former
            cleared[column] = last.former
            if track.insertedAt != nil { continue }
            track.changed[column] = track.changedBefore[column]
        }
        return cleared
    }
}

/// One operation as captured, with values by column number as they travel.
struct CapturedOperation {
    var kind: Operation.Kind
    var time: HybridTime
    var values: FieldValues
    /// At a deletion: the values that the row had.
    var oldRow: FieldValues?
}
