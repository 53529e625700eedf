import FerryContainer
import FerryCore
import FerryDocuments
import FerryEngine
import FerryStore
import FerryTestSupport

/// Documents in a life: what was stored, and what must be readable at quiet points. Random numbers of its own, so that a life's other
/// events are the same with documents and without.
final class DocumentLife {
    private let random: SimulatedRandom
    /// The bytes of each content, and the devices that stored them.
    private var contents: [ContentID: (bytes: [UInt8], storers: Set<Int>)] = [:]
    private var count = 0
    /// Days are hours here.
    let retention: DocumentRetention = {
        var retention = DocumentRetention()
        retention.versionMilliseconds = 3_600_000
        retention.dailyMilliseconds = 6 * 3_600_000
        retention.trashMilliseconds = 6 * 3_600_000
        return retention
    }()

    private static let paths = [
        "a.md", "b.md", "Scores/Trio.pdf", "Scores/Duo.pdf", "Scores/Old/a.md", "Notes/caf\u{e9}.md",
        "Notes/cafe\u{301}.md",
    ]

    init(_ random: SimulatedRandom) { self.random = random }

    // MARK: Deeds

    /// Makes the directories in which a machine has its files.
    func prepare(_ machine: Machine) throws {
        for directory in [machine.path, "/documents/x"] {
            var path = ""
            for name in directory.split(separator: "/").dropLast() {
                try machine.files.disk.createDirectory(at: path + "/" + name)
                try machine.files.disk.synchronizeDirectory(at: path.isEmpty ? "/" : path)
                path += "/" + name
            }
        }
    }

    /// Does something with documents, as a person would.
    func act(_ machine: Machine, _ simulation: Simulation) throws {
        let documents = DocumentAccess(try machine.opened())
        machine.setSQLitesTime()
        do {
            try act(documents, machine, simulation)
        } catch let error as FerryError
            where simulation.isExpected(error.code)
            || [.nameTaken, .nothingFound, .invalidArgument, .busy, .contentNotHere, .keyMissing].contains(error.code)
        {
            simulation.tally.note("documents refused")
        }
    }

    private func act(_ documents: DocumentAccess, _ machine: Machine, _ simulation: Simulation) throws {
        let shown = try documents.list(.below(.top))
        switch random.below(12) {
        case 0..<5: try store(documents, machine, simulation)
        case 5:
            guard let entry = random.element(of: shown) else { return }
            try documents.remove(entry.id)
            simulation.tally.note("documents removed")
        case 6:
            guard let entry = random.element(of: shown), let path = random.element(of: Self.paths) else { return }
            try documents.move(entry.id, to: DocumentPath(path))
            simulation.tally.note("documents moved")
        case 7:
            guard let entry = random.element(of: try documents.list(.deleted)) else { return }
            try documents.putBack(entry.id)
            simulation.tally.note("documents put back")
        case 8:
            guard let entry = random.element(of: try documents.list(.conflicts)) else { return }
            if random.isOne(in: 2) {
                try documents.settleKeepingBoth(entry.id)
            } else if let version = random.element(of: try documents.versions(of: entry.id).filter(\.isRival)) {
                try documents.settle(entry.id, keeping: version.id)
            }
            simulation.tally.note("document conflicts settled")
        case 9:
            _ = try documents.replica.evictContents(shown.compactMap(\.content))
            simulation.tally.note("documents evicted")
        case 10:
            var settings = ContentSettings()
            settings.fetchBytes = [nil, 0, 10_000][random.below(3)]
            settings.keepBytes = [nil, 20_000][random.below(2)]
            try documents.replica.store.setContentSettings(settings)
        default:
            // Folders that two devices move into each other.
            let folders = shown.filter { $0.kind == .folder }
            guard let entry = random.element(of: folders), let other = random.element(of: folders) else { return }
            try documents.move(entry.id, to: DocumentPath(other.path + "/" + entry.name))
        }
    }

    private func store(_ documents: DocumentAccess, _ machine: Machine, _ simulation: Simulation) throws {
        guard let path = random.element(of: Self.paths) else { return }
        count += 1
        let size = [10, 3000, 6000, 20_000, 150_000][random.below(5)]
        // Some bytes are those of other documents.
        let seed = UInt64(random.isOne(in: 4) ? random.below(max(count, 1)) : count)
        let source = SimulatedRandom(seed: seed, stream: 0xd0c)
        let bytes = (0..<size).map { _ in UInt8(truncatingIfNeeded: source.next()) }
        let file = "/documents/\(machine.index)-\(count)"
        try machine.files.disk.write(bytes, toNewFileAt: file)
        let outcome = try documents.add(
            [
                DocumentSource(
                    file: file, path: DocumentPath(path), modifiedMicroseconds: machine.clock.milliseconds() * 1000)
            ], replacing: true)
        simulation.tally.note("documents stored")
        guard let document = outcome.outcomes.first?.document, let content = try documents.entry(document)?.content
        else {
            return
        }
        contents[content, default: (bytes, [])].storers.insert(machine.index)
        try machine.files.disk.removeFile(at: file)
    }

    // MARK: Properties

    /// All devices show the same documents, and every current version reads on every device with the bytes that were stored.
    func checkAtRest(_ simulation: Simulation) throws {
        guard let first = simulation.living.first else { return }
        let expected = try shown(first)
        let left = try first.opened().store.contentStatistics().map { _ in
            try first.opened().store.readContents { rows, _ in try Set(rows.contents()) }
        }
        if let left, !contents.keys.allSatisfy(left.contains) { simulation.tally.note("contents collected") }
        for machine in simulation.living {
            let found = try shown(machine)
            if found != expected {
                simulation.fail(
                    "d\(machine.index) and d\(first.index) show other documents: \(found.filter { !expected.contains($0) }) "
                        + "in place of \(expected.filter { !found.contains($0) })")
            }
            try read(machine, simulation)
        }
    }

    private func shown(_ machine: Machine) throws -> [String] {
        try DocumentAccess(machine.opened()).list(.below(.top)).map { entry in
            "\(entry.path) \(entry.content?.hex ?? "-") \(entry.rivals.count) \(entry.id.hex)"
        }
    }

    private func read(_ machine: Machine, _ simulation: Simulation) throws {
        let replica = try machine.opened()
        for entry in try DocumentAccess(replica).list(.below(.top)) {
            guard let content = entry.content else { continue }
            let known = contents[content]
            // What lay beside a lost database, and had not gone out, is lost.
            let isExcused = known.map { $0.storers.allSatisfy { simulation.machines[$0].isLost } } ?? false
            do {
                let path = try replica.contentFile(content)
                let bytes = try machine.files.disk.readFile(at: path, maximumBytes: 1 << 20)
                if let known, bytes != known.bytes {
                    simulation.fail("d\(machine.index) reads other bytes of \(entry.path)")
                }
                simulation.tally.note("documents read at rest")
            } catch let error as FerryError {
                if isExcused {
                    simulation.tally.note("documents lost with their device")
                } else {
                    simulation.fail("d\(machine.index) cannot read \(entry.path): \(error)")
                }
            }
        }
    }
}
