import FerryContainer
import FerryCore

/// The outside world of the engine: clock, random numbers, files, machine.
public struct ReplicaEnvironment: Sendable {
    public var clock: any WallClock
    public var random: any RandomSource
    public var fileSystem: any FileSystem
    public var host: any HostIdentity

    public init(
        clock: any WallClock, random: any RandomSource, fileSystem: any FileSystem,
        host: any HostIdentity = SystemHost()
    ) {
        self.clock = clock
        self.random = random
        self.fileSystem = fileSystem
        self.host = host
    }

    /// The computer's clock, random numbers and file system.
    public static let live = ReplicaEnvironment(
        clock: SystemClock(), random: SystemRandom(), fileSystem: PosixFileSystem())
}
