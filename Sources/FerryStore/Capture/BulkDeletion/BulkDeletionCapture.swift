import FerryCore
import FerryMerge
import FerrySQL
import FerrySchema

/// Fast path: packs a flush of pure deletions, such as a deletion by CASCADE, without an object in memory for each row.
///
/// The result equals the result of `CaptureHistory` for the same pending changes. Here each row was only deleted, its
/// object is shown by its own row alone, and no row is left that refers to the row. Some conditions show only at the
/// writing of states: then everything written is rolled back.
struct BulkDeletionCapture {
    /// The pending deletions from a table.
    final class Deletions {
        let table: TrackedTable
        /// The rows' local keys, `table.keyColumns.count` values for each row.
        @exclusivity(unchecked) var keys: [FieldValue] = []
        @exclusivity(unchecked) var times: [HybridTime] = []
        @exclusivity(unchecked) var objects: [ObjectID] = []
        /// The sequences of the before-images.
        @exclusivity(unchecked) var sequences: [Int64] = []

        init(_ table: TrackedTable) { self.table = table }

        func key(_ place: Int) -> ArraySlice<FieldValue> {
            let width = table.keyColumns.count
            return keys[place * width..<(place + 1) * width]
        }
    }

    private let access: StoreAccess
    private let anomalousTables: Set<Int>
    /// The owners of keys at the end of the last flush. Every key deleted by this flush is known before the first state
    /// is written.
    private let owners: FormerOwners
    private var deletions: [Int: Deletions] = [:]
    private var tablesWithBeforeImages: Set<Int> = []
    private var keylessTables: Set<Int> = []
    /// The portable key of the row being read.
    private var scratch: [FieldValue] = []

    init(_ access: StoreAccess) throws {
        self.access = access
        owners = FormerOwners(access)
        anomalousTables = try ProjectionSeeds(access).anomalousTables()
    }

    struct Outcome {
        var tables: [TableChanges]
        /// An object of each table. No object needs the rules.
        var touched: [TouchedObject]
        var tablesWithBeforeImages: Set<Int>
        /// The tables with deleted rows that had a NULL in their key.
        var keylessTables: Set<Int>
    }

    /// Packs the pending changes up to `end`. Call once, and only without retained rows.
    /// - Returns: `nil` for changes unfit for the fast path; nothing is written then, and the clock is unchanged.
    mutating func take(through end: Int64, _ clock: inout HybridClock) throws -> Outcome? {
        try access.fastPathLog.attempt(.bulkDeletionCapture, &clock) { clock in
            try read(through: end, &clock)
            try checkReferringRows(through: end)
            let outcome = try access.savepoint { try write(&clock) }
            return (outcome, deletions.values.reduce(0) { $0 + $1.objects.count })
        }
    }

    // MARK: Reading pending changes

    private mutating func read(through end: Int64, _ clock: inout HybridClock) throws {
        var last: (number: Int, deletions: Deletions?)?
        try PendingTable(access.connection).forEach(
            width: access.registry.keyWidth, where: "sequence <= ?", [.integer(end)]
        ) { note in
            guard note.int(PendingTable.Column.event) == PendingEvent.delete.rawValue else {
                throw FastPathDecline.otherEvents
            }
            let number = note.int(PendingTable.Column.table)
            if last?.number != number { last = (number, try deletions(from: number)) }
            if let deletions = last?.deletions { try take(note, deletions, &clock) }
        }
    }

    /// - Returns: `nil` for a table that does not travel from here.
    private mutating func deletions(from number: Int) throws -> Deletions? {
        if let known = deletions[number] { return known }
        guard let table = access.registry.tables[number] else { return nil }
        // The before-images of a dropped table are removed too.
        tablesWithBeforeImages.insert(number)
        if !table.isLocal { return nil }
        if let reason = try decline(table) { throw reason }
        let made = Deletions(table)
        deletions[number] = made
        return made
    }

    /// The reason deletions from a table may concern more than their rows, judging by the table; `nil` without one.
    private func decline(_ table: TrackedTable) throws -> FastPathDecline? {
        // Some rows may belong only to the next generation.
        if access.registry.leaving.contains(table.id) { return .identity }
        if table.hasColumnPolicies { return .policies }
        let refersUnchecked = table.columns.contains(where: \.isUnchecked)
        if refersUnchecked || table.hasUncheckedReferences || !table.inheritingColumns.isEmpty {
            return .uncheckedReferences
        }
        // Rows may refer to values besides the key.
        if !table.offeredKeys.isEmpty { return .claims }
        if access.areRowsWaiting { return .anomalies }
        if try access.unified.areAny(in: table.id) || access.anomalyTokens.areAny(of: table.id) { return .anomalies }
        return anomalousTables.isDisjoint(with: ProjectionSeeds.neighbours(of: table)) ? nil : .anomalies
    }

    private mutating func take(
        _ note: SQLStatement, _ deletions: Deletions, _ clock: inout HybridClock
    ) throws {
        let table = deletions.table
        let first = deletions.keys.count
        for slot in table.keyColumns.indices {
            let value = note.value(PendingTable.Column.key + Int32(slot))
            if case .null = value {
                // A row without a key stayed on this device.
                keylessTables.insert(table.id)
                deletions.keys.removeSubrange(first...)
                return
            }
            deletions.keys.append(value)
        }
        // Rows of an unknown time may be older than their objects.
        if note.isNull(PendingTable.Column.time) { throw FastPathDecline.older }
        deletions.times.append(
            clock.advance(toMilliseconds: access.milliseconds(capturedOn: note.double(PendingTable.Column.time))))
        deletions.sequences.append(note.integer(PendingTable.Column.sequence))
        deletions.objects.append(try object(deletions, key: first))
    }

    /// The object of the row with the last read key.
    /// - Parameter first: the start of the key in `deletions.keys`.
    private mutating func object(_ deletions: Deletions, key first: Int) throws -> ObjectID {
        let table = deletions.table
        if table.isMapped {
            guard let object = try owners.object(table.id, deletions.keys[first]) else {
                throw FastPathDecline.missingRow
            }
            return object
        }
        scratch.removeAll(keepingCapacity: true)
        scratch.append(contentsOf: deletions.keys[first...])
        if table.hasReferencesInKey {
            for (place, column) in table.keyColumnIDs.enumerated() {
                guard let parent = table.columns[column].reference else { continue }
                let key = table.columns[column].key(scratch[place])
                guard let target = try owners.object(parent, key) else { throw FastPathDecline.missingTarget }
                scratch[place] = .reference(target)
            }
        }
        return table.derivedID(scratch)
    }

    // MARK: Rows left behind

    /// Ensures that no row refers to a deleted row: such rows are the rules' concern.
    private func checkReferringRows(through end: Int64) throws {
        for rows in deletions.values {
            for incoming in rows.table.incoming {
                let child = access.registry[incoming.table]
                let key = child.foreignKeys[incoming.foreignKey]
                if key.action == .none { continue }
                if try areReferred(rows, by: key, of: child, incoming, through: end) {
                    throw FastPathDecline.referringRows
                }
            }
        }
    }

    private func areReferred(
        _ rows: Deletions, by key: TrackedForeignKey, of child: TrackedTable, _ incoming: TrackedTable.IncomingKey,
        through end: Int64
    ) throws -> Bool {
        guard let order = key.order else { return true }
        let column = child.columns[key.columns[0]]
        let collation = access.registry.collations(of: key)?[0] ?? column.collation
        guard
            try access.connection.hasIndex(on: child.localName, beginningWith: column.name, collation: collation)
        else {
            var lookup = ChildLookup(access)
            for place in rows.objects.indices
            where try lookup.hasChildren(rows.table, key: Array(rows.key(place)), by: incoming) { return true }
            return false
        }
        // The sign keeps the child column's own affinity and collation, as for a bound value.
        let condition = access.registry.condition(referringBy: key, of: child) { "+gone.k\(order[$0])" }
        return try PendingTable(access.connection).isAny(
            of: rows.table.id, through: end, where: "EXISTS(SELECT 1 FROM \(child.quotedName) WHERE \(condition))")
    }

    // MARK: Writing

    private func write(_ clock: inout HybridClock) throws -> Outcome {
        var outcome = Outcome(
            tables: [], touched: [], tablesWithBeforeImages: tablesWithBeforeImages, keylessTables: keylessTables)
        for table in access.registry.parentsFirst {
            guard let rows = deletions[table.id], !rows.objects.isEmpty else { continue }
            var writer = try BulkDeletionWriter(access, rows, owners)
            try writer.write(in: order(of: rows), &clock)
            outcome.tables.append(writer.changes)
            // Nothing refers to the key: no further lookup is needed.
            outcome.touched.append(
                TouchedObject(
                    table: table.id, object: rows.objects[0], columns: table.columns.map(\.id), isDeleted: true,
                    needsRules: false))
        }
        return outcome
    }

    /// The positions of a table's rows in the order of their objects.
    private func order(of rows: Deletions) throws -> [Int] {
        let objects = rows.objects
        let isSorted = !zip(objects, objects.dropFirst()).contains { !($0 < $1) }
        if isSorted { return Array(objects.indices) }
        let order = objects.indices.sorted { objects[$0] < objects[$1] }
        for (place, next) in zip(order, order.dropFirst()) where objects[place] == objects[next] {
            // Deleted twice: the key came back in between.
            throw FastPathDecline.repeated
        }
        return order
    }
}
