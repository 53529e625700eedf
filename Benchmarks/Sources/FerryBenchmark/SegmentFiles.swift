import FerryCore
import FerryLog
import FerrySchema
import FerryStore
import Foundation

/// The files in which a device publishes a workload's rows.
struct SegmentFiles {
    private let paths: [String]
    private let identity: StoreIdentity

    /// Makes them, in a container of their own.
    init(_ workload: any Workload, in place: Place) throws {
        let own = try Place(below: place.folder)
        let device = try Device.first(workload, in: own)
        _ = try workload.insert(device.app)
        try device.sync()
        identity = device.replica.identity
        let files = FileManager.default.enumerator(atPath: own.container)
        paths = (files?.compactMap { $0 as? String } ?? []).filter { $0.hasSuffix(".segment") }
            .map { own.container + "/" + $0 }
        if paths.isEmpty { throw BenchmarkError("a device published nothing") }
    }

    /// Reads, decompresses and decodes them.
    func decoded() throws -> [Changeset] {
        try paths.flatMap { path in
            let bytes = [UInt8](try Data(contentsOf: URL(fileURLWithPath: path)))
            return try SegmentDecoder.decode(bytes, container: identity.container, device: identity.device).1
        }
    }
}
