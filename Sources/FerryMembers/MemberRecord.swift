import FerryCore
import FerrySeal

/// A signed statement about members or epochs. A record never changes; all records together make the roster
/// (Docs/Format.md, "Records").
package struct MemberRecord: Hashable, Sendable {
    /// A longer record is damaged, in bytes.
    package static let maximumBytes = 1 << 20
    package static let maximumActs = 64
    package static let maximumFollowed = 4096
    /// The author of a record signed by the recovery key.
    package static let recoveryAuthor = DeviceID(high: 0, low: 0)

    package let container: ContainerID
    /// The signing device; `recoveryAuthor` for the recovery key.
    package let author: DeviceID
    /// The time of making by the author's wall clock, in milliseconds since the Unix epoch. For people only.
    package let milliseconds: UInt64
    /// The first record of all; `none` in the first record itself.
    package let genesis: RecordHash
    /// The records known to the author and followed by no known record, in strictly ascending order.
    package let follows: [RecordHash]
    package let acts: [MemberAct]
    /// The whole file.
    package let bytes: [UInt8]
    package let hash: RecordHash

    /// Whether the first record of a membership is this one.
    package var isFirst: Bool { genesis == .none }
    /// Whether the recovery key signs the record.
    package var isRecovery: Bool { author == Self.recoveryAuthor }
    /// The first record of the membership, by which a device pins the membership.
    package var membership: RecordHash { isFirst ? hash : genesis }

    init(
        container: ContainerID, author: DeviceID, milliseconds: UInt64, genesis: RecordHash, follows: [RecordHash],
        acts: [MemberAct], bytes: [UInt8]
    ) {
        self.container = container
        self.author = author
        self.milliseconds = milliseconds
        self.genesis = genesis
        self.follows = follows
        self.acts = acts
        self.bytes = bytes
        // 32 bytes always make a hash
        hash = RecordHash(bytes: SealSuite.digest(bytes.dropLast(SealSuite.signatureLength))) ?? .none
    }

    /// Whether the keys signed the record.
    package func isSigned(by keys: DevicePublicKeys) -> Bool {
        keys.isSignature(bytes.suffix(SealSuite.signatureLength), of: "record", digest: hash.bytes)
    }

    // MARK: Making records

    /// Makes the first record of a membership.
    /// - Parameter recovery: the keys of the recovery code; `nil` without a recovery code.
    /// - Throws: `limitExceeded`, `invalidArgument` for content refused by `init(decoding:)`.
    package static func first(
        by founder: DeviceKeys, recovery: DeviceKeys?, formerLogs: [Founding.FormerLog] = [],
        further acts: [MemberAct] = [], milliseconds: UInt64
    ) throws -> MemberRecord {
        let founding = Founding(
            recovery: recovery?.publicKeys, founder: founder.publicKeys, formerLogs: formerLogs)
        let content = Content(
            container: founder.container, author: founder.device, milliseconds: milliseconds, genesis: .none,
            follows: [], acts: [.found(founding)] + acts)
        return try make(content, founder, recovery)
    }

    /// Makes a record signed by a device.
    /// - Throws: as `first`.
    package init(
        by keys: DeviceKeys, milliseconds: UInt64, genesis: RecordHash, follows: [RecordHash], acts: [MemberAct]
    ) throws {
        let content = Content(
            container: keys.container, author: keys.device, milliseconds: milliseconds, genesis: genesis,
            follows: follows, acts: acts)
        self = try Self.make(content, keys, nil)
    }

    /// Makes a record signed by the recovery key.
    /// - Throws: as `first`.
    package init(
        byRecovery keys: DeviceKeys, milliseconds: UInt64, genesis: RecordHash, follows: [RecordHash],
        acts: [MemberAct]
    ) throws {
        let content = Content(
            container: keys.container, author: Self.recoveryAuthor, milliseconds: milliseconds, genesis: genesis,
            follows: follows, acts: acts)
        self = try Self.make(content, keys, nil)
    }

    /// The statement of a record, without the signature.
    struct Content {
        var container: ContainerID
        var author: DeviceID
        var milliseconds: UInt64
        var genesis: RecordHash
        var follows: [RecordHash]
        var acts: [MemberAct]
    }

    private static func make(_ content: Content, _ keys: DeviceKeys, _ recovery: DeviceKeys?) throws -> MemberRecord {
        let unsigned = try MemberRecordCodec.encode(content, recovery: recovery)
        let signed = unsigned + (try keys.sign("record", digest: SealSuite.digest(unsigned)))
        // The record is read back: a record that readers would refuse is never published.
        do throws(FerryError) {
            return try MemberRecord(decoding: signed, container: content.container)
        } catch {
            throw FerryError(.invalidArgument, "A record cannot be written: \(error.message)", cause: error)
        }
    }
}
