import FerryCore
import FerryMerge
import FerrySQL
import FerrySchema

/// Fast path: packs a flush of pure insertions, such as an import, without an object in memory for each row.
///
/// The result equals the result of `CaptureHistory` for the same pending changes. `CaptureHistory` is the general path,
/// and handles every remaining flush. Here each row was only inserted, its object is new, and its targets exist. Some
/// conditions show only at the writing of rows: then everything written is rolled back.
struct BulkInsertCapture {
    /// The pending insertions into a table.
    final class Insertions {
        let table: TrackedTable
        /// The rows' local keys in sequence, `table.keyColumns.count` values for each row.
        @exclusivity(unchecked) var keys: [FieldValue] = []
        @exclusivity(unchecked) var times: [HybridTime] = []
        @exclusivity(unchecked) var objects: [ObjectID] = []
        /// The positions of rows by key, in a mapped table.
        @exclusivity(unchecked) var places = IntegerKeyMap()

        init(_ table: TrackedTable) { self.table = table }

        func key(_ place: Int) -> ArraySlice<FieldValue> {
            let width = table.keyColumns.count
            return keys[place * width..<(place + 1) * width]
        }
    }

    private let access: StoreAccess
    private let mintedPrefix: (high: UInt64, low: UInt64)
    private let maximumBytes: Int
    private let anomalousTables: Set<Int>
    private let mayReferToRetainedLinks: (TrackedTable) throws -> Bool
    private var insertions: [Int: Insertions] = [:]
    private var unsuited: Set<Int> = []
    private var minted: UInt32 = 0
    private var rowsWithoutKey = 0
    private var keylessTables: Set<Int> = []
    /// The portable key of the row being read.
    private var scratch: [FieldValue] = []

    /// - Parameters:
    ///   - mintedPrefix: the first bytes of this flush's IDs; the first ID gets the number 1.
    ///   - maximumBytes: maximum bytes of values; `take` throws `limitExceeded` for more.
    ///   - mayReferToRetainedLinks: true if rows of a table may refer to links that the flush must insert
    ///     (`RetainedLinks`).
    init(
        _ access: StoreAccess, _ mintedPrefix: (high: UInt64, low: UInt64), maximumBytes: Int,
        mayReferToRetainedLinks: @escaping (TrackedTable) throws -> Bool
    ) throws {
        self.access = access
        self.maximumBytes = maximumBytes
        self.mintedPrefix = mintedPrefix
        self.mayReferToRetainedLinks = mayReferToRetainedLinks
        anomalousTables = try ProjectionSeeds(access).anomalousTables()
    }

    struct Outcome {
        var tables: [TableChanges]
        /// An object of each table. No object needs the rules.
        var touched: [TouchedObject]
        var rowsWithoutKey: Int
        var keylessTables: Set<Int>
    }

    /// Packs the pending changes up to `end`. Call once, and only without retained rows: such rows are published again.
    /// - Returns: `nil` for changes unfit for the fast path; nothing is written then, and the clock is unchanged.
    mutating func take(through end: Int64, _ clock: inout HybridClock) throws -> Outcome? {
        try access.fastPathLog.attempt(.bulkInsertCapture, &clock) { clock in
            try read(through: end, &clock)
            let outcome = try access.savepoint { try write(maximumBytes: maximumBytes) }
            return (outcome, insertions.values.reduce(0) { $0 + $1.objects.count })
        }
    }

    // MARK: Reading pending changes

    private mutating func read(through end: Int64, _ clock: inout HybridClock) throws {
        var last: Insertions?
        try PendingTable(access.connection).forEach(
            width: access.registry.keyWidth, where: "sequence <= ?", [.integer(end)]
        ) { note in
            guard note.int(PendingTable.Column.event) == PendingEvent.insert.rawValue else {
                throw FastPathDecline.otherEvents
            }
            let number = note.int(PendingTable.Column.table)
            if last?.table.id != number { last = try insertions(into: number) }
            if let last { try take(note, last, &clock) }
        }
    }

    /// - Returns: `nil` for a table that does not travel from here.
    private mutating func insertions(into number: Int) throws -> Insertions? {
        if let known = insertions[number] { return known }
        guard let table = access.registry.tables[number], table.isLocal else { return nil }
        if let reason = try decline(table) { throw reason }
        let made = Insertions(table)
        insertions[number] = made
        return made
    }

    /// The reason insertions into a table may concern more than their targets, judging by the table; `nil` without one.
    private func decline(_ table: TrackedTable) throws -> FastPathDecline? {
        if case .declared = table.identity { return .identity }
        // Some rows may belong only to the next generation.
        if access.registry.leaving.contains(table.id), table.identity.isSurrogate || table.formerRows != nil {
            return .identity
        }
        if table.hasColumnPolicies { return .policies }
        if table.hasUncheckedReferences { return .uncheckedReferences }
        if try access.unified.areAny(in: table.id) || access.anomalyTokens.areAny(of: table.id) { return .anomalies }
        if !table.uniqueIndexes.isEmpty, table.telltaleColumns.count > table.keyColumnIDs.count { return .claims }
        if try mayReferToRetainedLinks(table) { return .links }
        let near = [table.id] + table.foreignKeys.map(\.parent) + table.incoming.map(\.table)
        return anomalousTables.isDisjoint(with: near) ? nil : .anomalies
    }

    private mutating func take(
        _ note: SQLStatement, _ insertions: Insertions, _ clock: inout HybridClock
    ) throws {
        let table = insertions.table
        let first = insertions.keys.count
        for slot in table.keyColumns.indices {
            let value = note.value(PendingTable.Column.key + Int32(slot))
            if case .null = value {
                insertions.keys.removeSubrange(first...)
                rowsWithoutKey += 1
                keylessTables.insert(table.id)
                return
            }
            insertions.keys.append(value)
        }
        if note.isNull(PendingTable.Column.time) {
            insertions.times.append(try access.oldTime())
        } else {
            insertions.times.append(
                clock.advance(toMilliseconds: access.milliseconds(capturedOn: note.double(PendingTable.Column.time))))
        }
        insertions.objects.append(try object(insertions, key: first))
    }

    /// The object of the row with the last read key.
    /// - Parameter first: the start of the key in `insertions.keys`.
    private mutating func object(_ insertions: Insertions, key first: Int) throws -> ObjectID {
        let table = insertions.table
        if table.isMapped {
            // A repeated key: OR REPLACE.
            guard case .integer(let key) = insertions.keys[first],
                insertions.places.insert(key, at: insertions.objects.count)
            else { throw FastPathDecline.repeated }
            minted += 1
            return ObjectID(high: mintedPrefix.high, low: mintedPrefix.low | UInt64(minted))
        }
        scratch.removeAll(keepingCapacity: true)
        scratch.append(contentsOf: insertions.keys[first...])
        if table.hasReferencesInKey {
            for (place, column) in table.keyColumnIDs.enumerated() {
                guard let parent = table.columns[column].reference else { continue }
                // A target inserted later had its key reserved by this row.
                let key = table.columns[column].key(scratch[place])
                guard let target = try object(of: parent, key) else { throw FastPathDecline.missingTarget }
                scratch[place] = .reference(target)
            }
        }
        return table.derivedID(scratch)
    }

    /// The object with a key in a mapped table.
    private func object(of parent: Int, _ key: FieldValue) throws -> ObjectID? {
        if let known = insertions[parent], case .integer(let integer) = key,
            let place = known.places.place(of: integer)
        {
            return known.objects[place]
        }
        guard access.registry[parent].isMapped else { throw FastPathDecline.missingTarget }
        return try access.objects(of: parent).object(forKey: key)
    }

    // MARK: Writing

    private func write(maximumBytes: Int) throws -> Outcome {
        var outcome = Outcome(
            tables: [], touched: [], rowsWithoutKey: rowsWithoutKey, keylessTables: keylessTables)
        var valueBytes = 0
        for table in access.registry.parentsFirst {
            guard let rows = insertions[table.id], !rows.objects.isEmpty else { continue }
            var writer = try BulkInsertWriter(access, rows, among: insertions)
            valueBytes += try writer.write(in: order(of: rows), maximumBytes: maximumBytes - valueBytes)
            outcome.tables.append(writer.changes)
            outcome.touched.append(
                TouchedObject(
                    table: table.id, object: rows.objects[0], columns: table.columns.map(\.id), isDeleted: false,
                    isInsertion: true, needsRules: false, key: Array(rows.key(0))))
        }
        return outcome
    }

    /// The positions of a table's rows in the order of their objects.
    private func order(of rows: Insertions) throws -> [Int] {
        let objects = rows.objects
        // IDs were minted in the order of the pending changes.
        if rows.table.isMapped { return Array(objects.indices) }
        let order = objects.indices.sorted { objects[$0] < objects[$1] }
        for (place, next) in zip(order, order.dropFirst()) where objects[place] == objects[next] {
            // A repeated object: OR REPLACE.
            throw FastPathDecline.repeated
        }
        return order
    }
}
