import FerryCore
import FerrySeal

/// The members of a sealed container, as one of them sees and changes them: `replica.members`.
///
/// Synchronous calls, as those of `Replica`. All throw `notMember` where this device is out, `keyMissing` and `keyExposed` where its
/// keys are not as they should be, `invalidArgument` for an open container, and `busy`.
public struct Members: Sendable {
    private let replica: Replica

    init(_ replica: Replica) { self.replica = replica }

    // MARK: Letting devices in

    /// Makes a code that lets one device in, once. This device alone answers the code, with its next sync.
    /// - Parameter forMilliseconds: how long the code lasts; without it, a day.
    /// - Returns: the code, and when it ends by this device's clock, in milliseconds since the Unix epoch.
    /// - Throws: `limitExceeded` for too many open invitations.
    public func invite(
        forMilliseconds duration: Int64 = 86_400_000
    ) throws -> (code: SecretCode, endMilliseconds: Int64) {
        try replica.invite(forMilliseconds: duration)
    }

    /// Takes back all invitations of this device's that nobody has used.
    /// - Returns: their number.
    @discardableResult
    public func cancelInvitations() throws -> Int { try replica.cancelInvitations() }

    /// Lets in the device that shows these six words. A person types them from its screen: whoever offers words from elsewhere may
    /// let a stranger in. Syncs, so that the newcomer hears of it.
    /// - Returns: the device, and three words that both screens show now.
    /// - Throws: `nothingFound` where no device that asks shows the words; as `Replica.sync`.
    @discardableResult
    public func approve(words: String) throws -> (device: DeviceID, words: String) {
        let answer = try replica.approve(words: words)
        _ = try replica.sync()
        return answer
    }

    // MARK: Locking devices out

    /// Removes a device for good, and its copies with it. What it wrote up to now is kept. What it writes from now on is not read,
    /// and it cannot read what others write.
    /// - Parameters:
    ///   - word: the device's name, its ID, or the beginning of the ID.
    ///   - recovery: the recovery code, by which a device goes that was let in before this one.
    /// - Throws: `removalRefused` where the device was let in before this one and there is no recovery code; `codeRefused` for another
    ///   code; `nothingFound`; as `Replica.sync`.
    @discardableResult
    public func remove(_ word: String, recovery: SecretCode? = nil) throws -> RemovalReport {
        try replica.remove(word, recovery: recovery)
    }

    /// Removes all other devices by the recovery code, as after a theft. What they wrote up to now is kept.
    /// - Throws: `codeRefused` for another code; as `Replica.sync`.
    @discardableResult
    public func removeOthers(recovery: SecretCode) throws -> RemovalReport {
        try replica.removeOthers(recovery: recovery)
    }

    // MARK: Keys

    /// What this device knows of members and epochs. Changes nothing.
    public func keys() throws -> KeysReport { try replica.keys() }

    /// Makes a new epoch: what is sealed from now on takes a new secret. A removal does so by itself.
    /// - Throws: as `Replica.sync`.
    @discardableResult
    public func rotateKeys() throws -> KeysReport { try replica.rotateKeys() }

    /// Gives this device new keys under a new ID, and removes the former ones: for keys that somebody may have seen.
    /// - Throws: as `Replica.sync`.
    @discardableResult
    public func renewKeys() throws -> Renewal { try replica.renewKeys() }

    /// Whether a code is the recovery code of the container: so a person can check what was written down.
    public func isRecoveryCode(_ code: SecretCode) throws -> Bool { try replica.isRecoveryCode(code) }
}

extension Replica {
    /// The members of the sealed container.
    public var members: Members { Members(self) }
}
