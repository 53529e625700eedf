import FerryCore

/// What a container asks of a seal: which devices' files count, and the bytes and names of sealed files (Docs/Format.md,
/// "Sealed containers"). The container knows no keys, and no cryptography.
///
/// A seal is a member's view at a moment. When records came, a new seal takes its place. Safe to use from any thread.
package protocol FileSealing: Sendable {
    /// The first record of the membership, to which the container's marker must be pinned.
    var genesis: RecordHash { get }

    /// What heads of this device tell of the membership.
    var knowledge: MembershipKnowledge { get }

    /// The epochs whose secrets are here, in no order.
    var knownEpochs: [EpochID] { get }

    /// Of the listed devices those whose files count: members, and devices that left. In the order of the list.
    func readable(_ listed: [DeviceID]) -> [DeviceID]

    /// The epoch for new files.
    /// - Throws: `fileNotThereYet` where nothing may be published now: no epoch is clean, the epoch's secret has not arrived, or
    ///   a member's file is sealed under an epoch whose record has not arrived. Look for records and try again.
    func sealingEpoch() throws -> EpochID

    /// The number of a known epoch; 0 for an unknown one.
    func number(of epoch: EpochID) -> UInt32

    /// Seals a whole file of an open container. The same content gives the same bytes, but for the signature.
    /// - Throws: `limitExceeded` for content above the kind's limit, `invalidArgument` for an unknown epoch or another device
    ///   than this one.
    func seal(_ content: [UInt8], _ kind: FileKind, of device: DeviceID, under epoch: EpochID) throws -> [UInt8]

    /// Opens a sealed file of a device: all checks but the plain file's rules and the name.
    /// - Throws: `notSealed`, `formatTooNew`, `foreignFile`, `fileNotThereYet`, `damagedFile`. The caller adds the path.
    func open(_ file: [UInt8], _ kind: FileKind, of device: DeviceID) throws -> OpenedFile

    /// What stands in place of the checksum in a sealed file's name: 16 bytes, of which segments and manifests use 8.
    /// - Throws: `fileNotThereYet` for an epoch whose secret is not here.
    func name(_ checksum: Checksum, _ kind: FileKind, of device: DeviceID, under epoch: EpochID) throws -> Checksum
}

/// A sealed file's content, and the epoch under which the file was sealed.
package struct OpenedFile: Hashable, Sendable {
    package let content: [UInt8]
    package let epoch: EpochID

    package init(content: [UInt8], epoch: EpochID) {
        self.content = content
        self.epoch = epoch
    }
}

/// What a device knows of the membership of a sealed container, as its head tells others.
package struct MembershipKnowledge: Hashable, Sendable {
    /// The bytes of both digests.
    package static let digestLength = 32
    /// The greatest count of records.
    package static let maximumRecords = 65_536

    /// How many records count.
    package var records: Int
    /// SHA-256 of the hashes, ascending, of the records that no other one follows: who has the same has the same records.
    package var recordsDigest: [UInt8]
    /// SHA-256 of the roster: with the same records another one means that two members disagree.
    package var rosterDigest: [UInt8]

    package init(records: Int, recordsDigest: [UInt8], rosterDigest: [UInt8]) {
        self.records = records
        self.recordsDigest = recordsDigest
        self.rosterDigest = rosterDigest
    }
}
