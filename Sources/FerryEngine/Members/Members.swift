import FerryCore
import FerrySeal

/// The members of a sealed container, as seen and changed by a member: `replica.members`.
///
/// Synchronous calls, like those of `Replica`. All calls throw `notMember` on a device that is out, `keyMissing` and
/// `keyExposed` for problems with the device's keys, `invalidArgument` for an open container, and `busy`.
public struct Members: Sendable {
    private let replica: Replica

    init(_ replica: Replica) { self.replica = replica }

    // MARK: Letting devices in

    /// Makes a code for a single admission. This device alone answers the code, with the next sync.
    /// - Parameter forMilliseconds: how long the code lasts; by default a day.
    /// - Returns: the code, and the end by this device's clock, in milliseconds since the Unix epoch.
    /// - Throws: `limitExceeded` for too many open invitations.
    public func invite(
        forMilliseconds duration: Int64 = 86_400_000
    ) throws -> (code: SecretCode, endMilliseconds: Int64) {
        try replica.invite(forMilliseconds: duration)
    }

    /// Takes back all unused invitations of this device.
    /// - Returns: their number.
    @discardableResult
    public func cancelInvitations() throws -> Int { try replica.cancelInvitations() }

    /// Lets in the device with these six words on the screen. A person must type the words from the device's own
    /// screen: words from any further source may let a stranger in. Syncs, so the newcomer hears of the admission.
    /// - Returns: the device, and three words for both screens.
    /// - Throws: `nothingFound` if no asking device shows the words; as `Replica.sync`.
    @discardableResult
    public func approve(words: String) throws -> (device: DeviceID, words: String) {
        let answer = try replica.approve(words: words)
        _ = try replica.sync()
        return answer
    }

    // MARK: Locking devices out

    /// Removes a device and the device's copies for good. The device's changes up to now are kept. Later changes by the
    /// device are not read, and the device cannot read later files.
    /// - Parameters:
    ///   - word: the device's name, the ID, or the beginning of the ID.
    ///   - recovery: the recovery code, needed for a device admitted before this device.
    /// - Throws: `removalRefused` for a device admitted before this device, without a recovery code. `codeRefused` for
    ///   a wrong code; `nothingFound`; as `Replica.sync`.
    @discardableResult
    public func remove(_ word: String, recovery: SecretCode? = nil) throws -> RemovalReport {
        try replica.remove(word, recovery: recovery)
    }

    /// Removes all remaining devices by the recovery code, as after a theft. Their changes up to now are kept.
    /// - Throws: `codeRefused` for a wrong code; as `Replica.sync`.
    @discardableResult
    public func removeOthers(recovery: SecretCode) throws -> RemovalReport {
        try replica.removeOthers(recovery: recovery)
    }

    // MARK: Keys

    /// This device's knowledge of members and epochs. Changes nothing.
    public func keys() throws -> KeysReport { try replica.keys() }

    /// Makes a new epoch: later files are sealed under a new secret. A removal makes an epoch by itself.
    /// - Throws: as `Replica.sync`.
    @discardableResult
    public func rotateKeys() throws -> KeysReport { try replica.rotateKeys() }

    /// Gives this device new keys under a new ID, and removes the former keys: for keys that a stranger may have seen.
    /// - Throws: as `Replica.sync`.
    @discardableResult
    public func renewKeys() throws -> Renewal { try replica.renewKeys() }

    /// Whether a code is the recovery code of the container: for a check of the written code.
    public func isRecoveryCode(_ code: SecretCode) throws -> Bool { try replica.isRecoveryCode(code) }
}

extension Replica {
    /// The members of the sealed container.
    public var members: Members { Members(self) }
}
