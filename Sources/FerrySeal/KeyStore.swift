import FerryCore
import Synchronization

/// Where a computer keeps the secret keys of its devices: never in a database, never in the shared folder.
///
/// Safe to use from several threads. One process at a time writes for a device, under the device's lock.
package protocol KeyStore: Sendable {
    /// Reads the keys of a device; `nil` where there are none here.
    /// - Throws: `keyExposed` where others can read them, `damagedFile`, `formatTooNew`, `inputOutput`.
    func load(_ device: DeviceID) throws -> KeyFile?

    /// Keeps the keys of a device, in place of those before. Durable when it returns: save before anything names the device.
    /// - Throws: `keyExposed` where others could read them, `inputOutput`; what was there before is there still.
    func save(_ file: KeyFile) throws

    /// Forgets the keys of a device, if there are any. They are gone for good when it returns.
    func remove(_ device: DeviceID) throws

    /// The devices whose keys are here, in ascending order.
    func devices() throws -> [DeviceID]

    /// The directory of the keys; `nil` where they are in none.
    var place: String? { get }
}

extension KeyStore {
    package var place: String? { nil }
}

/// A key store that lasts as long as its process: for tests, simulations, and apps that keep keys elsewhere.
package final class MemoryKeyStore: KeyStore {
    private let files = Mutex<[DeviceID: KeyFile]>([:])

    package init() {}

    package func load(_ device: DeviceID) throws -> KeyFile? { files.withLock { $0[device] } }
    package func save(_ file: KeyFile) throws { files.withLock { $0[file.device] = file } }
    package func remove(_ device: DeviceID) throws { _ = files.withLock { $0.removeValue(forKey: device) } }
    package func devices() throws -> [DeviceID] { files.withLock { $0.keys.sorted() } }
}
