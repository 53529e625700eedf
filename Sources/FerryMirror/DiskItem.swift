import FerryCore

/// What a disk says of something without reading it.
package struct DiskStamp: Hashable, Sendable {
    package var device: UInt64
    package var inode: UInt64
    /// When the inode was made, in nanoseconds since the Unix epoch; 0 where the disk does not tell.
    package var born: Int64
    package var size: Int
    /// Of the bytes, and of anything about the file, in nanoseconds since the Unix epoch.
    package var modified: Int64
    package var changed: Int64
    package var isExecutable: Bool

    package init(
        device: UInt64 = 0, inode: UInt64, born: Int64 = 0, size: Int = 0, modified: Int64 = 0, changed: Int64 = 0,
        isExecutable: Bool = false
    ) {
        self.device = device
        self.inode = inode
        self.born = born
        self.size = size
        self.modified = modified
        self.changed = changed
        self.isExecutable = isExecutable
    }

    /// True if the same thing lies there now under another name. Disks use the number of a file that is gone again: where the time of
    /// its making is unknown, length and time have to be the same.
    package func isSameThing(as other: DiskStamp, isFolder: Bool) -> Bool {
        guard device == other.device, inode == other.inode else { return false }
        if born != 0, other.born != 0 { return born == other.born }
        return isFolder || size == other.size && modified == other.modified
    }

    /// True if nobody wrote to a file or changed its mode between two looks, whatever its name was.
    package func hasSameBytes(as other: DiskStamp) -> Bool {
        device == other.device && inode == other.inode && size == other.size && modified == other.modified
            && isExecutable == other.isExecutable
    }
}

/// Something that lies in a mirror's directory.
package struct DiskItem: Hashable, Sendable {
    package enum Kind: Hashable, Sendable { case file, folder }

    package var path: DiskPath
    package var kind: Kind
    package var stamp: DiskStamp

    package init(path: DiskPath, kind: Kind, stamp: DiskStamp) {
        self.path = path
        self.kind = kind
        // A folder changes with all that comes and goes in it.
        self.stamp =
            kind == .file ? stamp : DiskStamp(device: stamp.device, inode: stamp.inode, born: stamp.born)
    }
}

/// What a look at a mirror's directory found.
package struct DiskScan: Sendable {
    /// Something that no document is made of, and why.
    package struct Left: Hashable, Sendable {
        package var path: String
        package var reason: String

        package init(path: String, reason: String) {
            self.path = path
            self.reason = reason
        }
    }

    /// A folder stands before what is in it.
    package var items: [DiskItem] = []
    package var left: [Left] = []
    /// What stands there and is neither a file nor a folder of the disk. Nothing is written in its place, or through it.
    package var obstacles: [DiskPath: DiskObstacle] = [:]
    /// Files and folders with names that are not UTF-8, with a sign in place of what is none. No document is made of them.
    package var unreadable: [DiskItem] = []

    package init() {}

    /// What stands in the way of documents. Somebody may have given a document's file a name that is not UTF-8: the file is there, so
    /// the document stays.
    /// - Parameter entries: what the mirror knows of the directory.
    func obstacles(_ entries: [MirrorEntry], _ rules: DiskRules) -> DiskObstacles {
        var found = obstacles
        if !unreadable.isEmpty {
            let present = Set(items.map(\.path))
            for entry in entries where !present.contains(entry.path) {
                let isRenamed = unreadable.contains {
                    $0.kind == entry.kind && $0.stamp.isSameThing(as: entry.stamp, isFolder: entry.kind == .folder)
                }
                if isRenamed { found[entry.path] = .unreadableName }
            }
        }
        return DiskObstacles(found, rules)
    }
}
