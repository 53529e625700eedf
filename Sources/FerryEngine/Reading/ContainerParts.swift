import FerryContainer
import FerryCore
import FerryLog
import FerryStore

/// Where the parts of large values come from.
extension Container {
    /// The parts to which segments and snapshots of a device refer.
    /// - Parameter epoch: that of the file which refers to them; `nil` in an open container.
    func partSource(of device: DeviceID, under epoch: EpochID?) -> PartSource {
        .files(
            read: { part in
                if let file = try readPart(part.checksum, of: device, under: epoch) { return file }
                try requestPart(part.checksum, of: device, under: epoch)
                throw FerryError(
                    .fileNotThereYet,
                    "A part of a large value is not there yet, and has still to arrive.",
                    path: try partPath(part.checksum, of: device, under: epoch), device: device)
            },
            // A name that cannot be told is missing in a message.
            place: { try? partPath($0.checksum, of: device, under: epoch) },
            look: { try lookForParts($0, of: device, under: epoch) })
    }

    /// Looks whether all parts are there. So a value of which most parts are there is not read again and again.
    private func lookForParts(_ parts: [LargeValue.Part], of device: DeviceID, under epoch: EpochID?) throws {
        // A remote place may have what its last listing did not have yet.
        if answersFromListing { return }
        let present = try self.parts(of: device)
        let missing = try parts.filter { try !present.contains(partName($0.checksum, of: device, under: epoch)) }
        guard let first = missing.first else { return }
        for part in missing { try requestPart(part.checksum, of: device, under: epoch) }
        throw FerryError(
            .fileNotThereYet,
            "\(missing.count) of the \(parts.count) parts of a large value are not there yet, and have still to "
                + "arrive.", path: try partPath(first.checksum, of: device, under: epoch), device: device)
    }
}

extension Store {
    /// The parts of an entry of the outbox.
    func partSource(of entry: OutboxEntry) -> PartSource {
        .files(read: { try self.partFile($0.checksum, of: entry.numbers) }, place: { _ in nil })
    }
}

extension OutboxParts {
    /// The parts of the present entry.
    var source: PartSource { .files(read: { try file($0.checksum) }, place: { _ in nil }) }
}
