import Crypto
import FerryCore
import Foundation

/// The key store's record of a device: the two seeds, and facts that must outlive the database (Docs/Format.md, "Key
/// files"). Of the values derived from the seeds, only the ID is stored, and each load computes the ID anew.
package struct KeyFile: Sendable {
    /// The bytes of a record's hash.
    package static let hashLength = SealSuite.hashLength
    /// The most open invitations.
    package static let maximumInvitations = 1024

    /// An invitation made by this device, or the invitation behind this device's own request for admission.
    package struct Invitation: Hashable, Sendable {
        package let claimKey: SecretKey
        package let answerKey: SecretKey
        /// The end of validity by this device's clock, in milliseconds since the Unix epoch.
        package let endMilliseconds: UInt64
        /// The end of the invitation behind this device's own request.
        package static let ownEnd = UInt64.max
        /// True for the invitation behind this device's own request.
        package var isOwn: Bool { endMilliseconds == Self.ownEnd }
        /// The hash of the bound claim: the invitation lets in only this claim. `nil` before the first claim.
        package var claim: [UInt8]?

        package init(code: SecretCode, container: ContainerID, endMilliseconds: UInt64, claim: [UInt8]? = nil) {
            claimKey = code.claimKey(in: container)
            answerKey = code.answerKey(in: container)
            self.endMilliseconds = endMilliseconds
            self.claim = claim
        }

        init(claimKey: SecretKey, answerKey: SecretKey, endMilliseconds: UInt64, claim: [UInt8]?) {
            self.claimKey = claimKey
            self.answerKey = answerKey
            self.endMilliseconds = endMilliseconds
            self.claim = claim
        }

        /// Stands in the place of a bound claim where the invitation was taken back: no claim has this hash.
        package static let takenBack = [UInt8](repeating: 0xFF, count: KeyFile.hashLength)

        /// Whether the invitation lets nobody in any more and has let nobody in: taken back, or run out without a claim.
        /// - Parameter milliseconds: the wall clock of the device that made the invitation.
        package func isDead(milliseconds: UInt64) -> Bool {
            claim == Self.takenBack || (claim == nil && milliseconds >= endMilliseconds)
        }

        package func hash(into hasher: inout Hasher) {
            hasher.combine(endMilliseconds)
            hasher.combine(claim)
        }
    }

    package let keys: DeviceKeys
    /// The hash of the container's first record.
    package let genesis: [UInt8]
    /// The greatest number of an epoch ever seen: a restored database must not fall behind this number.
    package var highestEpoch: UInt32
    package var invitations: [Invitation]

    package var device: DeviceID { keys.device }
    package var container: ContainerID { keys.container }

    /// - Throws: `invalidArgument` for a hash of a wrong length.
    package init(
        keys: DeviceKeys, genesis: [UInt8], highestEpoch: UInt32 = 0, invitations: [Invitation] = []
    ) throws(FerryError) {
        guard genesis.count == Self.hashLength else {
            throw FerryError(.invalidArgument, "The hash of a record has \(Self.hashLength) bytes.")
        }
        self.keys = keys
        self.genesis = genesis
        self.highestEpoch = highestEpoch
        self.invitations = invitations
    }
}

extension KeyFile: Equatable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    package static func == (left: KeyFile, right: KeyFile) -> Bool {
        left.container == right.container && left.keys.publicKeys == right.keys.publicKeys
            && left.genesis == right.genesis
            && left.highestEpoch == right.highestEpoch && left.invitations == right.invitations
    }

    package var description: String { "key file of \(device)" }
    package var debugDescription: String { description }
    package var customMirror: Mirror { Mirror(self, children: ["device": device]) }
}
