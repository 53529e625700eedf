import FerryCore
import FerryMerge
import FerrySQL
import FerrySchema

/// Follows keys whose meaning changed in a flush: rows that refer by such a key, even in their own keys.
extension CaptureHistory {
    /// Follows objects that lost a key still in use. With foreign keys off or deferred, rows may still refer to the
    /// key.
    ///
    /// If a new owner has the key, the rows refer to the new owner. Without an owner, rows refer to the former object,
    /// and the rules decide about them. Unchecked references show what they showed before.
    mutating func followKeys() throws {
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
                // ON UPDATE CASCADE records the rows that follow another object to this key before that object displaces this one.
                let isDisplaced =
                    ledger.holder(of: track.key[0], in: table.id).map { $0.object != track.object } ?? false
                let last = track.isDeleted && (table.hasUncheckedReferences || isDisplaced) ? [track.key[0]] : []
                for key in Self.distinct(track.formerKeys + (stored.map { [$0] } ?? []) + last) {
                    guard track.isDeleted || track.key[0] != key else { continue }
                    let isReferred =
                        try unchecked.hasChildren(table, key: [key]) || reservations.isInUse(key, of: table)
                    guard try isReferred || !table.inheritingColumns.isEmpty || lookup.hasChildren(table, key: [key])
                    else { continue }
                    let owner = ledger.holder(of: key, in: table.id).flatMap {
                        $0.isGone || $0.object == track.object ? nil : $0.object
                    }
                    if isReferred, owner == nil, track.isDeleted, track.key[0] == key,
                        ledger.holder(of: key, in: table.id)?.object == track.object
                    {
                        track.keepsKey = true
                    }
                    if owner == nil { ledger.lose(key, in: table.id, meaning: .reference(track.object)) }
                    changes.append(
                        KeyChange(
                            table: table.id, key: key, meaning: .reference(track.object), owner: owner,
                            isKept: track.keepsKey && track.key[0] == key,
                            time: track.lastTime))
                }
            }
        }
        for change in changes { try follow(change) }
        try followUnmade()
        for number in ledger.tablesWithTakenKeys {
            for (key, former) in ledger.takenKeys(in: number) {
                guard let owner = ledger.holder(of: key, in: number), former.meaning != .reference(owner.object) else {
                    continue
                }
                if former.meaning == key && owner.isGone { continue }
                let change = KeyChange(
                    table: number, key: key, meaning: former.meaning, owner: owner.object, isKept: false,
                    time: former.time)
                try follow(change)
            }
        }
    }

    /// Sorted ascending; usually a single key.
    private static func distinct(_ keys: [FieldValue]) -> [FieldValue] {
        keys.count > 1 ? Set(keys).sorted() : keys
    }

    /// Follows keys of objects made and unmade in this flush: rows may refer by them, even in their own keys.
    private mutating func followUnmade() throws {
        for (number, unmade) in ledger.unmadeKeys {
            for unmade in unmade {
                let (key, object) = (unmade.key, unmade.object)
                let owner = ledger.holder(of: key, in: number)
                // No owner since: `travelling` reserves the key for the same object, or the key refers to nothing
                // again.
                if owner?.object == object, isReservable(key, in: registry[number]) { continue }
                let change = KeyChange(
                    table: number, key: key, meaning: .reference(object),
                    owner: owner.flatMap { $0.isGone ? nil : $0.object },
                    isKept: false, time: unmade.time)
                try follow(change)
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

    private mutating func follow(_ change: KeyChange) throws {
        for child in registry.parentsFirst where child.isLocal {
            for column in child.localColumns where column.reference == change.table {
                if column.isUnchecked && change.isKept { continue }
                try follow(change, in: child, column)
            }
        }
    }

    private mutating func follow(
        _ change: KeyChange, in child: TrackedTable, _ column: TrackedColumn
    ) throws {
        let rows = try connection.rows(
            "SELECT \(child.keyList) FROM \(child.rows) WHERE \(quoted(column.name)) = ?", change.key)
        for rowKey in rows where !rowKey.contains(.null) {
            if !child.keyColumnIDs.contains(column.id) {
                guard let object = try self.object(child, rowKey) else { continue }
                let track = try self.track(object, child, key: rowKey, isFresh: false)
                if track.isDeleted { continue }
                if change.isDetached(column) {
                    track.detached[column.id] = change.meaning
                } else if track.insertedAt == nil, track.changed[column.id] == nil {
                    track.changed[column.id] = time(for: track, change.time, togglesLife: false)
                }
                continue
            }
            // The reference is part of the row's identity.
            if change.isDetached(column) {
                try detach(rowKey, of: child, change)
            } else {
                try succeed(rowKey, of: child, change)
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
            let lost = isChanged ? change.meaning : column.reference.flatMap { ledger.lostMeaning(of: key, in: $0) }
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
        _ rowKey: [FieldValue], of child: TrackedTable, _ change: KeyChange
    ) throws {
        let (meaning, detached) = try presentKey(rowKey, of: child, after: change)
        let present = child.derivedID(meaning)
        identities[child.id, default: [:]][present] = meaning
        guard let object = try formerObject(child, rowKey, besides: present) else {
            return try adopt(rowKey, of: child, as: present, detached, change)
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
        let time = self.time(for: track, change.time, togglesLife: true)
        finish(track, at: time, beforeImage: old)
        let successor = try self.track(present, child, key: rowKey, isFresh: false)
        successor.key = rowKey
        successor.isDeleted = false
        successor.detached = detached
        successor.insertedAt = self.time(for: successor, time, togglesLife: true)
    }

    /// Handles a row whose former object now has a different row, under the present key of its target.
    private mutating func adopt(
        _ rowKey: [FieldValue], of child: TrackedTable, as object: ObjectID, _ detached: ColumnValues,
        _ change: KeyChange
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
        track.insertedAt = time(for: track, change.time, togglesLife: true)
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
}
