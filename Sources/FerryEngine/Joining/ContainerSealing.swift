import FerrySeal

/// Gets the recovery code of a container, once: show it to a person, or keep it where only that person finds it. Ferry keeps it
/// nowhere. What this throws ends the call before anything is published.
public typealias RecoveryCodeKeeper = (SecretCode) throws -> Void

/// Whether a new container can be read by its members alone, or by whoever has the folder (Docs/Sealing.md).
public enum ContainerSealing {
    /// Only members can read and write. `recovery` gets the recovery code, with which a new device joins when all others are lost.
    /// `nil`: there is no code, and whoever loses all devices cannot read the folder any more.
    case sealed(recovery: RecoveryCodeKeeper?)
    /// Whoever has the folder can read and change all of it.
    case open
}
