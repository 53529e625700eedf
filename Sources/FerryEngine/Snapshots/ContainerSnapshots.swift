import FerryContainer
import FerryCore
import FerryLog
import FerrySchema
import FerryStore

/// A container's snapshots, for compaction.
struct ContainerSnapshots: CompactionSnapshots {
    let container: Container
    let store: Store
    let identity: StoreIdentity
    let clock: any WallClock
    var largeValues = LargeValueSettings()

    private var device: DeviceID { identity.device }

    func best(trusting known: [KnownSnapshot]) throws -> KnownSnapshot? {
        let catalog = SnapshotCatalog(container)
        let entries = try catalog.entries().sorted {
            $0.manifest.vector[device].sequence > $1.manifest.vector[device].sequence
        }
        for entry in entries {
            let found = describe(entry)
            // A known whole snapshot with all files present is not read again.
            if known.contains(where: { $0.device == found.device && $0.name == found.name }) { return found }
            if try catalog.isWhole(entry) { return found }
        }
        return nil
    }

    func isThere(_ snapshot: KnownSnapshot) throws -> Bool {
        guard let device = DeviceID(snapshot.device), let name = SnapshotName(snapshot.name) else { return false }
        return try container.snapshots(of: device).contains(name)
    }

    func write() throws -> KnownSnapshot {
        let written = try SnapshotWriter(
            container: container, store: store, identity: identity, largeValues: largeValues
        ).write()
        return KnownSnapshot(
            device: device.hex, name: written.name.fileName, covered: written.vector[device].sequence,
            bytes: written.bytes, milliseconds: clock.milliseconds(), epoch: epochNumber(written.epoch))
    }

    func own() throws -> [KnownSnapshot] {
        let catalog = SnapshotCatalog(container)
        return try container.snapshots(of: device).sorted().map { name in
            if let entry = try catalog.entry(name, of: device) { return describe(entry) }
            // An unreadable snapshot covers nothing, and is removed once a newer snapshot supersedes it.
            return KnownSnapshot(
                device: device.hex, name: name.fileName, covered: 0, bytes: 0, milliseconds: clock.milliseconds())
        }
    }

    func remove(_ names: [String]) throws {
        for name in names.compactMap({ SnapshotName($0) }) { try container.removeSnapshot(name, of: device) }
        var needed: Set<ChunkName> = []
        for name in try container.snapshots(of: device) {
            // Beside an unreadable manifest, the needed chunks are unknown: nothing is removed.
            guard let entry = try SnapshotCatalog(container).entry(name, of: device) else { return }
            needed.formUnion(try SnapshotCatalog(container).names(of: entry))
        }
        for chunk in try container.chunks(of: device).subtracting(needed).sorted() {
            try container.removeChunk(chunk, of: device)
        }
        try removeParts()
    }

    func removeParts() throws {
        let present = try container.parts(of: device)
        if present.isEmpty { return }
        var needed: Set<PartName> = []
        for name in try container.snapshots(of: device) {
            // Beside an unreadable manifest, the needed parts are unknown: nothing is removed.
            guard let entry = try SnapshotCatalog(container).entry(name, of: device) else { return }
            needed.formUnion(try SnapshotCatalog(container).partNames(of: entry))
        }
        // The container may have some parts of a waiting segment already.
        for part in try store.segmentParts() {
            needed.formUnion(try container.partNames(part.checksum, of: device))
        }
        for part in present.subtracting(needed).sorted() { try container.removePart(part, of: device) }
    }

    private func describe(_ entry: SnapshotCatalog.Entry) -> KnownSnapshot {
        KnownSnapshot(
            device: entry.device.hex, name: entry.name.fileName,
            covered: entry.manifest.vector[device].sequence, bytes: entry.bytes, milliseconds: clock.milliseconds(),
            epoch: epochNumber(entry.epoch))
    }

    private func epochNumber(_ epoch: EpochID?) -> UInt32? { epoch.map { container.number(of: $0) } }
}
