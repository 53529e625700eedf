import FerryCore

/// Contexts (Docs/Format.md, "Contexts"): only the entries that differ from the changeset before; an entry of zeros
/// removes an entry.
enum ContextEncoding {
    /// The entries of `context` that differ from `previous`, in the order of the devices' IDs.
    static func changes(
        _ context: VersionVector, since previous: VersionVector
    ) -> [(device: DeviceID, position: LogPosition)] {
        var changes: [(device: DeviceID, position: LogPosition)] = []
        for (device, position) in context.positions where previous[device] != position {
            changes.append((device, position))
        }
        for device in previous.positions.keys where context.positions[device] == nil {
            changes.append((device, .none))
        }
        return changes.sorted { $0.device < $1.device }
    }

    static func write(
        _ changes: [(device: DeviceID, position: LogPosition)], count: Int, previousCount: Int,
        devices: [DeviceID: Int],
        budget: inout SegmentBudget, to writer: inout ByteWriter
    ) throws(FerryError) {
        try budget.check(count, atMost: SegmentLimits.contextDevices, "devices in one context")
        // A decoder copies the whole context at each change.
        if !changes.isEmpty { try budget.take(changes.count + previousCount, .contextEntries) }
        writer.writeVarint(UInt64(changes.count))
        for (device, position) in changes {
            guard let index = devices[device], position.sequence <= SegmentLimits.sequence, position.time <= .latest
            else {
                throw FerryError(
                    .invalidArgument, "A context cannot be written: a sequence number or a time is out of range.")
            }
            writer.writeVarint(UInt64(index))
            writer.writeVarint(position.sequence)
            writer.writeVarint(position.time.rawValue)
        }
    }

    /// Reads the context after `previous`.
    static func read(
        after previous: VersionVector, devices: [DeviceID], budget: inout SegmentBudget, from reader: inout ByteReader
    ) throws(FerryError) -> VersionVector {
        let count = try reader.readCount(minimumBytes: 3)
        guard count > 0 else { return previous }
        try budget.take(count + previous.positions.count, .contextEntries)
        var positions = previous.positions
        var next = 0
        for _ in 0..<count {
            let index = try reader.readVarint()
            guard index >= UInt64(next), index < UInt64(devices.count) else {
                throw ByteReader.malformed("a context is out of order or out of range")
            }
            next = Int(index) + 1
            let sequence = try reader.readVarint()
            let time = HybridTime(rawValue: try reader.readVarint())
            guard sequence <= SegmentLimits.sequence, time <= .latest else {
                throw ByteReader.malformed("a context's sequence number or time is out of range")
            }
            let position = LogPosition(sequence: sequence, time: time)
            positions[devices[Int(index)]] = position == .none ? nil : position
        }
        try budget.check(positions.count, atMost: SegmentLimits.contextDevices, "devices in one context")
        return VersionVector(positions)
    }
}
