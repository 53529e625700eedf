import FerryCore
import FerryMerge
import FerrySchema

/// Rewrites unpublished state after a change of the device ID. Stamps of the former ID nobody will ever send become
/// stamps of the new ID.
///
/// Each new stamp is a tick later than the former stamp. So the new stamp wins over the former, which a device may have
/// read after all, if two copies published under the same ID. And the new stamp loses to later writes of remote
/// devices. Insertions stay insertions of the same objects, so no row comes twice.
///
/// For columns under a policy, parts travel unchanged, with stamps of the former device. A counter's total of the
/// former device counts once, regardless of the sender. If two copies have both published under the former ID, two
/// totals have the same name. Only then the shown value is written plainly, and overtaken values become conflicts.
struct UnpublishedRestamping {
    /// The session of the new device.
    private let access: StoreAccess
    private let former: DeviceID
    private let published: PublishedLog
    private let lastOldRows: UInt64?
    /// True if unsent changesets have backdated changes (`BackdatedChanges`): the time of the sent log says nothing of these.
    private let areLateChangesUnsent: Bool
    private var sent: LogPosition { published.sentUnderID }

    /// Maximum number of objects in a changeset.
    private static let maximumObjects = 20_000

    /// - Parameter lastOldRows: the last changeset of the log with rows of an unknown time; `nil` if unknown.
    init(_ access: StoreAccess, former: DeviceID, _ published: PublishedLog, lastOldRows: UInt64? = nil) throws {
        self.access = access
        self.former = former
        self.published = published
        self.lastOldRows = lastOldRows
        let late = try BackdatedChanges.all(access.meta)[former] ?? 0
        areLateChangesUnsent = late > published.sentUnderID.sequence
    }

    /// - Parameter stage: stages the changes of a changeset.
    /// - Returns: the numbers of tables with possibly changed rows.
    func run(_ stage: ([TableChanges]) throws -> Void) throws -> Set<Int> {
        var tokens: [RowToken] = []
        for table in access.registry.parentsFirst {
            tokens += try objects(of: table).map { RowToken(table: table.id, id: $0) }
        }
        if tokens.isEmpty { return [] }
        let rows = try PackedRows(access)
        var start = 0
        while start < tokens.count {
            let end = min(start + Self.maximumObjects, tokens.count)
            try write(tokens[start..<end], rows, stage)
            start = end
        }
        // A moved stamp may rarely pass a different stamp: so the rules check all objects once more. With pending
        // changes, rows do not yet match the state; then packing checks these objects.
        if try !PendingTable(access.connection).isEmpty { return [] }
        try AppTriggerSandbox(access).run { _ = try RowProjector(access).settle(seeds: tokens) }
        return Set(tokens.map(\.table))
    }

    private func write(
        _ tokens: ArraySlice<RowToken>, _ rows: PackedRows, _ stage: ([TableChanges]) throws -> Void
    ) throws {
        do {
            try access.savepoint {
                var changes: [TableChanges] = []
                var valueBytes = 0
                var rest = tokens
                while let table = rest.first?.table {
                    var builder = TableChangesBuilder(access.registry[table], columns: access.registry[table].columns)
                    for token in rest.prefix(while: { $0.table == table }) {
                        try rewrite(token.id, access.registry[table], rows, &builder)
                    }
                    rest = rest.drop { $0.table == table }
                    if !builder.isEmpty { changes.append(builder.changes) }
                    valueBytes += builder.valueBytes
                }
                guard valueBytes <= ChangeCapture.maximumBytes || tokens.count == 1 else {
                    throw FerryError(.limitExceeded, "The changes have more than \(ChangeCapture.maximumBytes) bytes.")
                }
                if !changes.isEmpty { try stage(changes) }
            }
        } catch let error as FerryError where error.code == .limitExceeded && tokens.count > 1 {
            // Too large for a single segment: writes two halves.
            let middle = tokens.startIndex + tokens.count / 2
            try write(tokens[..<middle], rows, stage)
            try write(tokens[middle...], rows, stage)
        }
    }

    // MARK: Finding

    private func isUnsent(_ stamp: Stamp?) -> Bool {
        guard let stamp, stamp.device == former else { return false }
        if stamp.time.isKnown {
            // A backdated change comes a tick behind another time. To send a few of the sent changes again harms nobody.
            return stamp.time > sent.time || areLateChangesUnsent && stamp.time.counter > 0
        }
        // The time of the log says nothing of rows of an unknown time.
        if let lastOldRows, sent.time > .zero { return lastOldRows > sent.sequence }
        // Mostly such rows are packed when a database joins, before anything else.
        return sent.time <= .unknown
    }

    private func objects(of table: TrackedTable) throws -> [ObjectID] {
        var found: [ObjectID] = []
        try access.connection.forEachRow(
            "SELECT object, state FROM \(table.objectTable) WHERE state IS NOT NULL ORDER BY object"
        ) { row in
            guard let id: ObjectID = row.id(0) else { return }
            let registers = try StateCodec.decode(row.bytes(1), device: { try access.devices.device($0) }).registers
            if isUnsent(registers.inserted) || isUnsent(registers.deleted)
                || registers.fields.contains(where: isUnsent)
            {
                found.append(id)
            }
        }
        return found
    }

    // MARK: Writing

    /// The writes of an object with the same time.
    private struct Write {
        var isInsertion = false
        var columns: [Int] = []
        var isDeletion = false
    }

    private func rewrite(
        _ object: ObjectID, _ table: TrackedTable, _ rows: PackedRows, _ builder: inout TableChangesBuilder
    ) throws {
        let states = access.objects(of: table.id)
        var state = try states.load(object)
        var row: ColumnValues = [:]
        if state.shown.hasRow, table.isLocal {
            row = try rows.read(state.key, table) ?? [:]
        }
        let values = row.overlaid(with: state.kept.fields)
        let wish = table.isMapped ? state.shown.hasRow ? state.key.first : state.kept.key : nil
        for (time, write) in writes(of: state, values).sorted(by: { $0.key < $1.key }) {
            let stamp = Stamp(time: time, device: access.device)
            if write.isInsertion { state.registers.inserted = stamp }
            if write.isInsertion || !write.columns.isEmpty {
                var plain: ColumnValues = [:]
                var parts: [EncodedPart] = []
                for column in write.columns {
                    state.registers.fields[column] = stamp
                    if let register = state.policies[column], !mustBePlain(register) {
                        parts += register.parts.map { part in
                            EncodedPart(
                                column: .init(number: column, kind: part.kind),
                                bytes: PolicyCodec.encode(part, own: stamp))
                        }
                        if !register.isPlain { continue }
                    }
                    guard let value = values[column] else { continue }
                    plain[column] = value
                    guard var register = state.policies[column] else { continue }
                    register.merge(.plain(value), at: stamp)
                    state.keep(register, column, table.columns[column].policy, newest: stamp)
                }
                builder.append(
                    object, write.isInsertion ? .insert : .update, time, key: write.isInsertion ? wish : nil,
                    .init(values: plain, parts: parts))
            }
            if write.isDeletion {
                state.registers.deleted = stamp
                builder.append(object, .delete, time)
            }
        }
        states.renewCheck(of: &state, row: row)
        try states.save(state)
    }

    /// The unpublished registers by their new times. A column without a known value is left out.
    private func writes(of state: ObjectState, _ values: ColumnValues) -> [HybridTime: Write] {
        var writes: [HybridTime: Write] = [:]
        if let stamp = state.registers.inserted, isUnsent(stamp) {
            writes[stamp.time.next, default: Write()].isInsertion = true
        }
        if let stamp = state.registers.deleted, isUnsent(stamp) {
            writes[stamp.time.next, default: Write()].isDeletion = true
        }
        for case (let column, let stamp?) in state.registers.fields.enumerated()
        where isUnsent(stamp) && values[column] != nil {
            writes[stamp.time.next, default: Write()].columns.append(column)
        }
        return writes
    }

    /// True if a column under a policy must be written as its shown value.
    private func mustBePlain(_ register: ColumnRegister) -> Bool {
        // Nobody else has the base of its sums and elements.
        if let plain = register.plain, isUnsent(plain.stamp) { return true }
        return published.isForked && (register.counter != nil || register.versions != nil)
    }
}
