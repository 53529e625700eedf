import FerryCore
import FerrySeal
import FerryTestSupport
import Foundation

@testable import FerryMembers

/// What this code finds in the files of a sealed container, in the words of `Tests/Golden/unseal.py`.
struct SealedReading {
    private(set) var lines: [String] = []

    /// - Parameter key: the path of a key file among the files.
    init(files: [String: [UInt8]], key: String) throws {
        var bytes = files[key]?.map { $0 } ?? []
        let keyFile = try KeyFile(decoding: &bytes)
        let (container, genesis) = (keyFile.container, RecordHash(bytes: keyFile.genesis) ?? .none)
        let records = try files.filter { $0.key.hasSuffix(".record") }.map {
            try MemberRecord(decoding: $0.value, container: container)
        }
        let counted = try addMembership(records, genesis, container)
        for (_, bytes) in files.filter({ $0.key.hasSuffix("/claim") }).sorted(by: { $0.key < $1.key }) {
            let claim = try Claim(decoding: bytes, container: container)
            lines.append(
                "claim \(claim.device.hex) way \(claim.way.rawValue) hash \(hexString(claim.hash)) words \(claim.words)"
            )
        }
        lines.append(
            "key file of \(keyFile.device.hex) epoch \(keyFile.highestEpoch) invitations \(keyFile.invitations.count)")
        try open(files, keyFile, try Self.secrets(counted.records, keyFile.keys), counted.roster, records)
    }

    /// What is found in records alone.
    init(membership records: [MemberRecord], genesis: RecordHash, container: ContainerID) throws {
        _ = try addMembership(records, genesis, container)
    }

    /// - Returns: the records that count, and the roster.
    private mutating func addMembership(
        _ records: [MemberRecord], _ genesis: RecordHash, _ container: ContainerID
    ) throws -> (records: [MemberRecord], roster: Roster) {
        var graph = MemberGraph(genesis: genesis, container: container)
        for record in records { try graph.insert(record) }
        let roster = Roster(graph)
        let counted = records.filter { graph.contains($0.hash) }.sorted { $0.hash < $1.hash }
        for record in counted {
            let kinds = record.acts.map(Self.name).joined(separator: " ")
            lines.append(
                "record \(record.hash) by \(record.author.hex) at \(record.milliseconds) follows \(record.follows.count): \(kinds)"
            )
        }
        lines.append("records that do not count: \(records.count - counted.count)")
        for (device, member) in roster.members.sorted(by: { $0.key < $1.key }) {
            lines.append("member \(device.hex) \(hexString(member.keys.signing)) \(hexString(member.keys.box))")
        }
        for (device, left) in roster.left.sorted(by: { $0.key < $1.key }) {
            lines.append("left \(device.hex) \(Self.told(left.end))")
        }
        for (device, removed) in roster.removed.sorted(by: { $0.key < $1.key }) {
            lines.append("out \(device.hex) \(Self.told(removed.end))")
        }
        lines.append(roster.epoch.map { "epoch \($0.number) \($0.id.hex)" } ?? "no epoch")
        lines.append("roster \(hexString(roster.digest))")
        lines.append("heads \(hexString(graph.headsDigest))")
        return (counted, roster)
    }

    private mutating func open(
        _ files: [String: [UInt8]], _ keyFile: KeyFile, _ secrets: [EpochID: EpochSecret], _ roster: Roster,
        _ records: [MemberRecord]
    ) throws {
        var keys: [DeviceID: DevicePublicKeys] = [:]
        for act in records.flatMap(\.acts) {
            if case .found(let founding) = act {
                keys[founding.founder.device(in: keyFile.container)] = founding.founder
            }
            if case .admit(let admission) = act { keys[admission.device] = admission.keys }
        }
        let readable = keys.filter { roster.isReadable($0.key) }
        let reader = EnvelopeReader(container: keyFile.container, keys: { readable[$0] }, epoch: { secrets[$0] })
        let prefix = "container/devices/"
        for (path, bytes) in files.sorted(by: { $0.key < $1.key }) where path.hasPrefix(prefix) {
            let parts = path.dropFirst(prefix.count).split(separator: "/")
            guard let kind = Self.kind(parts.last ?? ""), let device = DeviceID(parts[0]) else { continue }
            let told = path.dropFirst("container/".count)
            lines.append("file \(told) " + (try Self.outcome(reader, bytes, kind, device)))
        }
    }

    private static func outcome(
        _ reader: EnvelopeReader, _ bytes: [UInt8], _ kind: FileKind, _ device: DeviceID
    ) throws -> String {
        let opened: EnvelopeReader.Opened
        do {
            opened = try reader.open(bytes, kind, of: device)
        } catch {
            switch error.code {
            case .fileNotThereYet: return "epoch \(try reader.header(bytes, kind, of: device).epoch.hex) unknown"
            case .foreignFile: return "refused: its device is no member"
            default: throw error
            }
        }
        let hash = hexString(SealSuite.digest(opened.content))
        return "epoch \(opened.epoch.hex) bytes \(opened.content.count) sha256 \(hash)"
    }

    /// All epochs that a device has: by wraps, and by the rings of those.
    private static func secrets(_ records: [MemberRecord], _ keys: DeviceKeys) throws -> [EpochID: EpochSecret] {
        var secrets: [EpochID: EpochSecret] = [:]
        var rings: [EpochID: [UInt8]] = [:]
        for act in records.flatMap(\.acts) {
            let (epoch, wraps): (EpochID, [KeyWrap])
            switch act {
            case .epoch(let making):
                (epoch, wraps) = (making.epoch, making.wraps)
                rings[epoch] = making.ring
            case .grant(let granted, let grants): (epoch, wraps) = (granted, grants)
            default: continue
            }
            for wrap in wraps where wrap.receiver == keys.device { secrets[epoch] = try wrap.open(epoch, with: keys) }
        }
        for (id, secret) in secrets {
            for earlier in try secret.openRing(rings[id] ?? []) { secrets[earlier.id] = earlier }
        }
        return secrets
    }

    private static func kind(_ name: Substring) -> FileKind? {
        switch name {
        case "head": .head
        case _ where name.hasSuffix(".segment"): .segment
        case _ where name.hasSuffix(".snapshot"): .manifest
        case _ where name.hasSuffix(".chunk"): .chunk
        default: nil
        }
    }

    private static func told(_ end: LogEnding?) -> String {
        end.map { "\($0.sequence) \($0.time.rawValue) \($0.checksum.hex)" } ?? "none"
    }

    private static func name(_ act: MemberAct) -> String {
        switch act {
        case .found: "found"
        case .admit: "admit"
        case .remove: "remove"
        case .leave: "leave"
        case .accept: "accept"
        case .epoch: "epoch"
        case .grant: "grant"
        case .unknown: "unknown"
        }
    }
}
