import FerryContainer
import FerryCore
import FerryLog
import FerrySeal
import FerryStore
import Foundation

/// The outside world of the engine: clock, random numbers, files, machine, secret keys.
package struct ReplicaEnvironment: Sendable {
    package var clock: any WallClock
    package var random: any RandomSource
    package var fileSystem: any FileSystem
    package var host: any HostIdentity
    /// Where the secret keys of sealed containers' devices are.
    package var keys: any KeyStore
    /// Opens remote places, by their kind (`ContainerLocation.kind`), before `RemotePlaces` is asked. Folders need none.
    package var openers: [String: RemotePlaces.Opener] = [:]

    /// Decides which values lie outside of segments and snapshots.
    package var largeValues = LargeValueSettings()

    /// Companions of syncs besides `SyncCompanions`; a companion of this environment replaces a companion of the same
    /// name.
    package var companions: [any SyncCompanion] = []

    package init(
        clock: any WallClock, random: any RandomSource, fileSystem: any FileSystem,
        host: any HostIdentity = SystemHost(), keys: any KeyStore = MemoryKeyStore()
    ) {
        self.clock = clock
        self.random = random
        self.fileSystem = fileSystem
        self.host = host
        self.keys = keys
    }

    /// The computer's clock, random numbers and file system, and this account's keys.
    package static var live: ReplicaEnvironment {
        ReplicaEnvironment(
            clock: SystemClock(), random: SystemRandom(), fileSystem: PosixFileSystem(),
            keys: FileKeyStore(
                directory: FileKeyStore.directory(variables: FileKeyStore.variables)))
    }

    /// The same, with the keys where an app keeps them.
    static func live(for store: Store) -> ReplicaEnvironment {
        var environment = live
        if let directory = store.keyDirectory { environment.keys = FileKeyStore(directory: directory) }
        return environment
    }
}
