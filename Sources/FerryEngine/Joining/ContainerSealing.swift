import FerrySeal

/// Gets the recovery code of a container, once. Show the code to a person, or keep the code where only this person finds it. Ferry keeps
/// the code nowhere. An error thrown here ends the call before anything is published.
public typealias RecoveryCodeKeeper = (SecretCode) throws -> Void

/// Whether a new container can be read by its members alone, or by everybody with the folder (Docs/Sealing.md).
public enum ContainerSealing {
    /// Only members can read and write. `recovery` gets the recovery code, for a new device when all devices are lost. `nil`: there is no
    /// code, and after the loss of all devices nobody can read the folder any more.
    case sealed(recovery: RecoveryCodeKeeper?)
    /// Everybody with the folder can read and change all of the container.
    case open
}
