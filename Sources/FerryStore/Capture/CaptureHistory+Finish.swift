import FerryCore
import FerryMerge

/// The end of a flush: reads present values, assigns final times, and writes states and operations.
extension CaptureHistory {
    /// Reads present values, assigns final times, and writes states and operations.
    /// - Parameter maximumBytes: maximum bytes of values; beyond them `limitExceeded` is thrown.
    mutating func finish(
        _ clock: inout HybridClock, maximumBytes: Int
    ) throws -> (tables: [TableChanges], touched: [TouchedObject]) {
        var valueBytes = 0
        var touched: [TouchedObject] = []
        // Deleted again before anybody knew of them.
        var unknown: [(table: TrackedTable, track: Track)] = []
        var departures: [SplitMembers] = []
        let heldBack = try RetainedRows(access)
        let flush = FlushWriter(access, clock, tracksReferences: !heldBack.isEmpty)
        try followKeys(&clock)
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
                        if table.isMapped { keys[table.id, default: [:]][track.key[0]] = (track.object, false) }
                        let time = self.time(for: track, track.lastTime, togglesLife: true, &clock)
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

    /// Follows objects that lost a key still in use. With foreign keys off or deferred, rows may still refer to the
    /// key.
    ///
    /// If a new owner has the key, the rows refer to the new owner. Without an owner, rows refer to the former object,
    /// and the rules decide about them. Unchecked references show what they showed before.
    private mutating func followKeys(_ clock: inout HybridClock) throws {
        var lookup = ChildLookup(access)
        var unchecked = ChildLookup(access, isUnchecked: true)
        let reservations = KeyReservations(access)
        // All changes are found before the first is followed: following may reserve a key lost elsewhere.
        var changes: [KeyChange] = []
        for table in registry.parentsFirst where table.isMapped && !table.incoming.isEmpty {
            // A new object that stays lost only keys held in between.
            let moved = (tracks[table.id] ?? [:]).values.filter {
                $0.mayHaveMoved && !($0.isFresh && $0.formerKeys.isEmpty && !$0.isDeleted)
            }
            if moved.isEmpty { continue }
            for track in moved.sorted(by: { $0.object < $1.object }) {
                let stored = track.isFresh ? nil : try formerOwners.key(of: track.object, table, perhaps: track.key[0])
                let last = track.isDeleted && table.hasUncheckedReferences ? [track.key[0]] : []
                for key in Self.distinct(track.formerKeys + (stored.map { [$0] } ?? []) + last) {
                    guard track.isDeleted || track.key[0] != key else { continue }
                    let isReferred =
                        try unchecked.hasChildren(table, key: [key]) || reservations.isInUse(key, of: table)
                    guard try isReferred || !table.inheritingColumns.isEmpty || lookup.hasChildren(table, key: [key])
                    else { continue }
                    let owner = keys[table.id]?[key].flatMap {
                        $0.isGone || $0.object == track.object ? nil : $0.object
                    }
                    if isReferred, owner == nil, track.isDeleted, track.key[0] == key,
                        keys[table.id]?[key]?.object == track.object
                    {
                        track.keepsKey = true
                    }
                    if owner == nil { lostKeys[table.id, default: [:]][key] = .reference(track.object) }
                    changes.append(
                        KeyChange(
                            table: table.id, key: key, meaning: .reference(track.object), owner: owner,
                            isKept: track.keepsKey && track.key[0] == key,
                            time: track.lastTime))
                }
            }
        }
        for change in changes { try follow(change, &clock) }
        try followUnmade(&clock)
        for (number, taken) in takenKeys.sorted(by: { $0.key < $1.key }) {
            for (key, former) in taken.sorted(by: { $0.key < $1.key }) {
                guard let owner = keys[number]?[key], former.meaning != .reference(owner.object) else { continue }
                if former.meaning == key && owner.isGone { continue }
                let change = KeyChange(
                    table: number, key: key, meaning: former.meaning, owner: owner.object, isKept: false,
                    time: former.time)
                try follow(change, &clock)
            }
        }
    }

    /// Sorted ascending; usually a single key.
    private static func distinct(_ keys: [FieldValue]) -> [FieldValue] {
        keys.count > 1 ? Set(keys).sorted() : keys
    }

    /// Follows keys of objects made and unmade in this flush: rows may refer by them, even in their own keys.
    private mutating func followUnmade(_ clock: inout HybridClock) throws {
        for (number, unmade) in unmadeKeys.sorted(by: { $0.key < $1.key }) {
            for (key, object, time) in unmade {
                let owner = keys[number]?[key]
                // No owner since: `travelling` reserves the key for the same object, or the key refers to nothing
                // again.
                if owner?.object == object, isReservable(key, in: registry[number]) { continue }
                let change = KeyChange(
                    table: number, key: key, meaning: .reference(object),
                    owner: owner.flatMap { $0.isGone ? nil : $0.object },
                    isKept: false, time: time)
                try follow(change, &clock)
            }
        }
    }

    /// A key of a mapped table with a changed meaning in this flush.
    private struct KeyChange {
        var table: Int
        var key: FieldValue
        /// The rows' former meaning of the key: a reference, or the plain value.
        var meaning: FieldValue
        /// The object now having the key.
        var owner: ObjectID?
        /// True if the former object keeps the key without a row.
        var isKept: Bool
        var time: HybridTime

        /// True if rows referring by the key in this column still refer to the former object.
        func isDetached(_ column: TrackedColumn) -> Bool { owner == nil && !column.isUnchecked }
    }

    private mutating func follow(_ change: KeyChange, _ clock: inout HybridClock) throws {
        for child in registry.parentsFirst where child.isLocal {
            for column in child.localColumns where column.reference == change.table {
                if column.isUnchecked && change.isKept { continue }
                try follow(change, in: child, column, &clock)
            }
        }
    }

    private mutating func follow(
        _ change: KeyChange, in child: TrackedTable, _ column: TrackedColumn, _ clock: inout HybridClock
    ) throws {
        let rows = try connection.rows(
            "SELECT \(child.keyList) FROM \(quoted(child.name)) WHERE \(quoted(column.name)) = ?", change.key)
        for rowKey in rows where !rowKey.contains(.null) {
            if !child.keyColumnIDs.contains(column.id) {
                guard let object = try self.object(child, rowKey) else { continue }
                let track = try self.track(object, child, key: rowKey, isFresh: false)
                if track.isDeleted { continue }
                if change.isDetached(column) {
                    track.detached[column.id] = change.meaning
                } else if track.insertedAt == nil, track.changed[column.id] == nil {
                    track.changed[column.id] = time(for: track, change.time, togglesLife: false, &clock)
                }
                continue
            }
            // The reference is part of the row's identity.
            if change.isDetached(column) {
                try detach(rowKey, of: child, change)
            } else {
                try succeed(rowKey, of: child, change, &clock)
            }
        }
    }

    /// The meaning of a row's key, and the columns referring by a key without an owner.
    /// - Parameter change: takes precedence over further changes of the same key.
    private mutating func presentKey(
        _ rowKey: [FieldValue], of child: TrackedTable, after change: KeyChange
    ) throws -> (values: [FieldValue], detached: ColumnValues) {
        var values = rowKey
        var detached: ColumnValues = [:]
        for (place, number) in child.keyColumnIDs.enumerated() {
            let column = child.columns[number]
            let key = column.key(rowKey[place])
            let isChanged = column.reference == change.table && key == change.key && change.owner == nil
            let lost = isChanged ? change.meaning : column.reference.flatMap { lostKeys[$0]?[key] }
            if let lost, !column.isUnchecked {
                values[place] = lost
                detached[number] = lost
            } else {
                values[place] = try portable(rowKey[place], column)
            }
        }
        return (values, detached)
    }

    /// Handles a row identified by a reference whose target lost its key to nobody.
    private mutating func detach(_ rowKey: [FieldValue], of child: TrackedTable, _ change: KeyChange) throws {
        let (values, detached) = try presentKey(rowKey, of: child, after: change)
        let object = child.derivedID(values)
        if tracks[child.id]?[object]?.isDeleted ?? false { return }
        let isNew = tracks[child.id]?[object] != nil
        guard try isNew || access.objects(of: child.id).load(object).shown.hasRow else { return }
        let track = try self.track(object, child, key: rowKey, isFresh: false)
        if track.key != rowKey {
            // The object already has a row under the new key; this row belongs to no object.
            if let refusal = try access.writer(of: child.id).delete(key: rowKey, of: object) { throw refusal }
        } else {
            track.detached = track.detached.overlaid(with: detached)
        }
    }

    /// Handles a row identified by references with changed meanings: the row now belongs to a different object.
    private mutating func succeed(
        _ rowKey: [FieldValue], of child: TrackedTable, _ change: KeyChange, _ clock: inout HybridClock
    ) throws {
        let (meaning, detached) = try presentKey(rowKey, of: child, after: change)
        let present = child.derivedID(meaning)
        identities[child.id, default: [:]][present] = meaning
        guard let object = try formerObject(child, rowKey, besides: present) else {
            return try adopt(rowKey, of: child, as: present, detached, change, &clock)
        }
        let track = try self.track(object, child, key: rowKey, isFresh: false)
        var old = try access.reader(of: child.id).read(rowKey) ?? [:]
        try translateOldRow(&old, of: track, child)
        let values = try identities[child.id]?[object] ?? ReferenceTranslator(access).key(rowKey, child)
        for (value, column) in zip(values, child.keyColumnIDs) { old[column] = value }
        if tracks[child.id]?[present]?.insertedAt != nil {
            // OR REPLACE put a new row in place of the old row, and the old values are lost. The new values become the
            // former object's last values.
            for column in child.localColumns where !child.keyColumnIDs.contains(column.id) {
                track.changed[column.id] = track.changed[column.id] ?? change.time
            }
        }
        let time = self.time(for: track, change.time, togglesLife: true, &clock)
        finish(track, at: time, beforeImage: old)
        let successor = try self.track(present, child, key: rowKey, isFresh: false)
        successor.key = rowKey
        successor.isDeleted = false
        successor.detached = detached
        successor.insertedAt = self.time(for: successor, time, togglesLife: true, &clock)
    }

    /// Handles a row whose former object now has a different row, under the present key of its target.
    private mutating func adopt(
        _ rowKey: [FieldValue], of child: TrackedTable, as object: ObjectID, _ detached: ColumnValues,
        _ change: KeyChange, _ clock: inout HybridClock
    ) throws {
        if let known = tracks[child.id]?[object] {
            // A live object has a different row. A deleted object left its row to another object, as where two targets
            // exchange their keys.
            guard known.isDeleted else { return }
        } else if try access.objects(of: child.id).load(object).shown.hasRow {
            return
        }
        let track = try self.track(object, child, key: rowKey, isFresh: false)
        track.key = rowKey
        track.isDeleted = false
        track.detached = detached
        track.insertedAt = time(for: track, change.time, togglesLife: true, &clock)
    }

    /// The object a row with references in its key belonged to until its pending changes were read.
    private func formerObject(
        _ child: TrackedTable, _ rowKey: [FieldValue], besides present: ObjectID
    ) throws -> ObjectID? {
        if let track = tracks[child.id]?.values.first(where: {
            !$0.isDeleted && $0.key == rowKey && $0.object != present
        }) {
            return track.object
        }
        guard let object = try ReferenceTranslator(access).object(child, rowKey) else { return nil }
        if object == present { return nil }
        if let track = tracks[child.id]?[object], track.isDeleted || track.key != rowKey { return nil }
        return try access.objects(of: child.id).load(object).shown.hasRow ? object : nil
    }

    /// Releases the keys of all moved objects before states are saved. Keys change owners within a flush, and no two
    /// states may ever have the same key. Until objects are saved under new keys, references find them in `keys`.
    private mutating func releaseKeys(of objects: [ObjectID: Track], _ table: TrackedTable) throws {
        // The store knows the keys of all remaining objects.
        for track in objects.values where !track.isDeleted && track.mayHaveMoved {
            keys[table.id, default: [:]][track.key[0]] = (track.object, false)
        }
        for (key, former) in takenKeys[table.id] ?? [:] {
            guard case .reference(let object) = former.meaning, let owner = keys[table.id]?[key],
                owner.object != object
            else { continue }
            try connection.execute(
                "UPDATE \(table.objectTable) SET k0 = NULL WHERE k0 = ? AND object = ?", key, .blob(object.bytes[...]))
        }
        // The key of a row that was only deleted is in nobody's way, unless a new row is about to get the key.
        var awaited: Set<FieldValue> = []
        if objects.values.contains(where: \.isOnlyDeleted) {
            for track in objects.values where !track.isDeleted && track.mayHaveMoved { awaited.insert(track.key[0]) }
            for reservation in reservations where reservation.table == table.id { awaited.insert(reservation.key) }
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

/// A captured operation, with portable values by column number.
struct CapturedOperation {
    var kind: ObjectOperation.Kind
    var time: HybridTime
    var values: ColumnValues
    /// For a deletion: the row's former values.
    var beforeImage: ColumnValues?
    /// True if nobody knows the written columns and times (`UnseenWrites`). Each value then gets the time just after
    /// its column's time, and overwrites only the value it replaced.
    var isReview = false
}
