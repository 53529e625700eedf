import FerryContainer
import FerryCore
import FerryMembers
import FerrySeal

/// What a crash leaves of an enrolment, and how the next attempt or the next sync deals with the remains.
extension Enrolment {
    /// The keys of an interrupted attempt to ask by the same code: the claim was never published. `nil` without such an attempt.
    static func unusedKeys(
        byCode code: SecretCode, _ container: Container, _ genesis: RecordHash, _ environment: ReplicaEnvironment
    ) throws -> DeviceKeys? {
        let key = code.claimKey(in: container.id)
        for device in try environment.keys.devices().sorted() {
            guard let file = try environment.keys.readable(device), file.container == container.id,
                file.genesis == genesis.bytes, file.invitations.contains(where: { $0.isOwn && $0.claimKey == key }),
                try container.readClaim(of: device) == nil,
                try readMembership(container, genesis, file.keys, environment).roster.isUnknown(device)
            else { continue }
            return file.keys
        }
        return nil
    }

    /// True if a device has a claim, or keys of the code behind its claim: its enrolment has not ended.
    static func isOpen(of device: DeviceID, _ container: Container, _ keys: any KeyStore) throws -> Bool {
        if try keys.readable(device)?.invitations.contains(where: \.isOwn) ?? false { return true }
        do {
            return try container.readClaim(of: device) != nil
        } catch let error as FerryError where error.concernsOneFile {
            // A claim that cannot be read is one all the same.
            return true
        }
    }

    /// Ends the enrolment of a device, as far as it has not ended. The device's own invitations of others stay.
    static func end(of device: DeviceID, _ container: Container, _ keys: any KeyStore) throws {
        // The file of now: a sync may have noted an epoch since the enrolment began.
        if var file = try keys.load(device), file.invitations.contains(where: \.isOwn) {
            file.invitations.removeAll(where: \.isOwn)
            try keys.save(file)
        }
        try container.removeClaim(of: device)
    }
}
