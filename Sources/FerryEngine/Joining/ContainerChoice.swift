import FerrySchema
import FerrySeal

/// A person's choice for a database without a container so far (`Replica.open`). The choice does not matter any more once the database
/// belongs to a container. But `further` also lets a device in again that was removed or has lost its keys.
public enum ContainerChoice: Sendable {
    /// An open container in the folder is joined, and nothing is ever made. In a sealed container the wait of an earlier call goes on.
    case existing
    /// A person said that this is the first device. If the folder has no container, a sealed container is made. `recovery` gets the new
    /// container's recovery code, once, on a thread of Ferry's (`RecoveryCodeKeeper`). `nil`: there is no code.
    case first(recovery: (@Sendable (SecretCode) throws -> Void)?)
    /// As `first`, and everybody with the folder can read and change all of the new container.
    case firstUnsealed
    /// The container is there, and sealed: how this device asks to be let in.
    case further(by: Enrolment.Way)
}

/// The way of a database to its container in `Replica.open`. Without effect on a database of a container.
public struct NewDevice: Equatable, Sendable {
    /// The device's name for people; `nil`: the computer's name.
    var name: String?
    var selection: TableSelection
    var options: JoinOptions

    /// - Parameters:
    ///   - selection: the tables that travel, where this device makes the container.
    ///   - options: how rows of both sides meet, where this device joins.
    public init(
        name: String? = nil, selection: TableSelection = TableSelection(), options: JoinOptions = JoinOptions()
    ) {
        self.name = name
        self.selection = selection
        self.options = options
    }
}

/// News while `Replica.open` works. Told on a thread of Ferry's.
public enum OpeningEvent: Sendable {
    /// This device waits to be let in. Show the words, if there are any: a person types them on a member.
    case waiting(words: String?)
    /// Rows are sent or taken in.
    case progress(SyncProgress)
}

/// How a database came to its container in `Replica.open`.
public enum OpeningResult: Sendable {
    /// The database belonged to the container before.
    case opened
    /// The container was made, and all rows are published.
    case created(InitReport)
    /// The database joined the container, with its rows.
    case joined(JoinReport)
    /// The database belonged to the container, and its device was removed or without keys: the database has a new device now.
    case enrolled(Renewal)
}
