import FerryContainer
import FerryCore
import FerryEngine
import FerryMembers

/// What must hold of a sealed container, beside what must hold of every one.
extension SealedLife {
    /// What there was before a sync: what the device knew, and which files it had published.
    struct Before {
        var knowledge: Knowledge
        var device: DeviceID
    }

    /// Looks at a device before it syncs.
    func look(at machine: Machine) throws -> Before {
        let knowledge = try knowledge(of: machine)
        for content in try machine.place.containerFiles().values {
            seen.insert(ContentHash.checksum(content))
        }
        return Before(knowledge: knowledge, device: knowledge.device)
    }

    /// Checks what a device has published: nothing of it is under an epoch that somebody can open who was out by what the device
    /// knew before.
    func checkPublished(_ machine: Machine, since before: Before, _ simulation: Simulation) throws {
        let device = try knowledge(of: machine).device
        var verdicts: [EpochID: DeviceID?] = [:]
        for (path, content) in try machine.place.containerFiles().sorted(by: { $0.key < $1.key })
        where path.hasPrefix("devices/\(device.hex)/") {
            guard seen.insert(ContentHash.checksum(content)).inserted, let epoch = Self.epoch(of: content) else {
                continue
            }
            let reader = verdicts[epoch] ?? outsider(for: epoch, before.knowledge)
            verdicts[epoch] = .some(reader)
            if let reader {
                simulation.fail("d\(machine.index) seals \(path) under an epoch that \(reader) has, which is out")
            }
        }
    }

    /// Somebody who is out by what a device knows, and can open an epoch by the same records.
    private func outsider(for epoch: EpochID, _ knowledge: Knowledge) -> DeviceID? {
        witness.files.sorted { $0.key < $1.key }.first { device, file in
            (knowledge.roster.removed[device] != nil || knowledge.roster.left[device] != nil)
                && knowledge.canOpen(epoch, with: file.keys)
        }?.key
    }

    /// The epoch under which a file is sealed (Docs/Format.md, "Envelopes"); `nil` for records and claims.
    private static func epoch(of file: [UInt8]) -> EpochID? {
        guard file.count > 128, file.starts(with: Array("FRYX".utf8)) else { return nil }
        return EpochID(bytes: file[40..<56])
    }

    /// Checks that nobody is a member who was removed by what all devices knew at an earlier quiet point.
    private func checkRoster(_ machine: Machine, _ simulation: Simulation) throws {
        let roster = try knowledge(of: machine).roster
        for device in roster.members.keys.sorted() where gone.contains(device) {
            simulation.fail("d\(machine.index) takes \(device) for a member, which was removed")
        }
        gone.formUnion(roster.removed.filter { $0.value.removedMilliseconds != nil }.keys)
    }

    /// Checks at a quiet point that all devices know the same members and have one epoch, which nobody has who is out.
    func checkAtRest(_ simulation: Simulation) throws {
        var first: Knowledge?
        for machine in simulation.living {
            let who = "d\(machine.index)"
            let knowledge = try knowledge(of: machine)
            if !knowledge.isIn { simulation.fail("\(who) is no member") }
            if let first, first.recordsDigest != knowledge.recordsDigest {
                simulation.fail("\(who) knows other records than d\(simulation.living[0].index)")
            }
            if let first, first.roster.digest != knowledge.roster.digest {
                simulation.fail("\(who) knows other members than d\(simulation.living[0].index)")
            }
            first = first ?? knowledge
            try checkRoster(machine, simulation)
        }
        guard let first else { return }
        guard let epoch = first.roster.epoch else { return simulation.fail("there is no epoch") }
        if !epoch.lacking.isEmpty { simulation.fail("\(epoch.lacking) lack the epoch") }
        if let outsider = outsider(for: epoch.id, first) {
            simulation.fail("\(outsider) has the current epoch and is out")
        }
        try search(simulation)
        // What is shown everywhere is accepted, whoever wrote it, and is not lost any more.
        if let machine = simulation.living.first { simulation.ledger.trust(try machine.values()) }
    }

    // MARK: The mark

    /// Searches every content that ever was in the folder for the mark, and for files that are not sealed.
    func search(_ simulation: Simulation) throws {
        var files = simulation.provider.everything
        if let storage = simulation.storage {
            files += storage.everything
        } else {
            for machine in simulation.machines {
                files += try Provider.files(on: machine.files.disk).map { (path: $0.key, content: $0.value) }
            }
        }
        for (path, content) in files where searched.insert(ContentHash.checksum(content)).inserted {
            if Simulation.contains(content, Array(mark.utf8)) { simulation.fail("\(path) shows what is written") }
            if Self.plainMagics.contains(where: { content.starts(with: $0) }) {
                simulation.fail("\(path) is not sealed")
            }
            simulation.tally.note("files searched")
        }
    }

    /// What the files of open containers begin with.
    private static let plainMagics = ["FRYS", "FRYH", "FRYM", "FRYC", "FRYV"].map { Array($0.utf8) }
}

extension Simulation {
    /// Whether a word stands in a file.
    public static func contains(_ content: [UInt8], _ word: [UInt8]) -> Bool {
        guard content.count >= word.count, let first = word.first else { return false }
        return content.withUnsafeBufferPointer { bytes in
            (0...(bytes.count - word.count)).contains { start in
                bytes[start] == first && bytes[start..<(start + word.count)].elementsEqual(word)
            }
        }
    }
}
