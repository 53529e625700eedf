import FerryCore

/// The files of a device without readers, such as files from before a container was sealed. Records of members are not
/// among them: a record counts in any directory.
extension Container {
    /// The contents of a device's directory, member or not.
    package struct Remains: Equatable, Sendable {
        /// The device of the directory.
        package let device: DeviceID
        /// The number of the last changeset in a segment; 0 without segments.
        package fileprivate(set) var lastSequence: UInt64 = 0
        /// Names of Ferry's files, from the container's root on, in the order of removal.
        package fileprivate(set) var files: [String] = []
        /// True if packs are among the files.
        package fileprivate(set) var hasPacks = false
        /// Names that a syncer makes of names of Ferry's files: copies and placeholders. The content may be in no other file.
        package fileprivate(set) var copies: [String] = []
        /// Names of anything else, such as files of the operating system.
        package fileprivate(set) var others: [String] = []

        /// True if the device has published anything. A claim is a request to be let in.
        package var hasPublished: Bool { files.contains { $0 != Container.claimName(of: device) } }

        package var isEmpty: Bool { files.isEmpty && copies.isEmpty && others.isEmpty }

        private static let suffixes = [
            SegmentName.suffix, SnapshotName.suffix, ChunkFileKind.suffix, PackName.suffix, PartFileKind.suffix,
        ]

        /// Notes the name of a file that is none of Ferry's.
        fileprivate mutating func note(foreign name: String) {
            let letters = name.lowercased()
            // A program may put more than letters around a name, but never takes the suffix away.
            if Self.suffixes.contains(where: { letters.contains($0) }) {
                copies.append(name)
            } else {
                others.append(name)
            }
        }
    }

    /// Lists a device's directory.
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
                    remains.note(foreign: segments + "/" + name)
                }
            }
            let snapshots = Self.snapshotsDirectory(of: device)
            for name in try backend.list(snapshots, after: nil) {
                let isKnown = SnapshotName(name) != nil || ChunkName(name) != nil
                if isKnown {
                    remains.files.append(snapshots + "/" + name)
                } else {
                    remains.note(foreign: snapshots + "/" + name)
                }
            }
            let packs = Self.packsDirectory(of: device)
            for name in try backend.list(packs, after: nil) {
                if PackName(name) != nil {
                    remains.files.append(packs + "/" + name)
                    remains.hasPacks = true
                } else {
                    remains.note(foreign: packs + "/" + name)
                }
            }
            let values = Self.partsDirectory(of: device)
            for name in try backend.list(values, after: nil) {
                if PartName(name) != nil {
                    remains.files.append(values + "/" + name)
                } else {
                    remains.note(foreign: values + "/" + name)
                }
            }
            let (head, claim) = (Self.headName(of: device), Self.claimName(of: device))
            let directories = [segments, snapshots, packs, values, Self.membersDirectory(of: device)]
            for name in try backend.list(directory, after: nil) where !directories.contains(directory + "/" + name) {
                // The head goes last: as long as a head is there, people see the owner of the remaining files.
                // A claim may come back with a copy of the folder. Names ascend, so the claim is before the head.
                if [head, claim].contains(directory + "/" + name) {
                    remains.files.append(directory + "/" + name)
                } else {
                    remains.note(foreign: directory + "/" + name)
                }
            }
        }
        return remains
    }

    /// Removes Ferry's files, leftovers of interrupted writes, and directories without entries. All of this is gone for
    /// good on return; after an interruption a second call goes on. Foreign files stay.
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

    /// A device's directories, each before the directory around it.
    private static func directories(of device: DeviceID) -> [String] {
        [
            segmentsDirectory(of: device), snapshotsDirectory(of: device), packsDirectory(of: device),
            partsDirectory(of: device), membersDirectory(of: device), directory(of: device),
        ]
    }
}
