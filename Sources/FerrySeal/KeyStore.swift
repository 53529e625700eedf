import FerryCore
import Synchronization

/// A computer's store for the secret keys of devices: never in a database, never in the shared folder.
///
/// Safe to use from several threads. Only a single process at a time writes for a device, under the device's lock.
package protocol KeyStore: Sendable {
    /// Reads the keys of a device; `nil` where there are none here.
    /// - Throws: `keyExposed` if further users can read the keys, `damagedFile`, `formatTooNew`, `inputOutput`.
    func load(_ device: DeviceID) throws -> KeyFile?

    /// Keeps the keys of a device, in place of the keys before. Durable on return: save before any file names the
    /// device.
    /// - Throws: `keyExposed` if further users could read the keys, `inputOutput`; the earlier keys are still there.
    func save(_ file: KeyFile) throws

    /// Forgets the keys of a device, if there are any. On return the keys are gone for good.
    func remove(_ device: DeviceID) throws

    /// The devices with keys here, in ascending order.
    func devices() throws -> [DeviceID]

    /// The directory of the keys; `nil` where they are in none.
    var place: String? { get }
}

extension KeyStore {
    package var place: String? { nil }

    /// Reads the keys of one device among many; `nil` also for a damaged file, which says nothing of the others.
    /// - Throws: as `load`.
    package func readable(_ device: DeviceID) throws -> KeyFile? {
        do {
            return try load(device)
        } catch let error as FerryError where error.code == .damagedFile {
            return nil
        }
    }
}

/// A key store in memory, as long-lived as the process: for tests, simulations, and apps with their own storage of
/// keys.
package final class MemoryKeyStore: KeyStore {
    private let files = Mutex<[DeviceID: KeyFile]>([:])

    package init() {}

    package func load(_ device: DeviceID) throws -> KeyFile? { files.withLock { $0[device] } }
    package func save(_ file: KeyFile) throws { files.withLock { $0[file.device] = file } }
    package func remove(_ device: DeviceID) throws { _ = files.withLock { $0.removeValue(forKey: device) } }
    package func devices() throws -> [DeviceID] { files.withLock { $0.keys.sorted() } }
}
