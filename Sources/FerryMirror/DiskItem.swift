import FerryCore

/// The disk's record of something, known without a read.
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

    /// Stands for a file that nobody looked at: the next look reads the file.
    package static func unknown(isExecutable: Bool) -> DiskStamp { DiskStamp(inode: 0, isExecutable: isExecutable) }

    package var isUnknown: Bool { device == 0 && inode == 0 }

    /// True if the same thing lies there now under a new name. Disks use the number of a deleted file again. Without a known time of
    /// creation, length and time have to be the same.
    package func isSameThing(as other: DiskStamp, isFolder: Bool) -> Bool {
        guard device == other.device, inode == other.inode else { return false }
        if born != 0, other.born != 0 { return born == other.born }
        return isFolder || size == other.size && modified == other.modified
    }

    /// True if nobody wrote to a file or changed its mode between two looks, under any name.
    package func hasSameBytes(as other: DiskStamp) -> Bool {
        device == other.device && inode == other.inode && size == other.size && modified == other.modified
            && isExecutable == other.isExecutable
    }
}

/// Something in a mirror's directory.
package struct DiskItem: Hashable, Sendable {
    package enum Kind: Hashable, Sendable { case file, folder }

    package var path: DiskPath
    package var kind: Kind
    package var stamp: DiskStamp

    package init(path: DiskPath, kind: Kind, stamp: DiskStamp) {
        self.path = path
        self.kind = kind
        // A folder's size and times change with everything in the folder.
        self.stamp =
            kind == .file ? stamp : DiskStamp(device: stamp.device, inode: stamp.inode, born: stamp.born)
    }
}

/// The findings of a look at a mirror's directory.
package struct DiskScan: Sendable {
    /// Something without a document, and why.
    package struct Left: Hashable, Sendable {
        package var path: String
        package var reason: String

        package init(path: String, reason: String) {
            self.path = path
            self.reason = reason
        }
    }

    /// A folder stands before the folder's items.
    package var items: [DiskItem] = []
    package var left: [Left] = []
    /// Everything there but files and folders of the disk. Nothing is written in an obstacle's place, or through an obstacle.
    package var obstacles: [DiskPath: DiskObstacle] = [:]
    /// Files and folders with names outside UTF-8, with a sign in place of each invalid sequence. No document is made of them.
    package var unreadable: [DiskItem] = []

    /// Files beside which a journal of SQLite with bytes lies: the file alone lacks the last rows.
    package var journaled: Set<DiskPath> = []

    package init() {}

    /// The obstacles in the way of documents. Somebody may have given a document's file a name outside UTF-8: the file is there, so the
    /// document stays.
    /// - Parameter entries: the mirror's knowledge of the directory.
    func obstacles(_ entries: @autoclosure () throws -> [MirrorEntry], _ rules: DiskRules) rethrows -> DiskObstacles {
        var found = obstacles
        if !unreadable.isEmpty {
            let present = Set(items.map(\.path))
            for entry in try entries() where !present.contains(entry.path) {
                let isRenamed = unreadable.contains {
                    $0.kind == entry.kind && $0.stamp.isSameThing(as: entry.stamp, isFolder: entry.kind == .folder)
                }
                if isRenamed { found[entry.path] = .unreadableName }
            }
        }
        return DiskObstacles(found, rules)
    }
}
