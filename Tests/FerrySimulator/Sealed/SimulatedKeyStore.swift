import FerryCore
import FerrySeal

/// The key store of a simulated computer. What was saved is durable: a process that dies loses nothing of it.
///
/// `@unchecked Sendable` because a simulation runs on a single thread.
final class SimulatedKeyStore: KeyStore, @unchecked Sendable {
    /// Every key that anybody ever had, for asking what somebody can open who is no member any more.
    final class Witness {
        var files: [DeviceID: KeyFile] = [:]
    }

    private let witness: Witness
    private var files: [DeviceID: KeyFile] = [:]

    init(_ witness: Witness) { self.witness = witness }

    /// The key store of a cloned computer.
    func copy() -> SimulatedKeyStore {
        let copy = SimulatedKeyStore(witness)
        copy.files = files
        return copy
    }

    func load(_ device: DeviceID) throws -> KeyFile? { files[device] }
    func remove(_ device: DeviceID) throws { files[device] = nil }
    func devices() throws -> [DeviceID] { files.keys.sorted() }

    func save(_ file: KeyFile) throws {
        files[file.device] = file
        witness.files[file.device] = file
    }
}
