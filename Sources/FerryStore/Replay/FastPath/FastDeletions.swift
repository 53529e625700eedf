import FerryCore
import FerryMerge
import FerrySchema

/// Fast path: deletes objects with a plain state, and removes their rows. The deletion must be later than the known
/// writes, and must lose nothing to its author's ignorance. Nothing refers to the row, and no object nearby is
/// anomalous. All remaining deletions go to `StateMerge`, `MergedRows` and `RowRemoval`, with the same result.
final class FastDeletions {
    private let table: TrackedTable
    private let log: FastPathLog
    private let devices: DeviceNumbers
    private let reader: RowReader
    private let writer: RowWriter
    private let tombstones: TombstoneWriter
    private let translator: ReferenceTranslator
    private let columns: [Column]
    private let device: DeviceID
    /// The time of this device's newest changeset, for decisions.
    private let ownTime: HybridTime
    /// The last reference found in each column of references to further tables. Their rows do not change while rows of
    /// this table are removed.
    @exclusivity(unchecked) private var last: [(key: Int64, value: FieldValue)?]

    private struct Column {
        var number: Int
        var isReference: Bool
        /// True if found references stay right.
        var isCached: Bool
    }

    /// - Parameter table: a table that `init(deciding:_:)` takes.
    init(_ access: StoreAccess, _ table: TrackedTable, ownTime: HybridTime = .zero) {
        self.table = table
        device = access.device
        self.ownTime = ownTime
        log = access.fastPathLog
        devices = access.devices
        reader = access.reader(of: table.id)
        writer = access.writer(of: table.id)
        tombstones = TombstoneWriter(access.objects(of: table.id))
        translator = ReferenceTranslator(access)
        columns = reader.columns.map {
            Column(
                number: $0.id, isReference: $0.reference != nil,
                isCached: $0.reference != table.id && $0.keyAffinity == .integer)
        }
        last = Array(repeating: nil, count: columns.count)
    }

    /// - Returns: `nil` if deletions from the table may concern more than their rows.
    convenience init?(deciding access: StoreAccess, _ table: TrackedTable) throws {
        if let reason = try Self.decline(access, table) {
            access.fastPathLog.decline(.fastDeletions, reason)
            return nil
        }
        let ownTime = try DeviceTable(access.connection).ownEnd()?.position.time ?? .zero
        self.init(access, table, ownTime: ownTime)
    }

    private static func decline(_ access: StoreAccess, _ table: TrackedTable) throws -> FastPathDecline? {
        if !access.fastPaths.isSuperset(of: [.fastDeletions, .statePrefetch]) { return .off }
        if !table.isLocal { return .shape }
        if table.hasColumnPolicies { return .policies }
        let isReferredUnchecked = table.incoming.contains {
            access.registry[$0.table].foreignKeys[$0.foreignKey].action == .none
        }
        if table.hasUncheckedReferences || isReferredUnchecked { return .uncheckedReferences }
        // Rows may refer to values besides the key.
        if !table.offeredKeys.isEmpty { return .claims }
        if access.waiting.contains(table.id) || access.areRowsWaiting { return .anomalies }
        let seeds = ProjectionSeeds(access)
        let isQuiet =
            try !access.anomalyTokens.areAny(of: table.id)
            && seeds.anomalousTables().isDisjoint(with: ProjectionSeeds.neighbours(of: table))
        return isQuiet ? nil : .anomalies
    }

    /// True if a deletion leaves nothing of an object, and nothing to decide. Counts the reason otherwise.
    func takes(_ state: EncodedState, _ deletion: Stamp, _ part: ChangesetPart) throws -> Bool {
        let reason = try decline(state, deletion, part)
        if let reason { log.decline(.fastDeletions, reason) }
        return reason == nil
    }

    private func decline(
        _ state: EncodedState, _ deletion: Stamp, _ part: ChangesetPart
    ) throws -> FastPathDecline? {
        guard let newest = try state.stamps.withUnsafeBytes({ try StateCodec.newestWrite(in: $0) }) else {
            return .state
        }
        if deletion.time <= newest.time { return .older }
        if newest.isTied { return .conflict }
        // Few authors do not know all of this device's log.
        if part.context[device].time < ownTime {
            let inserted = try StateCodec.decodeInsertion(state.stamps) { try devices.device($0) }
            if part.isUnaware(of: inserted, by: device) { return .conflict }
        }
        let known = Stamp(time: newest.time, device: try devices.device(newest.device))
        return known.device == deletion.device || part.context.includes(known) ? nil : .conflict
    }

    /// Removes an object's row, and writes the state. The caller has made sure that nothing refers to the row.
    /// - Returns: false if the general path is needed; nothing is changed then.
    func remove(_ state: EncodedState, _ deletion: Stamp) throws -> Bool {
        let key = table.isMapped ? state.key.first : nil
        let isPrepared: Void? = try reader.withRow(state.key) { row in
            _ = try state.stamps.withUnsafeBytes { try tombstones.take($0) }
            tombstones.beginValues(key: key)
            for index in columns.indices {
                let column = columns[index]
                if column.isReference {
                    tombstones.append(column.number, try portable(row.value(Int32(index)), index))
                } else {
                    tombstones.append(column.number, row, Int32(index))
                }
            }
        }
        if isPrepared == nil {
            log.decline(.fastDeletions, .missingRow)
            return false
        }
        if try writer.delete(key: state.key, of: state.object) != nil {
            log.decline(.fastDeletions, .refused)
            return false
        }
        try tombstones.write(state.object, deletion, check: state.check)
        log.count(.fastDeletions)
        return true
    }

    /// The portable value of a column of references.
    private func portable(_ value: FieldValue, _ index: Int) throws -> FieldValue {
        if case .null = value { return value }
        guard columns[index].isCached, case .integer(let key) = value else {
            return try translator.value(value, table.columns[columns[index].number])
        }
        if let last = last[index], last.key == key { return last.value }
        let own = try translator.value(value, table.columns[columns[index].number])
        last[index] = (key, own)
        return own
    }

    /// Reports the changed checksums. Call after the last removal.
    func finish() { tombstones.finish() }
}
