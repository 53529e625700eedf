import FerrySchema
import FerrySeal

/// What a person chose for a database that belongs to no container yet (`Replica.open`). The choice does not matter any more once the
/// database belongs to one, except that `further` also lets a device in again that was removed or has lost its keys.
public enum ContainerChoice: Sendable {
    /// Whatever is there: an open container is joined, and nothing is ever made. In a sealed container a wait goes on that an earlier
    /// call began.
    case existing
    /// A person said that this is the first device. If the folder has no container, a sealed one is made; `recovery` gets its
    /// recovery code, once, on a thread of Ferry's (`RecoveryCodeKeeper`). `nil`: there is no code.
    case first(recovery: (@Sendable (SecretCode) throws -> Void)?)
    /// As `first`, and whoever has the folder can read and change all of the new container.
    case firstUnsealed
    /// The container is there, and sealed: how this device asks to be let in.
    case further(by: Enrolment.Way)
}

/// How a database comes to its container in `Replica.open`. Without effect on a database that belongs to one.
public struct NewDevice: Equatable, Sendable {
    /// The device's name for people; `nil`: the computer's name.
    var name: String?
    var selection: TableSelection
    var options: JoinOptions

    /// - Parameters:
    ///   - selection: the tables that travel, where this device makes the container.
    ///   - options: how rows of both sides meet, where it joins.
    public init(
        name: String? = nil, selection: TableSelection = TableSelection(), options: JoinOptions = JoinOptions()
    ) {
        self.name = name
        self.selection = selection
        self.options = options
    }
}

/// What happens while `Replica.open` works. Told on a thread of Ferry's.
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
    /// The database belonged to the container, and its device was removed or without keys: it is a device of its own again.
    case enrolled(Renewal)
}
