import FerryContainer
import FerryCore
import FerrySeal
import Synchronization

/// The seal of a member at a moment: the devices with readable files, by the roster, and the secrets of epochs.
///
/// Invariants:
/// - Files are sealed under the roster's current epoch, or under an epoch chosen by the caller at the beginning.
/// - Nothing is sealed after the device met a member's file under an epoch unknown to all records here. The reason for
///   the unknown epoch may be a removal.
package final class MembershipSealing: FileSealing {
    package let roster: Roster
    package let genesis: RecordHash
    package let knowledge: MembershipKnowledge
    private let keys: DeviceKeys
    private let graph: MemberGraph
    private let keyring: EpochKeyring
    private let highestEpoch: UInt32
    private let unknown = Mutex<[EpochID: DeviceID]>([:])

    /// - Parameters:
    ///   - keys: this device's.
    ///   - graph: the records here, with `roster` as the roster.
    ///   - keyring: the secrets that this device can open with the records in the graph.
    ///   - highestEpoch: the greatest number in the key store. A restored database may have an earlier current epoch,
    ///     known to removed devices.
    package init(
        keys: DeviceKeys, graph: MemberGraph, roster: Roster, keyring: EpochKeyring, highestEpoch: UInt32 = 0
    ) {
        self.keys = keys
        self.graph = graph
        self.roster = roster
        self.keyring = keyring
        self.highestEpoch = highestEpoch
        genesis = graph.genesis
        knowledge = MembershipKnowledge(graph, roster)
    }

    /// Takes over the unknown epochs from the seal before in the same pass. They stay until a record explains them.
    package func takeOver(from former: (any FileSealing)?) {
        guard let former = former as? MembershipSealing else { return }
        let met = former.unknown.withLock { $0 }.filter { graph.epochs.entries(of: $0.key).isEmpty }
        unknown.withLock { $0.merge(met) { known, _ in known } }
    }

    /// Epochs made by no record here, but used by a file with a member's valid signature, which `unknown` names.
    package var unknownEpochs: Set<EpochID> { unknown.withLock { Set($0.keys) } }

    package var knownEpochs: [EpochID] { keyring.all.map(\.id) }

    /// The reader for the chunks of sealed packs.
    package var chunkReader: EnvelopeReader {
        let (roster, keyring) = (roster, keyring)
        return EnvelopeReader(container: keys.container, keys: { roster.keys(of: $0) }, epoch: { keyring[$0] })
    }

    /// The secret of an epoch for naming contents; `nil` if the secret is not here.
    package func contentSecret(of epoch: EpochID) -> EpochSecret? { keyring[epoch] }

    package func readable(_ listed: [DeviceID]) -> [DeviceID] { listed.filter(roster.isReadable) }

    /// The number of an epoch. An epoch of a former membership has the number of the epoch whose ring has it: who holds the second holds
    /// the first.
    package func number(of epoch: EpochID) -> UInt32 {
        let number = graph.number(of: epoch)
        return number > 0 ? number : keyring.carrier(of: epoch).map { graph.number(of: $0) } ?? 0
    }

    package func sealingEpoch() throws -> EpochID {
        if roster.needsUpdate {
            throw FerryError(
                .formatTooNew,
                "A record of the container's members is from a newer Ferry. Nothing is published from here before Ferry is "
                    + "updated.", device: keys.device)
        }
        guard let epoch = roster.epoch else {
            throw FerryError(
                .fileNotThereYet, "There is no key yet that all members have and nobody else. Nothing is published.",
                device: keys.device)
        }
        if let writer = unknown.withLock({ $0.values.min() }) {
            throw FerryError(
                .fileNotThereYet,
                "A file of \(writer) is sealed under a key that no record here explains. Nothing is published before the record arrives, "
                    + "because the record may remove a device. If \(writer) is lost, or a stranger has its keys, "
                    + "`ferry remove \(writer)` lets this device publish again.", device: keys.device)
        }
        guard keyring[epoch.id] != nil, epoch.number >= highestEpoch else {
            throw FerryError(
                .fileNotThereYet,
                "The key for new files has not arrived. Nothing is published before another member's record brings it.",
                device: keys.device)
        }
        return epoch.id
    }

    package func seal(
        _ content: [UInt8], _ kind: FileKind, of device: DeviceID, under epoch: EpochID
    ) throws -> [UInt8] {
        guard device == keys.device else {
            throw FerryError(.invalidArgument, "A device seals its own files alone.", device: device)
        }
        guard let secret = keyring[epoch] else {
            throw FerryError(.invalidArgument, "The key of the epoch \(epoch) is not here.", device: device)
        }
        return try Envelope.seal(content, kind, under: secret, by: keys)
    }

    package func open(_ file: [UInt8], _ kind: FileKind, of device: DeviceID) throws -> OpenedFile {
        let reader = EnvelopeReader(
            container: graph.container, keys: { self.roster.keys(of: $0) }, epoch: { self.secret(of: $0, for: device) })
        let opened = try reader.open(file, kind, of: device)
        return OpenedFile(content: opened.content, epoch: opened.epoch)
    }

    /// The reader asks for the epoch once the signature of a member holds.
    /// - Parameter writer: the device of the file.
    private func secret(of epoch: EpochID, for writer: DeviceID) -> EpochSecret? {
        if let secret = keyring[epoch] { return secret }
        // A record with the epoch's making and without a wrap for this device is no news: the epoch may precede the
        // device's admission.
        if graph.epochs.entries(of: epoch).isEmpty { unknown.withLock { $0[epoch] = writer } }
        return nil
    }

    package func name(
        _ checksum: Checksum, _ kind: FileKind, of device: DeviceID, under epoch: EpochID
    ) throws -> Checksum {
        guard let secret = keyring[epoch] else {
            throw FerryError(
                .fileNotThereYet, "The file is sealed with a key that has not arrived. Wait for it.", device: device)
        }
        return secret.name(checksum, kind, of: device)
    }
}

extension MembershipKnowledge {
    /// The knowledge from counted records and their roster.
    package init(_ graph: MemberGraph, _ roster: Roster) {
        self.init(records: graph.count, recordsDigest: graph.headsDigest, rosterDigest: roster.digest)
    }
}
