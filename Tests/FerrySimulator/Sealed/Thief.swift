import FerryContainer
import FerryCore
import FerryEngine
import FerryMembers
import FerrySeal
import FerryTestSupport
import Foundation
import GRDB

/// A thief of a device: has its database, its keys, and a folder of its own in which it is always a member.
///
/// In that folder the thief runs production code: writes, lets accomplices in, removes others, makes epochs. What it wants others to
/// see it copies into the shared folder, from its own and its accomplices' directories. Beside that it makes records by hand.
final class Thief {
    /// The stolen device.
    let machine: Machine
    /// The place of the thief's own container.
    private let place: any SimulatedPlace
    private let disk: MemoryFileSystem
    private let storage: SimulatedStorage?
    private unowned let simulation: Simulation
    private var accomplices: [Machine] = []
    /// The key stores of all that were to be accomplices.
    private var stores: [SimulatedKeyStore] = []
    /// The keys of accomplices that have no database.
    var minted: [DeviceKeys] = []
    /// What lies in the shared folder of it.
    private var planted: [String: [UInt8]] = [:]
    private static let maximumAccomplices = 2

    /// - Parameter lost: the device as it was lost; its database is closed.
    /// - Returns: `nil` where the key of the device was elsewhere.
    init?(of lost: Machine, in simulation: Simulation) throws {
        self.simulation = simulation
        disk = MemoryFileSystem()
        try disk.createDirectory(at: "/shared")
        try disk.synchronizeDirectory(at: "/")
        let random = SimulatedRandom(seed: simulation.plan.seed, stream: 0x57e1 + UInt64(lost.index))
        storage = lost.storage.map { SimulatedStorage($0.shared.kind, simulation.time, random) }
        place = storage.map { $0 as any SimulatedPlace } ?? disk
        for (path, content) in try lost.place.containerFiles().sorted(by: { $0.key < $1.key }) {
            try place.putContainerFile(content, at: path)
        }
        let files = DeviceFileSystem(disk)
        machine = lost.stolen(
            over: files, storage.map { DeviceStorage($0, files) },
            random: SimulatedRandom(seed: simulation.plan.seed, stream: 3_000_000 + UInt64(lost.index)))
        try machine.reopen()
        guard try machine.keys.load(machine.opened().identity.device) != nil else {
            try machine.close()
            return nil
        }
    }

    func close() throws {
        for machine in [machine] + accomplices { try machine.close() }
    }

    private var machines: [Machine] { [machine] + accomplices }

    /// Every device that is the thief's. Members may know the stolen one under an ID that it had before.
    var devices: [DeviceID] {
        get throws {
            let former = try machine.opened().store.reading().formerDevices.map(\.device)
            return try keys.map(\.device) + former
        }
    }

    /// The keys of all of them, the stolen one's first.
    var keys: [DeviceKeys] {
        get throws {
            var all: [DeviceKeys] = []
            for store in [machine.keys] + stores {
                for device in try store.devices() {
                    if let keys = try store.load(device)?.keys { all.append(keys) }
                }
            }
            return all + minted
        }
    }

    // MARK: Acts

    /// Does something of its own.
    func act(_ random: SimulatedRandom) throws {
        switch random.below(10) {
        case 0..<3: try write(isCounted: true)
        case 3, 4: try refresh()
        case 5: try recruit()
        case 6: try useFerry(random)
        default: try forge(random)
        }
        if random.below(4) > 0 { try upload() }
    }

    /// Writes as the stolen device does.
    /// - Parameter isCounted: false: everybody knows already that the device is out, so that nobody may ever show it.
    func write(isCounted: Bool) throws {
        guard let writer = machines.last else { return }
        let line = simulation.line(simulation.nextCount())
        try writer.database { try $0.execute(sql: "INSERT INTO line VALUES (?)", arguments: [line]) }
        if isCounted {
            simulation.ledger.note(line: line, by: machine.index)
            simulation.ledger.doubt([line])
        }
        for each in machines {
            try attempt(isCounted ? "writes" : "writes after its removal") { _ = try each.opened().sync() }
        }
    }

    /// Takes what others have published since.
    private func refresh() throws {
        let own = try devices.map { "devices/\($0.hex)/" }
        for (path, content) in try simulation.publicFiles().sorted(by: { $0.key < $1.key })
        where !own.contains(where: path.hasPrefix) {
            try place.putContainerFile(content, at: path)
        }
        try attempt("looks") { _ = try machine.opened().sync() }
    }

    /// Lets an accomplice in, as people do.
    private func recruit() throws {
        guard stores.count < Self.maximumAccomplices else { return }
        let accomplice = try simulation.buildMachine(100 * (machine.index + 1) + stores.count, over: disk, storage)
        stores.append(accomplice.keys)
        try attempt("lets somebody in") {
            let code = try machine.opened().invite().code
            let enrolment = try Enrolment.begin(
                containerPath: accomplice.containerPath, by: .code(code), environment: accomplice.environment)
            _ = try machine.opened().sync()
            try accomplice.join(enrolment)
            accomplices.append(accomplice)
            simulation.tally.note("accomplices")
        }
    }

    /// Removes somebody, or makes an epoch, as people do.
    private func useFerry(_ random: SimulatedRandom) throws {
        try attempt("uses Ferry") {
            if random.isOne(in: 3) {
                _ = try machine.opened().rotateKeys()
            } else {
                let others = try SealedLife.knowledge(of: machine).roster.members.keys.sorted()
                let own = try Set(devices)
                if let victim = random.element(of: others.filter { !own.contains($0) }) {
                    _ = try machine.opened().remove(victim.description)
                    simulation.tally.note("removed by a thief")
                }
            }
        }
    }

    /// Whatever Ferry tells a thief is no concern of others.
    private func attempt(_ what: String, _ body: () throws -> Void) throws {
        do {
            try body()
            simulation.tell("the thief of d\(machine.index) \(what)")
        } catch let error as FerryError {
            simulation.tell("the thief of d\(machine.index) \(what): \(error.code.rawValue)")
        }
        simulation.tally.note("thieves' acts")
    }

    // MARK: Files

    /// Copies its own and its accomplices' directories into the shared folder.
    func upload() throws {
        let own = try devices.map { "devices/\($0.hex)/" }
        let files = try place.containerFiles().filter { file in own.contains(where: file.key.hasPrefix) }
        for (path, content) in files.sorted(by: { $0.key < $1.key }) where planted[path] != content {
            try simulation.plant(content, at: path)
            planted[path] = content
        }
        for path in planted.keys.sorted() where files[path] == nil {
            try simulation.plant(nil, at: path)
            planted[path] = nil
        }
    }

    /// Publishes a record in a directory, its own or another's.
    func publish(_ record: MemberRecord, in directory: DeviceID) throws {
        let path = "devices/\(directory.hex)/members/\(RecordName(record.hash).fileName)"
        try place.putContainerFile(record.bytes, at: path)
        try simulation.plant(record.bytes, at: path)
        if try devices.contains(directory) { planted[path] = record.bytes }
        simulation.tell("the thief of d\(machine.index) says in \(directory): \(text(of: record))")
        simulation.tally.note("forged records")
    }

    /// All records that ever lay in the shared folder or in the thief's own, in the order of their hashes.
    func records(in container: ContainerID) throws -> [MemberRecord] {
        var found: [RecordHash: MemberRecord] = [:]
        for files in try [simulation.publicFiles(), place.containerFiles()] {
            for (path, content) in files where path.hasSuffix(".record") {
                // Whatever else lies there under such a name is of no use to the thief.
                guard let record = try? MemberRecord(decoding: content, container: container) else { continue }
                found[record.hash] = record
            }
        }
        return found.values.sorted { $0.hash < $1.hash }
    }
}
