import FerryContainer
import FerryContent
import FerryCore
import FerryStore

/// Looks after this device's packs in the container and beside the database, in thorough passes.
extension Replica {
    /// A pack beside the database without a row for so long belongs to nobody, in milliseconds.
    static let orphanMilliseconds: Int64 = 86_400_000

    /// Renews packs unfit for the container. Call before the pass packs changes, so that the new rows go along.
    func renewPacks(_ container: Container, isThorough: Bool) throws {
        // A pass with nothing to do asks the disk alone, and no database.
        guard try isThorough || !shelf.pendingPacks().isEmpty, try store.hasDocumentTables() else { return }
        let renewal = try PackRenewal(self)
        var packs = try renewal.outdatedPending()
        if isThorough { packs += try renewal.plainPacks() }
        if packs.isEmpty { return }
        try store.updateChunkIndex()
        try renewal.renew(packs, container)
    }

    /// Packs from before the membership was founded: those of this database, and on the founder those of all devices that do not go on under
    /// a new ID. Members open them by the epochs in a ring (`epochsOfContents`).
    /// - Parameter heads: of the remaining members.
    func formerPacks(heads: [DeviceID: Head] = [:]) throws -> [PackRow] {
        guard let membership = try membershipOfPass(), try store.hasDocumentTables() else { return [] }
        let own = Set(try store.reading().formerDevices.map(\.device))
        let goOn = Set(heads.values.compactMap(\.predecessor?.device))
        let isFounder = membership.isFounder { $0 == membership.device || own.contains($0) }
        return try store.readContents { rows, _ in
            let devices = try rows.packDevices().filter { device in
                FormerFiles.isFormer(device, membership)
                    && (own.contains(device) || isFounder && !goOn.contains(device))
            }
            return try Self.packs(of: devices, rows).filter { $0.epoch != nil }
        }
    }

    /// The plain packs of computers that are gone, from before the container was sealed, as far as the packs are there. Every other device
    /// seals its own.
    /// - Parameter heads: of the remaining members.
    func plainPacksOfOthers(
        _ membership: Membership, heads: [DeviceID: Head], _ container: Container
    ) throws -> [PackRow] {
        guard try store.hasDocumentTables() else { return [] }
        let own = try store.reading().formerDevices.map(\.device)
        let goOn = Set(heads.values.compactMap(\.predecessor?.device)).union(own)
        let packs = try store.readContents { rows, _ in
            let devices = try rows.packDevices().filter { FormerFiles.isFormer($0, membership) && !goOn.contains($0) }
            return try Self.packs(of: devices, rows).filter { $0.epoch == nil }
        }
        return try packs.filter { try container.packByteCount($0.id, of: $0.device) == $0.byteCount }
    }

    /// Seals some of these packs: puts their chunks that somebody needs into packs of this device. The caller publishes the new packs.
    /// - Returns: true if any pack was sealed, and others may be left.
    func sealPlainPacks(_ packs: [PackRow], _ container: Container) throws -> Bool {
        if packs.isEmpty { return false }
        try store.updateChunkIndex()
        let part = Self.part(of: packs[...])
        try PackRenewal(self).renew(Array(part), container, needs: neededChunks())
        return try store.readContents { rows, _ in try part.contains { try rows.soundPack($0.id) == nil } }
    }

    /// Whether somebody needs a chunk: a content lists the chunk, or a remembered deleted content does.
    private func neededChunks() throws -> (ChunkID) throws -> Bool {
        let remembered = try store.rememberedChunks()
        return { [store] chunk in
            try remembered.contains(chunk) || store.readContents { _, index in try index.isListed(chunk) }
        }
    }

    /// The sound packs of devices, by device and ID.
    private static func packs(of devices: some Sequence<DeviceID>, _ rows: ContentRows) throws -> [PackRow] {
        try devices.sorted().flatMap { try rows.packs(of: $0).sorted() }.compactMap { try rows.soundPack($0) }
    }

    /// The first packs, with no more bytes than are packed anew before they are published.
    private static func part(of packs: ArraySlice<PackRow>) -> ArraySlice<PackRow> {
        guard let first = packs.first else { return [] }
        var bytes = first.byteCount
        let end = packs.dropFirst().firstIndex { pack in
            bytes += pack.byteCount
            return bytes > renewedBytesAtOnce
        }
        return packs[..<(end ?? packs.endIndex)]
    }

    /// Puts chunks that somebody needs of packs from before the membership into new packs, as far as the packs are there.
    /// - Parameter publish: called after each part, so that a large container takes little room beside the database.
    func renewFormerPacks(_ container: Container, heads: [DeviceID: Head], publish: () throws -> Void) throws {
        let packs = try formerPacks(heads: heads).filter { pack in
            try shelf.openPending(pack.id) != nil
                || container.packByteCount(pack.id, of: pack.device) == pack.byteCount
        }
        if packs.isEmpty { return }
        try store.updateChunkIndex()
        let needs = try neededChunks()
        let renewal = try PackRenewal(self)
        var rest = packs[...]
        while !rest.isEmpty {
            let part = Self.part(of: rest)
            rest = rest[part.endIndex...]
            try renewal.renew(Array(part), container, needs: needs)
            try publish()
        }
    }

    /// How many bytes of former packs are packed anew before they are published.
    private static let renewedBytesAtOnce = 256 << 20

    /// Removes the files of this device's packs without a row, once the removal of the row is published. A pack gets the row back where a
    /// known content lists a chunk without a further pack: somebody removed the row by mistake. Packs with a row and without a file
    /// are made again; the caller packs and publishes their rows.
    @discardableResult
    func removeUnnamedPacks(_ container: Container) throws -> Int {
        guard try store.hasDocumentTables(), try !store.needsPass(), try store.outboxSizes().isEmpty else { return 0 }
        let named = try store.readContents { rows, _ in try rows.packs(of: identity.device) }
        let present = try container.packs(of: identity.device)
        try repairLostPacks(named, present: present.map(\.id), container)
        let files = present.filter { !named.contains($0.id) }
        if files.isEmpty { return 0 }
        try store.updateChunkIndex()
        let remembered = try store.rememberedChunks()
        var count = 0
        for file in files {
            switch try use(ofUnnamed: file.id, remembered, container) {
            case .needed(let row): try store.write { try ContentRows($0).insert(row) }
            case .none:
                try container.removePack(file.id, of: identity.device)
                count += 1
            case .unknown: continue
            }
        }
        return count
    }

    /// Packs contents again whose packs the folder has lost: somebody put an older state of the folder back. A listing of a storage may
    /// lag, and says nothing.
    private func repairLostPacks(_ named: Set<PackID>, present: [PackID], _ container: Container) throws {
        if container.answersFromListing { return }
        if try named.subtracting(present).subtracting(shelf.pendingPacks()).isEmpty { return }
        try repairContents(container)
    }

    /// What a pack without a row is good for.
    private enum UnnamedPack {
        /// A content needs a chunk of the pack. The pack gets this row back.
        case needed(PackRow)
        case none
        /// The file is unreadable now, so the file stays.
        case unknown
    }

    private func use(
        ofUnnamed id: PackID, _ remembered: Set<ChunkID>, _ container: Container
    ) throws -> UnnamedPack {
        let device = identity.device
        guard let byteCount = try container.packByteCount(id, of: device) else { return .unknown }
        let keys = try contentKeys()
        do {
            let reader = try PackReader(
                { try container.readPack(id, of: device, range: $0) ?? [] }, byteCount: byteCount, of: device,
                in: keys.surroundings(nil, isSealed: identity.genesis != nil))
            let isNeeded = try reader.directory.entries.contains { entry in
                try store.readContents { _, index in
                    try (remembered.contains(entry.id) || index.isListed(entry.id))
                        && index.places(of: entry.id).isEmpty
                }
            }
            guard isNeeded else { return .none }
            return .needed(
                PackRow(
                    id: id, device: device, byteCount: byteCount, directory: reader.directory, epoch: reader.epoch))
        } catch let error as FerryError where error.concernsOneFile {
            // A plain pack in a sealed container was sealed anew.
            return error.code == .notSealed ? .none : .unknown
        }
    }

    /// Whether the file of a pack is in the container with the row's length. Each pack is looked at once.
    /// - Parameter countingPending: true: a pack beside the database counts as well.
    func packs(in container: Container, countingPending: Bool) -> (ChunkIndex.Place) throws -> Bool {
        let known = Locked<[PackID: Bool]>([:])
        return { [shelf, store] place in
            if let known = known.withLock({ $0[place.pack] }) { return known }
            let isPending = try shelf.openPending(place.pack) != nil
            let length = try store.readContents { rows, _ in try rows.byteCount(of: place.pack) }
            let isThere =
                try isPending
                ? countingPending
                : length != nil && container.packByteCount(place.pack, of: place.device) == length
            known.withLock { $0[place.pack] = isThere }
            return isThere
        }
    }
}
