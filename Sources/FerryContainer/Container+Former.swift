import FerryCore

/// The files of a device that nobody reads any more, such as those from before a container was sealed. Records of members are none
/// of them: a record counts wherever it lies.
extension Container {
    /// What lies in a device's directory, whoever counts.
    package struct Remains: Equatable, Sendable {
        /// The device whose directory it is.
        package let device: DeviceID
        /// The number of the last changeset in a segment; 0 without segments.
        package fileprivate(set) var lastSequence: UInt64 = 0
        /// Names of files of Ferry's, from the container's root on, in the order in which they are removed.
        package fileprivate(set) var files: [String] = []
        /// True if packs are among the files.
        package fileprivate(set) var hasPacks = false
        /// Names of anything else: copies by a syncer, placeholders, files of nobody.
        package fileprivate(set) var others: [String] = []

        package var isEmpty: Bool { files.isEmpty && others.isEmpty }
    }

    /// Finds what lies in a device's directory.
    /// - Throws: `limitExceeded` for an absurd number of files, `damagedFile`, `inputOutput`.
    package func remains(of device: DeviceID) throws -> Remains {
        var remains = Remains(device: device)
        let directory = Self.directory(of: device)
        try locating(device, directory) {
            let segments = Self.segmentsDirectory(of: device)
            for name in try backend.list(segments, after: nil) {
                if let segment = SegmentFile(fileName: name), !segment.isCopy {
                    remains.lastSequence = max(remains.lastSequence, segment.name.last)
                    remains.files.append(segments + "/" + name)
                } else {
                    remains.others.append(segments + "/" + name)
                }
            }
            let snapshots = Self.snapshotsDirectory(of: device)
            for name in try backend.list(snapshots, after: nil) {
                let isKnown = SnapshotName(name) != nil || ChunkName(name) != nil
                if isKnown {
                    remains.files.append(snapshots + "/" + name)
                } else {
                    remains.others.append(snapshots + "/" + name)
                }
            }
            let packs = Self.packsDirectory(of: device)
            for name in try backend.list(packs, after: nil) {
                if PackName(name) != nil {
                    remains.files.append(packs + "/" + name)
                    remains.hasPacks = true
                } else {
                    remains.others.append(packs + "/" + name)
                }
            }
            let values = Self.partsDirectory(of: device)
            for name in try backend.list(values, after: nil) {
                if PartName(name) != nil {
                    remains.files.append(values + "/" + name)
                } else {
                    remains.others.append(values + "/" + name)
                }
            }
            let head = Self.headName(of: device)
            let directories = [segments, snapshots, packs, values, Self.membersDirectory(of: device)]
            for name in try backend.list(directory, after: nil) where !directories.contains(directory + "/" + name) {
                // The head goes last: as long as there is one, people see whose the other files are.
                if directory + "/" + name == head {
                    remains.files.append(head)
                } else {
                    remains.others.append(directory + "/" + name)
                }
            }
        }
        return remains
    }

    /// Removes the files of Ferry's, what interrupted writings left beside them, and directories that are empty then. All that is gone
    /// for good on return; after an interruption another call goes on. Files of others stay.
    package func remove(_ remains: Remains) throws {
        let device = remains.device
        for name in remains.files { try backend.remove(name) }
        if !remains.files.isEmpty {
            for directory in Self.directories(of: device) {
                try backend.removeLeftovers(in: directory)
                try backend.settle(directory)
            }
        }
        var isRemoved = false
        for directory in Self.directories(of: device) where try backend.removeDirectory(directory) { isRemoved = true }
        if isRemoved { try backend.settle(Self.devicesDirectory) }
    }

    /// A device's directories, each before the one that it is in.
    private static func directories(of device: DeviceID) -> [String] {
        [
            segmentsDirectory(of: device), snapshotsDirectory(of: device), packsDirectory(of: device),
            partsDirectory(of: device), membersDirectory(of: device), directory(of: device),
        ]
    }
}
