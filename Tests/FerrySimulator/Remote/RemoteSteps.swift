import FerryContainer
import FerryCore
import FerryEngine

/// Faults of an object storage, and of the hint `latest`.
extension Step {
    /// A fault of the storage, met by a single device where the storage allows.
    enum StorageFault: String, CaseIterable {
        /// A request is done, and the answer gets lost.
        case answerLost
        /// A request is refused, once.
        case refused
        /// Every request is refused for a while (503).
        case unavailable
        /// Answers take long for a while.
        case slow
        /// New objects are not there for a while (404), though `latest` tells of them.
        case lateObjects
        /// Listings are those of a moment for a while.
        case staleListing
        /// Replaced objects are read as they were, for a while.
        case oldReads
        /// Everything is as it was, for a while.
        case oldState
        /// An object cannot be read by anybody, for a while.
        case unreadable
        /// Conditions are honoured no more, or again.
        case conditions
    }

    /// Lets the storage do something wrong, and the device sync in the middle of it.
    func misbehave(_ machine: Machine) throws {
        guard let storage = machine.storage, let fault = random.element(of: StorageFault.allCases) else { return }
        let isLasting = random.isOne(in: 2)
        let minutes: Int64 = isLasting ? [40, 120][random.below(2)] : [1, 10][random.below(2)]
        try arm(fault, storage, milliseconds: minutes * 60_000)
        tell(machine, "meets a storage with \(fault.rawValue)")
        switch fault {
        case .answerLost, .refused:
            // Writes something to publish, so that the fault strikes.
            try transaction(machine, 1)
            try simulation.sync(machine, isThorough: random.isOne(in: 2))
            disarm(storage, fault)
        default:
            // What is new now is seen only afterwards.
            if let other = random.element(of: simulation.living), other !== machine {
                try transaction(other, 1)
                try simulation.sync(other, isThorough: false)
            }
            for _ in 0..<random.below(3) { try simulation.sync(machine, isThorough: random.isOne(in: 2)) }
        }
    }

    /// As `misbehave(_:)`, without a sync, and for so long that a watching device sees the end.
    func misbehaveShortly(_ machine: Machine) throws {
        guard let storage = machine.storage, let fault = random.element(of: StorageFault.allCases) else { return }
        try arm(fault, storage, milliseconds: Int64(1 + random.below(10)) * 60_000)
        tell(machine, "meets a storage with \(fault.rawValue)")
    }

    private func arm(_ fault: StorageFault, _ storage: DeviceStorage, milliseconds: Int64) throws {
        let shared = storage.shared
        let until = shared.now + milliseconds
        let present = shared.storage(of: shared.memory.contents)
        let former = shared.storage(of: random.element(of: Array(shared.moments.suffix(8))) ?? shared.memory.contents)
        func distort(_ past: MemoryStorage, listsPast: Bool, _ reads: DeviceStorage.Distortion.Reads) {
            storage.add(
                DeviceStorage.Distortion(
                    fault.rawValue, past: past, listsPast: listsPast, reads: reads, until: until))
        }
        switch fault {
        case .answerLost: shared.memory.inject(.answerLost, afterRequests: random.below(12))
        case .refused: shared.memory.inject(.refused, afterRequests: random.below(12))
        case .unavailable: storage.refuse(milliseconds: milliseconds)
        case .slow: storage.slowDown(milliseconds: milliseconds, each: Int64(1 + random.below(20_000)))
        case .lateObjects: distort(present, listsPast: random.isOne(in: 2), .absentWhereNew)
        case .staleListing: distort(present, listsPast: true, .present)
        case .oldReads: distort(random.isOne(in: 2) ? former : present, listsPast: false, .pastWhereKnown)
        case .oldState: distort(former, listsPast: true, .past)
        case .unreadable:
            guard let key = random.element(of: shared.memory.contents.keys.sorted()) else { return }
            let code: FerryError.Code = random.isOne(in: 2) ? .inputOutput : .accessDenied
            shared.makeUnreadable(key, code, milliseconds: milliseconds)
            simulation.tally.note("storage unreadable")
        case .conditions:
            // A storage that lags has none.
            guard simulation.kind == .objectStorage else { return }
            shared.memory.setHonoursConditions(random.isOne(in: 2))
            simulation.tally.note("storage conditions")
        }
    }

    /// Takes back a fault that no request has met.
    private func disarm(_ storage: DeviceStorage, _ fault: StorageFault) {
        if !storage.shared.memory.hasFault { simulation.tally.note("storage \(fault.rawValue)") }
        storage.shared.memory.recover()
    }

    /// Loses what `latest` says, in one of the ways in which it gets lost.
    func loseLatest(_ machine: Machine) throws {
        guard let storage = machine.storage?.shared, let loss = random.element(of: LatestLoss.allCases) else { return }
        let former = storage.moments.compactMap { $0[LatestSegments.name] }
        guard try storage.lose(loss, random, former: random.element(of: former)) else { return }
        tell(machine, "finds latest \(loss.rawValue)")
        simulation.tally.note("latest \(loss.rawValue)")
        if random.isOne(in: 2) { try simulation.sync(machine, isThorough: random.isOne(in: 3)) }
    }
}

/// What becomes of the hint `latest`.
enum LatestLoss: String, CaseIterable {
    case removed
    case empty
    case garbled
    /// It is the object of a former moment.
    case older
    /// It is another container's.
    case foreign
    /// The entry of one device or of several was overwritten at the same moment.
    case overwritten
    /// It tells of a segment that nobody has.
    case forged
}

extension SimulatedStorage {
    /// Loses what `latest` says.
    /// - Parameters:
    ///   - former: a former content of the object.
    ///   - device: the device whose entry is overwritten; `nil`: any.
    /// - Returns: false where there is nothing to lose.
    func lose(
        _ loss: LatestLoss, _ random: SimulatedRandom, former: [UInt8]?, of device: DeviceID? = nil
    ) throws -> Bool {
        guard let bytes = memory.contents[LatestSegments.name], !bytes.isEmpty,
            let marker = memory.contents[ContainerDescription.fileName]
        else { return false }
        let container = try ContainerDescription(decoding: marker).id
        // What is damaged already can be lost again in other ways alone.
        let latest = try? LatestSegments(decoding: bytes, container: container)
        switch loss {
        case .removed: memory.set(LatestSegments.name, nil)
        case .empty: memory.set(LatestSegments.name, [])
        case .garbled:
            var garbled = bytes
            garbled[random.below(garbled.count)] ^= UInt8(1 + random.below(255))
            memory.set(LatestSegments.name, garbled)
        case .older:
            guard let former, former != bytes else { return false }
            memory.set(LatestSegments.name, former)
        case .foreign:
            let other = LatestSegments(
                container: ContainerID(high: 7, low: 7), nonce: random.next(), entries: latest?.entries ?? [])
            memory.set(LatestSegments.name, other.encoded())
        case .overwritten:
            guard let latest, let lost = device ?? random.element(of: latest.entries.map(\.device)) else {
                return false
            }
            let left = latest.entries.filter { $0.device != lost }
            memory.set(
                LatestSegments.name,
                LatestSegments(container: container, nonce: random.next(), entries: left).encoded())
        case .forged:
            guard var latest, var entry = random.element(of: latest.entries) else { return false }
            let last = entry.segment?.last ?? 0
            entry.segment = try SegmentName(
                first: last + 1, last: last + 1 + UInt64(random.below(3)),
                checksum: Checksum(high: random.next(), low: 0))
            latest.announce(entry, nonce: random.next())
            memory.set(LatestSegments.name, latest.encoded())
        }
        return true
    }
}

/// What holds of a container in an object storage, beside what holds of every one: a listing finds what `latest` lost.
extension Simulation {
    /// Lets a device publish, loses the announcement, and looks whether another device finds the publication by a listing.
    ///
    /// Where nothing is lost, a look at `latest` alone has to find it.
    func checkThatAListingFindsWhatLatestLost() throws {
        guard let storage, living.count > 1, problems.isEmpty else { return }
        let random = SimulatedRandom(seed: plan.seed, stream: 0x1a7e57 + UInt64(tally.counts["quiet points"] ?? 0))
        let pair = random.shuffled(living)
        let (writer, reader) = (pair[0], pair[1])
        // Both know the present state, and what is announced.
        for machine in [writer, reader] { try sync(machine, isThorough: true) }
        let former = storage.memory.contents[LatestSegments.name]
        let line = try writeLine(writer)
        guard let report = try sync(writer, isThorough: false), report.published.changes > 0 else {
            return fail("d\(writer.index) publishes nothing, though everything works")
        }
        let loss = random.isOne(in: 4) ? nil : random.element(of: LatestLoss.allCases)
        let device = try writer.opened().identity.device
        let isLost =
            try loss.map { try storage.lose($0, random, former: former, of: device) } ?? false
        // A lagging listing catches up.
        storage.catchUp()
        if plan.hidesFromListings {
            reader.storage?.withhold("devices/\(device.hex)/", past: [:])
        }
        // A forged announcement lets the reader look for what is not there.
        if isLost, random.isOne(in: 2) { try sync(reader, isThorough: false) }
        try sync(reader, isThorough: isLost)
        tally.note(isLost ? "latest lost, listing finds" : "latest finds")
        let found = Set(try reader.rows("SELECT text FROM line").map(SimulatedProperties.bare))
        if !found.contains(line) {
            let how = isLost ? "by a listing, after latest was \(loss?.rawValue ?? "lost")" : "by latest"
            fail("d\(reader.index) does not find \(how), what d\(writer.index) published: \(line)")
        }
    }
}
