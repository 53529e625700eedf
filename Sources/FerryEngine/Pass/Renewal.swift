import FerryCore

/// Tells that a database got a new device ID, because it is a copy or was restored from a backup.
public struct Renewal: Codable, Equatable, Sendable {
    /// How it was found out.
    public enum Reason: String, Codable, Sendable {
        /// The database lies elsewhere, or on another machine, than when it was last in use.
        case copied
        /// The container holds more of the device's log than the database remembers: it was restored from a backup, or
        /// a copy of it is in use.
        case restored
        /// Another copy has published under the same device ID.
        case cloned
    }

    public var reason: Reason
    /// The ID that it had, and the one that it has.
    public var formerDevice: String
    public var device: String
    /// Changes that the former device would have sent, and that are sent under the new ID.
    public var sentAgain: Int

    /// What happened, for people.
    public var sentence: String {
        let cause =
            switch reason {
            case .copied: "This database is a copy, or was moved to another machine."
            // Which of the two it was cannot be told apart for certain.
            case .restored, .cloned: "This database was restored from a backup, or another copy of it is in use."
            }
        let loss = reason == .copied ? "nothing is lost" : "nothing that was sent is lost"
        return cause + " It goes on as a device of its own; \(loss), and there is nothing to do."
    }
}
