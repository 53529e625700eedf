import FerryCore
import FerryMerge
import FerrySQL
import FerrySchema

/// The pending changes of a flush, gathered by object.
///
/// Keys are interpreted as of the pending change being read: `ledger` has the keys that the flush touched, and
/// `formerOwners` the owners of all others.
///
/// Invariants:
/// - An object has at most one track. The track of an object made and unmade within the flush is removed, and the ledger
///   has the object as unmade.
/// - Every object in `examined` has a before-image under the sequence of its examination. `read` leaves `examined` empty.
/// - `clock` is later than every time assigned so far.
/// - `identities` has the key values of objects identified by references, as last interpreted.
struct CaptureHistory {
    let access: StoreAccess
    var connection: SQLConnection { access.connection }
    var registry: Registry { access.registry }

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

    typealias Note = PendingLog.Change

    var tracks: [Int: [ObjectID: Track]] = [:]
    var examined: [Int: [ObjectID: Examination]] = [:]
    /// The first keys of new rows whose key changed before the record of their insertion, by table.
    private var movedBefore: [Int: Set<[FieldValue]>] = [:]
    var ledger = KeyLedger()
    /// Advanced past every assigned time.
    var clock: HybridClock
    /// Owners of mapped keys at the end of the last flush.
    let formerOwners: FormerOwners
    /// The key values of objects identified by references.
    var identities: [Int: [ObjectID: [FieldValue]]] = [:]
    /// Rows left to different objects, because their own objects got new rows.
    var leftRows: [LeftRow] = []
    private var successors: ColumnSuccessors
    var minted: UInt32 = 0
    let mintedPrefix: (high: UInt64, low: UInt64)
    /// - Parameter mintedPrefix: the first bytes of this flush's IDs; the first ID gets the number 1.
    init(_ access: StoreAccess, _ clock: HybridClock, minting mintedPrefix: (high: UInt64, low: UInt64)) {
        self.access = access
        self.clock = clock
        self.mintedPrefix = mintedPrefix
        formerOwners = FormerOwners(access)
        successors = ColumnSuccessors(access.connection)
    }

    /// Makes the first bytes of a flush's IDs: 48 bits of time, and 48 random bits. A count follows. So IDs of a flush are
    /// neighbors, in the state and in the log, where they compress.
    static func mintedPrefix(_ access: StoreAccess) -> (high: UInt64, low: UInt64) {
        let milliseconds = UInt64(bitPattern: access.clock.milliseconds()) & 0xffff_ffff_ffff
        let bits = access.random.next()
        return (milliseconds << 16 | bits >> 48, (bits & 0xffff_ffff) << 32)
    }

    // MARK: Reading pending changes

    /// Gathers the pending changes by object.
    mutating func read(_ log: PendingLog) throws {
        for note in log.changes where note.event == .rekey {
            ledger.announce(note.key[0], in: note.table.id, for: note.value)
        }
        for note in log.changes { try take(note) }
        for number in Array(examined.keys) {
            // Iterates over IDs: holding the list while removing an entry would copy the list.
            for object in Array((examined[number] ?? [:]).keys) {
                guard let examination = examined[number]?[object] else { continue }
                try settle(object, examination, registry[number])
            }
        }
        examined = [:]
    }

    mutating func take(_ note: Note) throws {
        let table = note.table
        switch note.event {
        case .insert:
            if movedBefore[table.id]?.remove(note.key) != nil { return }
            let object = try insertedObject(note)
            let track = try self.track(object.id, table, key: note.key, isFresh: object.isFresh)
            let time = self.time(for: track, note.time, togglesLife: track.isDeleted)
            track.key = note.key
            track.isDeleted = false
            track.insertedAt = time
        case .update:
            guard let object = try writtenObject(table, note.key) else {
                // A row without an earlier record: the whole row is new.
                var insertion = note
                insertion.event = .insert
                return try take(insertion)
            }
            let track = try self.track(object, table, key: note.key, isFresh: false)
            if !table.isMapped { track.key = note.key }
            let time = self.time(for: track, note.time, togglesLife: false)
            for column in ColumnMask.columns(of: note.mask) { write(column, track, time, object, table) }
            for column in try successors.of(ColumnMask.columns(of: note.mask), table) {
                write(column, track, time, object, table)
            }
        case .review: try review(note)
        case .delete:
            guard let object = try self.object(table, note.key) else { return }
            examined[table.id]?[object] = nil
            try delete(object, table, note.key, at: note.time, beforeImage: note.sequence)
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
            guard table.columns.indices.contains(column) else { return }
            track.references.append(
                ReferenceNote(
                    column: column, time: note.time, former: try portable(note.value, table.columns[column])))
        case .rekey:
            guard let object = try self.object(table, [note.value]) else {
                // A trigger that the app made later runs before Ferry's, and has moved the new row. The record of the insertion follows.
                movedBefore[table.id, default: []].insert([note.value])
                ledger.fulfill(note.key[0], in: table.id)
                var insertion = note
                insertion.event = .insert
                return try take(insertion)
            }
            try displaceHolder(of: note.key, table, unlessIts: object)
            if let known = try self.object(table, note.key), known != object {
                recordTakenKey(note, from: known)
            } else {
                recordTakenKey(note, from: nil)
            }
            ledger.free(note.value, in: table.id)
            ledger.hold(note.key[0], in: table.id, by: object)
            ledger.fulfill(note.key[0], in: table.id)
            let track = try self.track(object, table, key: note.key, isFresh: false)
            track.key = note.key
            track.formerKeys.append(note.value)
            // Rows left behind by the change are written at this time.
            track.lastTime = max(track.lastTime, note.time)
        }
    }

    /// Records that a column was written.
    private mutating func write(
        _ column: Int, _ track: Track, _ time: HybridTime, _ object: ObjectID, _ table: TrackedTable
    ) {
        track.changedBefore[column] = track.changed[column]
        track.changed[column] = time
        if !track.detached.isEmpty { track.detached[column] = nil }
        if !table.clearableColumns.contains(column) { examined[table.id]?[object]?.isWritten = true }
    }

    /// The time of an event. An object deleted or revived twice within a millisecond needs a later time.
    mutating func time(for track: Track, _ time: HybridTime, togglesLife: Bool) -> HybridTime {
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

    /// Records a row's deletion.
    /// - Parameters:
    ///   - key: the row's key.
    ///   - beforeImage: the sequence of the row's before-image.
    mutating func delete(
        _ object: ObjectID, _ table: TrackedTable, _ key: [FieldValue], at time: HybridTime, beforeImage: Int64
    ) throws {
        let track = try self.track(object, table, key: key, isFresh: false)
        if track.isDeleted { return }
        if !track.isFresh, track.isUntouched, table.referenceColumns.isEmpty {
            // Nothing of the row must be interpreted now.
            let deletion = NotedDeletion(
                time: self.time(for: track, time, togglesLife: true), sequence: beforeImage)
            if table.isMapped { ledger.hold(key[0], in: table.id, by: object, isGone: true) }
            track.deletion = deletion
            track.isDeleted = true
            return
        }
        let image = try access.reader(of: table.id).readOld(beforeImage)
        var old = image ?? [:]
        try translateOldRow(&old, of: track, table)
        if !table.isMapped, table.derivedID(of: old) != object {
            // The object is identified by the keys at that time, as found by `derivedObject`.
            let values = identities[table.id]?[object]
            for (place, column) in table.keyColumnIDs.enumerated() where table.columns[column].reference != nil {
                old[column] = try values?[place] ?? formerPortable(key[place], table.columns[column])
            }
        }
        let deletion = self.time(for: track, time, togglesLife: true)
        if table.isMapped { ledger.hold(key[0], in: table.id, by: object, isGone: true) }
        if track.isFresh {
            // Made and unmade within a flush: nobody needs to hear of the object.
            tracks[table.id]?[object] = nil
            ledger.unmake(object)
            // Rows referring by the key may remain, and a new row may get the key.
            if table.hasUncheckedReferences || isPartOfKeys(table) {
                ledger.recordUnmade(track.formerKeys + [key[0]], in: table.id, of: object, at: deletion)
            }
            return
        }
        // Nobody knows what was written to a row that was deleted unseen: the deletion is all there is to tell.
        if image == nil, table.localColumns.contains(where: { old[$0.id] == nil }) { track.forgetWrites() }
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
    private mutating func review(_ note: Note) throws {
        let table = note.table
        guard let object = try writtenObject(table, note.key), try hasRow(object, table) else {
            // The key's former object is gone: the whole row is new.
            var insertion = note
            insertion.event = .insert
            return try take(insertion)
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
        _ object: ObjectID, _ examination: Examination, _ table: TrackedTable
    ) throws {
        if tracks[table.id]?[object]?.isDeleted ?? false { return }
        let key = tracks[table.id]?[object]?.key ?? examination.key
        let isThere = try access.reader(of: table.id).read(key) != nil
        let isItsOwn = try !table.isMapped || self.object(table, key) == object
        if isThere && isItsOwn { return }
        if try isLeftBehind(object, table) { return }
        try displace(object, examination, table, key)
    }

    /// Records a row's deletion by OR REPLACE. The row's values are as of the examination: displacing a further row may
    /// have cleared references of this row.
    mutating func displace(
        _ object: ObjectID, _ examination: Examination, _ table: TrackedTable, _ key: [FieldValue]
    ) throws {
        tracks[table.id]?[object]?.changed = examination.changed
        try delete(object, table, key, at: examination.time, beforeImage: examination.sequence)
        examined[table.id]?[object] = nil
    }
}
