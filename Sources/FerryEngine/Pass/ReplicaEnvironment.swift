import FerryContainer
import FerryCore

/// The outside world of the engine: clock, random numbers, files, machine.
package struct ReplicaEnvironment: Sendable {
    package var clock: any WallClock
    package var random: any RandomSource
    package var fileSystem: any FileSystem
    package var host: any HostIdentity

    package init(
        clock: any WallClock, random: any RandomSource, fileSystem: any FileSystem,
        host: any HostIdentity = SystemHost()
    ) {
        self.clock = clock
        self.random = random
        self.fileSystem = fileSystem
        self.host = host
    }

    /// The computer's clock, random numbers and file system.
    package static let live = ReplicaEnvironment(
        clock: SystemClock(), random: SystemRandom(), fileSystem: PosixFileSystem())
}
