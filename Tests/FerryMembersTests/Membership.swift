import FerryCore
import FerryMembers
import FerrySeal
import FerryTestSupport

/// Whoever computes a roster from records: the code under test, or the plain one with a rule left out.
protocol Membership: AnyObject {
    func insert(_ record: MemberRecord)
    func result() -> PlainRoster.Result
    func mayRemove(_ device: DeviceID, _ other: DeviceID) -> Bool
    var heads: [RecordHash] { get }
}

extension PlainRoster: Membership {}

/// The code under test.
final class GraphMembership: Membership {
    private(set) var graph: MemberGraph
    private var known: PlainRoster.Result?
    /// Signatures were verified elsewhere: most histories leave them out, for speed.
    private let isVerified: Bool

    init(genesis: RecordHash, container: ContainerID, isVerified: Bool) {
        graph = MemberGraph(genesis: genesis, container: container)
        self.isVerified = isVerified
    }

    func insert(_ record: MemberRecord) {
        known = nil
        do { try graph.insert(record, isVerified: isVerified) } catch { fatalError("\(error)") }
    }

    func result() -> PlainRoster.Result {
        if let known { return known }
        let result = PlainRoster.Result(Roster(graph))
        known = result
        return result
    }

    func mayRemove(_ device: DeviceID, _ other: DeviceID) -> Bool { graph.mayRemove(device, other) }
    var heads: [RecordHash] { graph.heads.sorted() }
}

/// Keys for tests, minted once.
enum TestKeys {
    static let container = ContainerID(high: 0x1111_2222_3333_4444, low: 0x5555_6666_7777_8888)
    static let recovery = make(1_000)
    static let devices = (1...24).map { make(UInt64($0)) }

    private static func make(_ seed: UInt64) -> DeviceKeys {
        do {
            return try DeviceKeys(mintedFor: container, random: SeededRandom(seed: seed))
        } catch {
            fatalError("\(error)")
        }
    }

    /// A wrap that nobody can open: rosters look at receivers alone.
    static func wrap(_ receiver: DeviceID) throws -> KeyWrap {
        try KeyWrap(
            receiver: receiver, encapsulated: [UInt8](repeating: 1, count: 32),
            ciphertext: [UInt8](repeating: 2, count: 48))
    }

    static func making(_ number: UInt32, _ epoch: EpochID, for receivers: some Sequence<DeviceID>) throws -> EpochMaking
    {
        EpochMaking(
            number: number, epoch: epoch, wraps: try receivers.sorted().map(wrap),
            ring: [UInt8](repeating: 3, count: 29))
    }

    static func admit(_ way: Admission.Way, _ keys: DeviceKeys) -> MemberAct {
        let told = [UInt8](repeating: 9, count: 32)
        return .admit(
            Admission(
                way, keys.publicKeys, in: container, claim: way == .code || way == .words ? told : nil,
                answer: way == .code ? told : nil))
    }

    static func end(_ sequence: UInt64) -> LogEnding {
        LogEnding(sequence: sequence, time: HybridTime(rawValue: sequence), checksum: Checksum(high: sequence, low: 1))
    }
}
