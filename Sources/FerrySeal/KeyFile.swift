import Crypto
import FerryCore
import Foundation

/// What the key store keeps of one device: its two seeds, and what must not be lost with the database (Docs/Format.md, "Key
/// files"). Nothing that follows from the seeds is stored but the ID, which is computed anew at each load.
package struct KeyFile: Sendable {
    /// The bytes of a record's hash.
    package static let hashLength = SealSuite.hashLength
    /// The most invitations that are open at once.
    package static let maximumInvitations = 1024

    /// An invitation that this device made, or the one by which it asks to be let in.
    package struct Invitation: Hashable, Sendable {
        package let claimKey: SecretKey
        package let answerKey: SecretKey
        /// When it ends, by this device's clock, in milliseconds since the Unix epoch.
        package let endMilliseconds: UInt64
        /// The hash of the claim that it is bound to: it lets in that one alone. `nil` until one came.
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

        package func hash(into hasher: inout Hasher) {
            hasher.combine(endMilliseconds)
            hasher.combine(claim)
        }
    }

    package let keys: DeviceKeys
    /// The hash of the container's first record.
    package let genesis: [UInt8]
    /// The greatest number of an epoch that was ever seen: a restored database must not fall behind it.
    package var highestEpoch: UInt32
    package var invitations: [Invitation]

    package var device: DeviceID { keys.device }
    package var container: ContainerID { keys.container }

    /// - Throws: `invalidArgument` for a hash of another length.
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
