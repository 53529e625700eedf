import FerryCore
import Foundation

@testable import FerryEngine

/// A second folder that a syncer keeps equal to a fleet's container, now and then.
struct SecondFolder {
    let path: String
    private let container: String

    init(_ fleet: Fleet, _ name: String) throws {
        path = fleet.folder.appendingPathComponent(name).path
        container = fleet.containerPath
        try FileManager.default.copyItem(atPath: container, toPath: path)
    }

    /// Files that one folder lacks are copied from the other; of two that differ the later one wins.
    /// - Parameter device: its files have not arrived yet, and stay where they are.
    func exchange(without device: DeviceID? = nil) throws {
        for (from, to) in [(container, path), (path, container)] {
            let files = FileManager.default.enumerator(atPath: from)?.allObjects as? [String] ?? []
            for file in files.sorted() {
                if let device, file.contains(device.hex) { continue }
                let (source, target) = (from + "/" + file, to + "/" + file)
                var isDirectory: ObjCBool = false
                _ = FileManager.default.fileExists(atPath: source, isDirectory: &isDirectory)
                if isDirectory.boolValue {
                    try FileManager.default.createDirectory(atPath: target, withIntermediateDirectories: true)
                } else if try modified(target).map({ try $0 < modified(source) ?? .distantPast }) ?? true {
                    let content = try Data(contentsOf: URL(fileURLWithPath: source))
                    try content.write(to: URL(fileURLWithPath: target))
                    try FileManager.default.setAttributes(
                        [.modificationDate: modified(source) as Any], ofItemAtPath: target)
                }
            }
        }
    }

    /// A device's files are not here, or not yet.
    func lose(_ device: DeviceID) throws {
        let files = FileManager.default.enumerator(atPath: path)?.allObjects as? [String] ?? []
        for file in files where (file as NSString).lastPathComponent.contains(device.hex) {
            try FileManager.default.removeItem(atPath: path + "/" + file)
        }
    }

    private func modified(_ path: String) throws -> Date? {
        guard FileManager.default.fileExists(atPath: path) else { return nil }
        return try FileManager.default.attributesOfItem(atPath: path)[.modificationDate] as? Date
    }
}
