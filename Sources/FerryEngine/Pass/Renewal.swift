import FerryCore

/// Reports a database's new device ID, because the database is a copy or was restored from a backup.
public struct Renewal: Codable, Equatable, Sendable {
    /// How the renewal was noticed.
    public enum Reason: String, Codable, Sendable {
        /// The database is in a different place, or on a different machine, than at its last use.
        case copied
        /// The container holds more of the device's log than the database remembers.
        /// The database was restored from a backup, or a copy of the database is in use.
        case restored
        /// A second copy has published under the same device ID.
        case cloned
        /// The device's keys were replaced (`ferry keys renew`).
        case keys
        /// The database had no key here, or was out, and was let in again (`ferry enrol`).
        case enrolled
    }

    public var reason: Reason
    /// The former and the present ID.
    public var formerDevice: String
    public var device: String
    /// Changes unpublished under the former ID and sent under the new ID.
    public var sentAgain: Int
    /// How many open invitations have ended with the former keys; `nil` for none.
    package var endedInvitations: Int?

    /// The same renewal with a number of ended invitations.
    func telling(endedInvitations count: Int) -> Renewal {
        var told = self
        told.endedInvitations = count > 0 ? count : nil
        return told
    }

    /// A sentence for people: what happened.
    public var sentence: String {
        let cause =
            switch reason {
            case .copied: "This database is a copy, or was moved to another machine."
            // Restored and cloned databases cannot be told apart for certain.
            case .restored, .cloned: "This database was restored from a backup, or another copy of it is in use."
            case .keys: "This device has new keys."
            case .enrolled: "This database was let in again."
            }
        let loss = reason == .copied ? "nothing is lost" : "nothing that was sent is lost"
        return cause + " It goes on as a device of its own; \(loss), and there is nothing to do."
    }
}
