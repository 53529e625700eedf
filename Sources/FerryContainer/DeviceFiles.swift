import FerryCore

/// A file of a device in a container, by the kind of name.
package enum DeviceFile: Hashable, Sendable {
    case record(RecordName)
    case claim
    case pack(PackName)
    case part(PartName)
    case segment(SegmentName)
    case chunk(ChunkName)
    case manifest(SnapshotName)
    case head

    /// True for a file that the author replaces or removes; all further files never change.
    package var changes: Bool { self == .head || self == .claim }

    /// The kind of its content in an envelope; `nil` for records and claims, which are signed and never sealed, and for packs, which
    /// are sealed chunk by chunk.
    package var kind: FileKind? {
        switch self {
        case .record, .claim, .pack: nil
        case .part: .part
        case .segment: .segment
        case .chunk: .chunk
        case .manifest: .manifest
        case .head: .head
        }
    }

    /// A longer file is none of this kind, in bytes.
    package var maximumBytes: Int {
        switch self {
        case .record: Container.maximumRecordBytes
        case .claim: Container.maximumClaimBytes
        case .pack: ContentLimits.packBytes
        case .part, .segment, .chunk, .manifest: FileKind.segment.maximumFileBytes
        case .head: FileKind.head.maximumFileBytes
        }
    }

    /// The name from the container's root on.
    package func path(of device: DeviceID) -> String {
        switch self {
        case .record(let name): Container.membersDirectory(of: device) + "/" + name.fileName
        case .claim: Container.claimName(of: device)
        case .pack(let name): Container.packsDirectory(of: device) + "/" + name.fileName
        case .part(let name): Container.partsDirectory(of: device) + "/" + name.fileName
        case .segment(let name): Container.segmentsDirectory(of: device) + "/" + name.fileName
        case .chunk(let name): Container.snapshotsDirectory(of: device) + "/" + name.fileName
        case .manifest(let name): Container.snapshotsDirectory(of: device) + "/" + name.fileName
        case .head: Container.headName(of: device)
        }
    }
}

/// The names of a device's files in a place, member or not. Anything without exactly such a name is left out: copies
/// by a syncer, placeholders, files of nobody.
package struct DeviceFiles: Equatable, Sendable {
    /// In ascending order.
    package var segments: [SegmentName] = []
    /// In ascending order.
    package var manifests: [SnapshotName] = []
    package var chunks: Set<ChunkName> = []
    package var packs: Set<PackName> = []
    /// Parts of large values.
    package var parts: Set<PartName> = []
    package var records: Set<RecordName> = []
    package var hasHead = false
    package var hasClaim = false

    /// The directory of all devices.
    package static let directory = Container.devicesDirectory

    package init() {}

    package var isEmpty: Bool { self == DeviceFiles() }

    /// Lists a device's files. No marker is needed, so an unfinished copy of a container can be listed.
    /// - Throws: as `ContainerBackend.list`.
    package init(of device: DeviceID, in backend: any ContainerBackend) throws {
        segments = try backend.list(Container.segmentsDirectory(of: device), after: nil)
            .compactMap { SegmentName($0) }.sorted()
        for name in try backend.list(Container.snapshotsDirectory(of: device), after: nil) {
            if let manifest = SnapshotName(name) { manifests.append(manifest) }
            if let chunk = ChunkName(name) { chunks.insert(chunk) }
        }
        manifests.sort()
        packs = Set(try backend.list(Container.packsDirectory(of: device), after: nil).compactMap { PackName($0) })
        parts = Set(try backend.list(Container.partsDirectory(of: device), after: nil).compactMap { PartName($0) })
        records = Set(
            try backend.list(Container.membersDirectory(of: device), after: nil).compactMap { RecordName($0) })
        let names = try backend.list(Container.directory(of: device), after: nil)
        hasHead = names.contains("head")
        hasClaim = names.contains("claim")
    }

    /// A device's directories.
    package static func directories(of device: DeviceID) -> [String] {
        [
            Container.directory(of: device), Container.segmentsDirectory(of: device),
            Container.snapshotsDirectory(of: device), Container.membersDirectory(of: device),
            Container.packsDirectory(of: device), Container.partsDirectory(of: device),
        ]
    }

    /// The devices with a directory, in ascending order.
    /// - Throws: as `ContainerBackend.list`.
    package static func devices(in backend: any ContainerBackend) throws -> [DeviceID] {
        try backend.list(Container.devicesDirectory, after: nil).compactMap { name in
            DeviceID(name).flatMap { $0.hex == name ? $0 : nil }
        }.sorted()
    }
}
