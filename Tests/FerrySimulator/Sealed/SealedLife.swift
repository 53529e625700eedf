import FerryCore
import FerryEngine
import FerryMembers
import FerrySeal
import FerryStore

/// What the life of a sealed container has besides: keys, newcomers, thieves, and a mark that nobody may find in the folder.
final class SealedLife {
    /// A newcomer on its way, on a computer without a database.
    final class Newcomer {
        let machine: Machine
        /// How it asks; a person gets another code where one was in vain.
        var way: Enrolment.Way
        var attempts = 0

        init(_ machine: Machine, _ way: Enrolment.Way) {
            self.machine = machine
            self.way = way
        }
    }

    /// Stands in rows, in the name of a table and in the names of devices.
    let mark: String
    /// Whether lost devices are lost to thieves, who have their keys.
    let hasThieves: Bool
    let witness = SimulatedKeyStore.Witness()
    /// The recovery code, which a person wrote down.
    var recovery: SecretCode?
    var newcomers: [Newcomer] = []
    var thieves: [Thief] = []
    /// Devices that were removed by what everybody knew at a quiet point.
    var gone: Set<DeviceID> = []
    /// The ways by which devices that are out ask to be let in again, by machine.
    var returning: [Int: Enrolment.Way] = [:]
    /// How often each of them tried in vain.
    var attempts: [Int: Int] = [:]
    /// Files that were searched for the mark, and files that were there before a sync.
    var searched: Set<Checksum> = []
    var seen: Set<Checksum> = []
    private var known: [Int: (device: DeviceID, count: Int, knowledge: Knowledge)] = [:]

    init(_ random: SimulatedRandom) {
        let letters = Array("bcdfghklmnprstvw")
        mark = "Q" + String((0..<14).map { _ in letters[random.below(letters.count)] })
        hasThieves = random.isOne(in: 2)
    }

    /// The table whose name is the mark.
    var schema: String { "CREATE TABLE \(mark)(id TEXT PRIMARY KEY NOT NULL, content BLOB) WITHOUT ROWID;" }
    var query: String { "SELECT id, hex(content) FROM \(mark) ORDER BY 1" }

    /// Bytes that no compression shortens, and in which the mark stands.
    func content(_ count: Int) -> [UInt8] {
        let random = SimulatedRandom(seed: UInt64(count), stream: 0xb10b)
        return Array(mark.utf8) + (0..<100).map { _ in UInt8(random.below(256)) } + Array(mark.utf8)
    }

    // MARK: What a device knows

    /// The records that a device's database has, and what follows from them by the rules.
    struct Knowledge {
        var records: [MemberRecord] = []
        var roster: Roster
        var recordsDigest: [UInt8]
        var container: ContainerID
        /// The device's own ID.
        var device: DeviceID

        /// Whether the device is a member by what it knows.
        var isIn: Bool { roster.members[device] != nil }

        /// Whether somebody can open an epoch, with these keys and these records.
        func canOpen(_ epoch: EpochID, with keys: DeviceKeys) -> Bool {
            var keyring = EpochKeyring()
            for record in records { keyring.take(record, with: keys, as: keys.device) }
            return keyring[epoch] != nil
        }
    }

    /// What the device of a machine knows of the members.
    func knowledge(of machine: Machine) throws -> Knowledge {
        let store = try machine.opened().store
        let (count, device) = (try store.recordCount(), try store.identity()?.device)
        if let known = known[machine.index], known.count == count, known.device == device { return known.knowledge }
        let knowledge = try Self.knowledge(of: machine)
        known[machine.index] = (knowledge.device, count, knowledge)
        return knowledge
    }

    /// What the device of a machine knows, read anew.
    static func knowledge(of machine: Machine) throws -> Knowledge {
        let store = try machine.opened().store
        guard let identity = try store.identity(), let genesis = identity.genesis else {
            throw FerryError(.internalInconsistency, "Device \(machine.index) is not sealed.")
        }
        var graph = MemberGraph(genesis: genesis, container: identity.container)
        let records = try store.records().map { try MemberRecord(decoding: $0.bytes, container: identity.container) }
        for record in records { try graph.insert(record, isVerified: true) }
        return Knowledge(
            records: records.filter { graph.contains($0.hash) }, roster: Roster(graph),
            recordsDigest: graph.headsDigest, container: identity.container, device: identity.device)
    }

    /// Whether a machine's device is a member by what it knows, and has its key.
    func isIn(_ machine: Machine) throws -> Bool {
        let knowledge = try knowledge(of: machine)
        return try knowledge.isIn && machine.keys.load(knowledge.device) != nil
    }

    /// Forgets what was known of a machine whose database was replaced.
    func forget(_ machine: Machine) { known[machine.index] = nil }
}
