import FerryCore
import FerrySQL
import FerrySchema

/// Writes the states of deleted objects in the common case: the state was plain, and the deletion is later than every
/// known write. The values of the removed row become shadow values. The result is what `ObjectTable.save` writes.
///
/// For each object in turn: `take`, `beginValues`, `append` for each value by ascending column, `write`. Call `finish`
/// at the end.
final class TombstoneWriter {
    private let table: Int
    private let update: LazyStatement
    private let digests: StateDigests
    private let devices: DeviceNumbers
    /// The sum of changes for the table's digest.
    @exclusivity(unchecked) private var change = StateDigests.Change()
    /// The state being written, without the deletion until `write`.
    @exclusivity(unchecked) private var stamps: [UInt8] = []
    /// The position of the deletion in `stamps`.
    @exclusivity(unchecked) private var place = 0
    @exclusivity(unchecked) private var kept = ByteWriter()

    init(_ objects: ObjectTable) {
        table = objects.table.id
        digests = objects.digests
        devices = objects.devices
        let keys = (0..<objects.keyWidth).map { "k\($0) = NULL, " }.joined()
        update = LazyStatement(
            """
            UPDATE \(objects.table.objectTable) SET \(keys)shown = \(Visibility.tombstone), "check" = 0, state = ?2, kept = ?3
            WHERE object = ?1
            """, objects.connection)
    }

    /// Takes over the stamps of an object.
    /// - Parameter state: as encoded by `StateCodec`; empty for a state that is not plain.
    /// - Returns: the newest write; `nil` for a state that is not plain.
    func take(_ state: UnsafeRawBufferPointer) throws -> StateCodec.NewestWrite? {
        guard let newest = try StateCodec.newestWrite(in: state) else { return nil }
        stamps.removeAll(keepingCapacity: true)
        stamps.append(contentsOf: state)
        place = newest.end
        return newest
    }

    /// Begins the shadow values.
    /// - Parameter key: the row's key, in a mapped table.
    func beginValues(key: FieldValue?) {
        kept.removeAll()
        if let key { StateCodec.appendKept(key: key, to: &kept) }
    }

    /// Appends a portable value of the removed row.
    func append(_ column: Int, _ value: FieldValue) { StateCodec.appendKept(column, value, to: &kept) }

    /// Appends a value of the removed row that is portable as it is.
    func append(_ column: Int, _ row: SQLStatement, _ source: Int32) {
        guard let isText = row.isText(source) else { return append(column, row.value(source)) }
        row.withBytes(source) { StateCodec.appendKept(column, $0, isText: isText, to: &kept) }
    }

    /// Writes the state.
    /// - Parameter check: the object checksum in the store.
    func write(_ object: ObjectID, _ deletion: Stamp, check: UInt64) throws {
        StateCodec.insertDeletion(
            deletion.time, device: try devices.number(of: deletion.device), at: place, in: &stamps)
        let statement = try update.prepared()
        statement.bind(object, 1)
        statement.bind(blob: stamps, 2)
        statement.bind(lasting: kept.count == 0 ? .null : .blob(kept.bytes[...]), 3)
        try statement.run()
        change.add(StateDigests.Change(from: check, to: 0))
    }

    /// Reports the changed checksums to the table's digest.
    func finish() {
        digests.note(table, change)
        change = StateDigests.Change()
    }
}
