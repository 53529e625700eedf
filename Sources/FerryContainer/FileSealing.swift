import FerryCore

/// The seal's services to a container: the devices with readable files, and the bytes and names of sealed files
/// (Docs/Format.md, "Sealed containers"). The container knows no keys, and no cryptography.
///
/// A seal is a member's view at a moment. After new records, a new seal replaces the seal. Safe to use from any thread.
package protocol FileSealing: Sendable {
    /// The first record of the membership. The container's marker must be pinned to this record.
    var genesis: RecordHash { get }

    /// The knowledge of the membership for heads of this device.
    var knowledge: MembershipKnowledge { get }

    /// The epochs with secrets here, in no order.
    var knownEpochs: [EpochID] { get }

    /// Of the listed devices the readable devices: members, and devices that left. In the order of the list.
    func readable(_ listed: [DeviceID]) -> [DeviceID]

    /// The epoch for new files.
    /// - Throws: `fileNotThereYet` where nothing may be published now: no epoch is clean, the epoch's secret has not arrived, or
    ///   a member's file is sealed under an epoch whose record has not arrived. Look for records and try again.
    func sealingEpoch() throws -> EpochID

    /// The number of a known epoch; 0 for an unknown epoch.
    func number(of epoch: EpochID) -> UInt32

    /// Seals a whole file of an open container. The same content gives the same bytes, but for the signature.
    /// - Throws: `limitExceeded` for content above the kind's limit, `invalidArgument` for an unknown epoch, and for
    ///   any device but this device.
    func seal(_ content: [UInt8], _ kind: FileKind, of device: DeviceID, under epoch: EpochID) throws -> [UInt8]

    /// Opens a sealed file of a device: all checks but the plain file's rules and the name.
    /// - Throws: `notSealed`, `formatTooNew`, `foreignFile`, `fileNotThereYet`, `damagedFile`. The caller adds the path.
    func open(_ file: [UInt8], _ kind: FileKind, of device: DeviceID) throws -> OpenedFile

    /// Gives the name of a sealed file in place of the checksum: 16 bytes. Segments and manifests use 8 of them.
    /// - Throws: `fileNotThereYet` for an epoch without a secret here.
    func name(_ checksum: Checksum, _ kind: FileKind, of device: DeviceID, under epoch: EpochID) throws -> Checksum
}

/// A sealed file's content, and the file's epoch.
package struct OpenedFile: Hashable, Sendable {
    package let content: [UInt8]
    package let epoch: EpochID

    package init(content: [UInt8], epoch: EpochID) {
        self.content = content
        self.epoch = epoch
    }
}

/// A device's knowledge of a sealed container's membership, as told in the device's head.
package struct MembershipKnowledge: Hashable, Sendable {
    /// The bytes of both digests.
    package static let digestLength = 32
    /// The greatest count of records.
    package static let maximumRecords = 65_536

    /// How many records count.
    package var records: Int
    /// SHA-256 of the hashes, ascending, of the records followed by no record. Devices with the same digest have the
    /// same records.
    package var recordsDigest: [UInt8]
    /// SHA-256 of the roster. Two members with the same records and different rosters disagree.
    package var rosterDigest: [UInt8]

    package init(records: Int, recordsDigest: [UInt8], rosterDigest: [UInt8]) {
        self.records = records
        self.recordsDigest = recordsDigest
        self.rosterDigest = rosterDigest
    }
}
