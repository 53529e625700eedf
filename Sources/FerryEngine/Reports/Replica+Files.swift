import FerryContainer
import FerryCore
import FerryStore

/// The files of a container, by device and kind. The JSON keys are fixed.
package struct ContainerFilesReport: Codable, Equatable, Sendable {
    package struct Size: Codable, Equatable, Sendable {
        package var files: Int
        package var bytes: Int

        init(_ sizes: [Int]) {
            files = sizes.count
            bytes = sizes.reduce(0, +)
        }
    }

    package struct Device: Codable, Equatable, Sendable {
        package var id: String
        package var name: String
        package var isThisDevice: Bool
        package var files: Int
        package var bytes: Int
        /// By kind: `segment`, `snapshot`, `value`, `pack`, `head` or `member`.
        package var kinds: [String: Size]

        init(id: String, name: String, isThisDevice: Bool, sizes: [String: [Int]]) {
            self.id = id
            self.name = name
            self.isThisDevice = isThisDevice
            kinds = sizes.mapValues { Size($0) }
            files = kinds.values.reduce(0) { $0 + $1.files }
            bytes = kinds.values.reduce(0) { $0 + $1.bytes }
        }
    }

    /// In the order of names; this device first.
    package var devices: [Device] = []
    package var files: Int { devices.reduce(0) { $0 + $1.files } }
    package var bytes: Int { devices.reduce(0) { $0 + $1.bytes } }

    private enum CodingKeys: String, CodingKey {
        case devices
        case files
        case bytes
    }

    package init(devices: [Device]) { self.devices = devices }

    package init(from decoder: any Decoder) throws {
        devices = try decoder.container(keyedBy: CodingKeys.self).decode([Device].self, forKey: .devices)
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(devices, forKey: .devices)
        try container.encode(files, forKey: .files)
        try container.encode(bytes, forKey: .bytes)
    }
}

extension Replica {
    /// Lists the container's files with their sizes, whoever wrote them. Reads no file, and changes nothing.
    /// - Throws: `containerMissing` and others, as `ContainerBackend.list`.
    package func containerFiles() throws -> ContainerFilesReport {
        try refreshIdentity()
        let backend = try place()
        try backend.refresh(.full)
        try backend.checkRoot()
        let names = try store.reading().names
        let own = identity
        let devices = try DeviceFiles.devices(in: backend).map { id in
            var sizes: [String: [Int]] = [:]
            for (kind, path) in try DeviceFiles(of: id, in: backend).paths(of: id) {
                // A file may go while files are listed.
                if let size = try backend.version(of: path)?.size { sizes[kind, default: []].append(size) }
            }
            return ContainerFilesReport.Device(
                id: id.description,
                name: id == own.device ? own.deviceName : names[id] ?? String(id.description.prefix(8)),
                isThisDevice: id == own.device, sizes: sizes)
        }
        return ContainerFilesReport(
            devices: devices.sorted {
                ($0.isThisDevice ? 0 : 1, $0.name, $0.id) < ($1.isThisDevice ? 0 : 1, $1.name, $1.id)
            })
    }
}

extension DeviceFiles {
    /// The kind of each file for people, and its name from the container's root on.
    fileprivate func paths(of device: DeviceID) -> [(kind: String, path: String)] {
        var files: [(String, DeviceFile)] = segments.map { ("segment", .segment($0)) }
        files += manifests.map { ("snapshot", .manifest($0)) } + chunks.map { ("snapshot", .chunk($0)) }
        files += packs.map { ("pack", .pack($0)) } + parts.map { ("value", .part($0)) }
        files += records.map { ("member", .record($0)) } + (hasClaim ? [("member", .claim)] : [])
        if hasHead { files.append(("head", .head)) }
        return files.map { ($0.0, $0.1.path(of: device)) }
    }
}
