import FerryCore
import FerryMerge
import FerrySchema

/// The end of a flush: reads present values, assigns final times, and writes states and operations.
extension CaptureHistory {
    /// Reads present values, assigns final times, and writes states and operations.
    /// - Parameter maximumBytes: maximum bytes of values; beyond them `limitExceeded` is thrown.
    mutating func finish(maximumBytes: Int) throws -> (tables: [TableChanges], touched: [TouchedObject]) {
        var valueBytes = 0
        var touched: [TouchedObject] = []
        // Deleted again before anybody knew of them.
        var unknown: [(table: TrackedTable, track: Track)] = []
        var departures: [SplitMembers] = []
        let heldBack = try RetainedRows(access)
        let flush = FlushWriter(access, clock, tracksReferences: !heldBack.isEmpty)
        try followKeys()
        for table in registry.tables.values where table.isMapped { try releaseKeys(of: tracks[table.id] ?? [:], table) }
        for table in registry.parentsFirst {
            guard let objects = tracks[table.id], !objects.isEmpty else { continue }
            try saveReservations()
            let departed = try SplitMembers(access, table, among: objects)
            if !departed.objects.isEmpty { departures.append(departed) }
            var writer = try LocalChangeWriter(
                access, table, notesReferences: flush.tracksReferences, departed: departed.objects)
            let reader = access.reader(of: table.id)
            let references = table.columns.filter { $0.reference != nil }
            var written: [TouchedObject] = []
            for track in objects.values.sorted(by: { $0.object < $1.object }) {
                var operations = try completeOperations(of: track, table)
                var cleared: ColumnValues = [:]
                var present: ColumnValues = [:]
                var hasRow = false
                if !track.isDeleted {
                    if var row = try reader.read(track.key) {
                        hasRow = true
                        for column in references where track.detached[column.id] == nil {
                            if let value = row[column.id] { row[column.id] = try portable(value, column) }
                        }
                        row = row.overlaid(with: track.detached)
                        if !track.references.isEmpty { cleared = try clearedReferences(track, table, &row) }
                        cleared = cleared.overlaid(with: track.detached)
                        operations += self.operations(of: track, row: row)
                        present = row
                    } else if operations.isEmpty, !track.isFresh, try isLeftBehind(track.object, table) {
                        continue
                    } else {
                        // References to the key mean this object, although the store forgets the object's key.
                        if table.isMapped { ledger.hold(track.key[0], in: table.id, by: track.object) }
                        let time = self.time(for: track, track.lastTime, togglesLife: true)
                        operations.append(CapturedOperation(kind: .delete, time: time, values: [:], beforeImage: nil))
                    }
                }
                let captured = CapturedObject(
                    object: track.object, isFresh: track.isFresh, key: hasRow ? track.key : [], formerKey: track.key,
                    keepsKey: track.keepsKey, operations: operations, row: present, cleared: cleared)
                let isKnown = try writer.write(captured, &clock, &written)
                if !isKnown, table.isMapped, track.isDeleted, !track.isFresh { unknown.append((table, track)) }
                guard valueBytes + writer.changes.valueBytes <= maximumBytes else {
                    throw FerryError(.limitExceeded, "The changes have more than \(maximumBytes) bytes.")
                }
            }
            valueBytes += writer.changes.valueBytes
            written += try UniqueValueRelease(access, table).take(from: written, &writer, &clock)
            touched += written
            flush.enter(writer)
        }
        flush.clock = clock
        try recordLeftRows(flush)
        for departed in departures { touched += try departed.leave(flush) }
        var following = ReferenceRepointing(access)
        while true {
            touched += try RetainedLinks(access).insert(into: flush)
            touched += try heldBack.publishAgain(into: flush)
            let followed = try following.follow(flush)
            if followed.isEmpty { break }
            touched += followed
        }
        try saveReservations()
        try restoreReservations(of: unknown)
        clock = flush.clock
        return (flush.changes, touched)
    }

    /// Releases the keys of all moved objects before states are saved. Keys change owners within a flush, and no two
    /// states may ever have the same key. Until objects are saved under new keys, references find them in `keys`.
    private mutating func releaseKeys(of objects: [ObjectID: Track], _ table: TrackedTable) throws {
        // The store knows the keys of all remaining objects.
        for track in objects.values where !track.isDeleted && track.mayHaveMoved {
            ledger.hold(track.key[0], in: table.id, by: track.object)
        }
        for (key, former) in ledger.takenKeys(in: table.id) {
            guard case .reference(let object) = former.meaning, let owner = ledger.holder(of: key, in: table.id),
                owner.object != object
            else { continue }
            try access.objects(of: table.id).release(key, of: object)
        }
        // The key of a row that was only deleted is in nobody's way, unless a new row is about to get the key, or a row that had the
        // key after it and is gone, too, while rows refer to it.
        var awaited: Set<FieldValue> = []
        if objects.values.contains(where: \.isOnlyDeleted) {
            for track in objects.values where track.keepsKey || !track.isDeleted && track.mayHaveMoved {
                awaited.insert(track.key[0])
            }
            for reservation in ledger.reservations where reservation.table == table.id {
                awaited.insert(reservation.key)
            }
        }
        for track in objects.values where track.isFresh ? !track.formerKeys.isEmpty : track.mayHaveMoved {
            // The kept key is the last key. A different key in the state may have a new owner by now.
            if track.keepsKey, track.formerKeys.isEmpty { continue }
            if track.isOnlyDeleted, !awaited.contains(track.key[0]) { continue }
            let objects = access.objects(of: table.id)
            if !track.isFresh { try objects.releaseKey(of: track.object) }
            if !track.isDeleted, let holder = try objects.object(forKey: track.key[0]) {
                try objects.releaseKey(of: holder)
            }
        }
    }
}
