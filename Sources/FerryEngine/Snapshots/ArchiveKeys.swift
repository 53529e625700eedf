import FerryContainer
import FerryCore
import FerryMembers
import FerrySeal

/// Finds keys for a sealed file without a database of the file's container: the keys of a member on this computer, or
/// the recovery code. The file's own records decide who is a member.
struct ArchiveKeys {
    private let file: ArchiveFile
    private let records: [MemberRecord]
    private let environment: ReplicaEnvironment
    /// The first record of the membership.
    private let genesis: RecordHash

    /// - Parameter records: the file's.
    init(_ file: ArchiveFile, _ records: [MemberRecord], _ environment: ReplicaEnvironment) {
        self.file = file
        self.records = records
        self.environment = environment
        genesis = records.first?.membership ?? .none
    }

    /// Opens the file.
    /// - Throws: `codeRefused`, `keyMissing`; as `SnapshotArchive.init`.
    func open(_ recovery: SecretCode?) throws -> SnapshotArchive {
        if let recovery { return try SnapshotArchive(file, seal: seal(of: recovery)) }
        var failure: FerryError?
        for device in try environment.keys.devices() {
            // A second device on this computer may have an epoch missing for the first, or a readable key file.
            do {
                guard let keyFile = try environment.keys.load(device), keyFile.container == file.container,
                    keyFile.genesis == genesis.bytes
                else { continue }
                var membership = Membership(keys: keyFile.keys, genesis: genesis)
                try membership.insert(records)
                return try SnapshotArchive(file, seal: membership.seal())
            } catch let error as FerryError {
                failure = failure ?? error
            }
        }
        throw failure
            ?? FerryError(
                .keyMissing,
                "The file is sealed, and this computer has no key of a member. Import it on a member's computer, join the container with "
                    + "--container, or read it with the recovery code: --recovery -", path: file.path)
    }

    /// The seal of the recovery key: every epoch is wrapped for this key.
    private func seal(of code: SecretCode) throws -> MembershipSealing {
        let keys = try DeviceKeys(recovery: code, container: file.container)
        var graph = MemberGraph(genesis: genesis, container: file.container)
        for record in records { try graph.insert(record) }
        let roster = Roster(graph)
        guard roster.recovery == keys.publicKeys else {
            throw FerryError(
                .codeRefused, "This is not the recovery code of the file's container.", path: file.path)
        }
        var keyring = EpochKeyring()
        for record in records where graph.contains(record.hash) {
            keyring.take(record, with: keys, as: MemberRecord.recoveryAuthor)
        }
        return MembershipSealing(keys: keys, graph: graph, roster: roster, keyring: keyring)
    }
}
