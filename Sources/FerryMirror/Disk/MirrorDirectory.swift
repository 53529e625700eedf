import CFerryFiles
import FerryContainer
import FerryCore
import FerryDocuments

#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

/// The place of bytes for a mirror to read.
package enum MirrorSource: Hashable, Sendable {
    /// A file's path.
    case file(String)
    /// A short content, held in a row of the database.
    case bytes([UInt8])
}

/// A directory of the operating system, as a mirror uses it.
///
/// Belongs to a single thread. Every path is walked (`DirectoryWalk`), and no link is followed: nothing outside is touched.
///
/// Among the named leaves with unsafe code: each pointer below is to a buffer, and the buffer's length bounds the call.
package final class MirrorDirectory: MirrorDisk {
    /// Where the directory is.
    package var root: String { walk.root }
    package let rules: DiskRules
    /// Whether the system tells of files open for writing.
    package let tellsWriters: Bool
    let walk: DirectoryWalk
    private let device: UInt64
    /// Folders with changed names that are not durable yet.
    var unsynchronized: Set<DiskPath> = []

    /// A directory has at most so many files and folders.
    static let maximumItems = 2_000_000

    /// Opens a directory with a marker.
    /// - Throws: `mirrorMissing` without such a directory.
    package init(root: String) throws {
        do {
            walk = try DirectoryWalk(root: root)
        } catch {
            throw Self.missing(root, error)
        }
        let descriptor = walk.top.number
        var status = stat()
        guard fstat(descriptor, &status) == 0 else {
            throw Self.missing(root, SystemCallError(call: "fstat", number: errno))
        }
        device = UInt64(truncatingIfNeeded: status.st_dev)
        // Names may be listed without the right to look at anything: then the marker seems to be missing.
        var own = stat()
        if fstatat(descriptor, DiskPath.own.text, &own, AT_SYMLINK_NOFOLLOW) != 0 {
            let error = SystemCallError(call: "fstatat", number: errno)
            if error.isRefusal { throw Self.missing(root, error) }
        }
        let longest = fpathconf(descriptor, Int32(_PC_NAME_MAX))
        rules = DiskRules(
            ignoresCase: Self.ignoresCase(descriptor), isOfWindows: Self.isOfWindows(descriptor),
            maximumBytes: longest > 0 ? min(Int(longest), 255) : 255)
        tellsWriters = Self.tellsWriters(descriptor)
    }

    static func missing(_ root: String, _ cause: SystemCallError?) -> FerryError {
        if cause?.isRefusal == true {
            return FerryError(
                .inputOutput,
                "Ferry may not list the directory \(root). Nothing was deleted, and the mirror rests. Give Ferry's account the right "
                    + "to list it; the next pass goes on then.", path: root, cause: cause, detail: cause.map { "\($0)" }
            )
        }
        return FerryError(
            .mirrorMissing,
            "There is no directory at \(root). Is its disk mounted? Nothing was deleted, and the mirror rests. Where it was moved, say "
                + "`ferry documents DATABASE mirror NEW --adopt`; where it is gone for good, `… mirror \(root) --stop`.",
            path: root, cause: cause)
    }

    // MARK: What the disk is like

    /// Whether the marker is found under another spelling.
    private static func ignoresCase(_ descriptor: Int32) -> Bool {
        var status = stat()
        return fstatat(descriptor, ".FERRY-MIRROR", &status, AT_SYMLINK_NOFOLLOW) == 0
    }

    private static func isOfWindows(_ descriptor: Int32) -> Bool {
        // statfs(2): MSDOS_SUPER_MAGIC, exFAT, NTFS, NTFS3, SMB and CIFS.
        let kinds: Set<UInt64> = [0x4d44, 0x2011_bab0, 0x5346_544e, 0x7366_746e, 0x517b, 0xfe53_4d42, 0xff53_4d42]
        return kinds.contains(ferry_file_system(descriptor))
    }

    private static func tellsWriters(_ descriptor: Int32) -> Bool {
        let file = openat(
            descriptor, DiskPath.own.text + "/" + MirrorMarker.fileName, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
        guard file >= 0 else { return false }
        defer { close(file) }
        return ferry_has_writers(file) >= 0
    }

    // MARK: Looking

    package func source(at path: DiskPath) -> MirrorSource { .file(root + "/" + path.text) }

    package func ignoreText() throws -> String? {
        let file = try walk.inFolder(of: DiskPath(IgnoreRules.fileName)) { folder, name in
            openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
        }
        guard let file else { return nil }
        if file < 0, [EACCES, EPERM, EIO].contains(errno) {
            // Without its rules, private files would become documents.
            throw walk.failure("openat", DiskPath(IgnoreRules.fileName))
        }
        guard file >= 0 else { return nil }
        defer { close(file) }
        var status = stat()
        guard fstat(file, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
        let size = min(max(Int(status.st_size), 0), IgnoreRules.maximumBytes)
        let bytes = [UInt8](unsafeUninitializedCapacity: size) { buffer, count in
            while count < size {
                let got = read(file, buffer.baseAddress.map { $0 + count }, size - count)
                if got <= 0 { break }
                count += got
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    package func item(at path: DiskPath) throws -> DiskItem? {
        try walk.inFolder(of: path) { folder, name -> DiskItem? in
            var status = stat()
            guard fstatat(folder, name, &status, AT_SYMLINK_NOFOLLOW) == 0 else {
                if errno == ENOENT || errno == ENOTDIR { return nil }
                throw walk.failure("fstatat", path)
            }
            return Self.item(path, status, ferry_birth(folder, name))
        } ?? nil
    }

    /// True if nothing is at a path. In a folder that cannot be listed nothing is known to be gone.
    func isGone(_ path: DiskPath) throws -> Bool {
        do {
            return try item(at: path) == nil
        } catch let error as FerryError where error.isRefusal {
            return false
        }
    }

    private static func item(_ path: DiskPath, _ status: stat, _ born: Int64) -> DiskItem? {
        let kind = status.st_mode & S_IFMT
        guard kind == S_IFREG || kind == S_IFDIR else { return nil }
        #if canImport(Darwin)
        let (modified, changed) = (status.st_mtimespec, status.st_ctimespec)
        #else
        let (modified, changed) = (status.st_mtim, status.st_ctim)
        #endif
        return DiskItem(
            path: path, kind: kind == S_IFREG ? .file : .folder,
            stamp: DiskStamp(
                device: UInt64(truncatingIfNeeded: status.st_dev), inode: UInt64(status.st_ino), born: born,
                size: Int(status.st_size), modified: nanoseconds(modified), changed: nanoseconds(changed),
                isExecutable: status.st_mode & S_IXUSR != 0))
    }

    private static func nanoseconds(_ time: timespec) -> Int64 {
        Int64(time.tv_sec) &* 1_000_000_000 &+ Int64(time.tv_nsec)
    }

    package func scan(_ ignoring: IgnoreRules) throws -> DiskScan {
        var scan = DiskScan()
        var next: [DiskPath] = [.top]
        while let folder = next.popLast() {
            next += try lookIfListed(folder, ignoring, &scan)
        }
        let aside = try walk.openFolder(.work).map { try walk.names($0.number, .work).names } ?? []
        for name in aside where name.hasPrefix("aside-") {
            let path = DiskPath.work.appending(name)
            guard let item = try item(at: path) else { continue }
            scan.items.append(item)
            var inside: [DiskPath] = item.kind == .folder ? [path] : []
            while let folder = inside.popLast() { inside += try look(folder, ignoring, &scan) }
        }
        // A folder stands before the folder's items.
        scan.items.sort { ($0.path.depth, $0.path) < ($1.path.depth, $1.path) }
        return scan
    }

    /// Looks into one folder. A folder that Ferry may not list becomes an obstacle: the rest of the directory goes on.
    /// - Returns: its folders.
    private func lookIfListed(
        _ path: DiskPath, _ ignoring: IgnoreRules, _ scan: inout DiskScan
    ) throws -> [DiskPath] {
        let known = scan.items.count
        do {
            return try look(path, ignoring, &scan)
        } catch let error as FerryError where error.isRefusal && !path.isTop {
            // Without the right to search a folder, its names are listed, and nothing else is known of them.
            scan.items.removeSubrange(known...)
            scan.obstacles[path] = .closedFolder
            return []
        }
    }

    /// Looks into one folder.
    /// - Returns: its folders.
    private func look(_ path: DiskPath, _ ignoring: IgnoreRules, _ scan: inout DiskScan) throws -> [DiskPath] {
        guard let folder = try walk.openFolder(path) else { return [] }
        var folders: [DiskPath] = []
        let (names, unreadable) = try walk.names(folder.number, path)
        for name in unreadable {
            var status = stat()
            guard fstatat(folder.number, name, &status, AT_SYMLINK_NOFOLLOW) == 0 else { continue }
            let place = path.appending(String(decoding: name.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self))
            if let item = Self.item(place, status, ferry_birth(folder.number, name)) { scan.unreadable.append(item) }
        }
        for name in names.sorted(by: { $0.utf8.lexicographicallyPrecedes($1.utf8) }) {
            let place = path.appending(name)
            var status = stat()
            guard fstatat(folder.number, name, &status, AT_SYMLINK_NOFOLLOW) == 0 else {
                if errno == ENOENT { continue }
                throw walk.failure("fstatat", place)
            }
            let isFolder = status.st_mode & S_IFMT == S_IFDIR
            if !isFolder, status.st_size > 0, let file = Self.journaled(by: place) { scan.journaled.insert(file) }
            if ignoring.ignoresHere(place, isFolder: isFolder) { continue }
            if let obstacle = obstacle(status) {
                scan.obstacles[place] = obstacle
                continue
            }
            if let reason = refusal(of: place) {
                scan.left.append(.init(path: place.text, reason: reason))
                continue
            }
            guard let item = Self.item(place, status, ferry_birth(folder.number, name)) else { continue }
            guard scan.items.count < Self.maximumItems else {
                throw FerryError(
                    .limitExceeded, "The directory \(root) has more than \(Self.maximumItems) files and folders.",
                    path: root)
            }
            scan.items.append(item)
            if isFolder { folders.append(place) }
        }
        return folders
    }

    /// The kind of obstacle, for everything but files and folders of this disk.
    private func obstacle(_ status: stat) -> DiskObstacle? {
        switch status.st_mode & S_IFMT {
        case S_IFREG, S_IFDIR: UInt64(truncatingIfNeeded: status.st_dev) == device ? nil : .otherDisk
        case S_IFLNK: .link
        default: .special
        }
    }

    /// Why no document is made of a file or a folder.
    private func refusal(of path: DiskPath) -> String? {
        if path.depth > DocumentPath.maximumNames / 2 { return "it lies too deep" }
        return DocumentName.refusal(of: path.name).map { "its name \($0)" }
    }

    package func isOpenForWriting(_ path: DiskPath) throws -> Bool {
        let descriptor = try walk.inFolder(of: path) { folder, name in
            openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
        }
        guard let descriptor, descriptor >= 0 else { return false }
        defer { close(descriptor) }
        if ferry_has_writers(descriptor) == 1 { return true }
        return try isDatabase(descriptor) && hasJournal(path)
    }

    package func waitReason(_ path: DiskPath) throws -> String? {
        let descriptor = try walk.inFolder(of: path) { folder, name in
            openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
        }
        guard let descriptor, descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        guard isDatabase(descriptor) else { return nil }
        return StuckItem.Reason.inUse.words
    }

    private func isDatabase(_ descriptor: Int32) -> Bool {
        var start = [UInt8](repeating: 0, count: 16)
        // https://www.sqlite.org/fileformat2.html#magic_header_string
        return pread(descriptor, &start, 16, 0) == 16 && start.starts(with: "SQLite format 3\0".utf8)
    }

    private static let journals = ["-wal", "-journal"]

    /// The database to which a journal belongs by its name; `nil` for other files.
    private static func journaled(by path: DiskPath) -> DiskPath? {
        journals.first { path.text.hasSuffix($0) }.map { DiskPath(String(path.text.dropLast($0.count))) }
    }

    /// Whether a database has a journal with bytes: the database's file alone is incomplete.
    private func hasJournal(_ path: DiskPath) throws -> Bool {
        for suffix in Self.journals {
            if let item = try item(at: DiskPath(path.text + suffix)), item.stamp.size > 0 { return true }
        }
        return false
    }

    // MARK: Changing

    package func makeFolder(at path: DiskPath) throws -> Bool {
        try walk.inFolder(of: path) { folder, name in
            guard mkdirat(folder, name, 0o777) == 0 else {
                if errno == EEXIST { return false }
                throw walk.failure("mkdirat", path)
            }
            unsynchronized.insert(path.folder)
            return true
        } ?? false
    }

    package func synchronize() throws {
        if unsynchronized.count > Self.manyItems, ferry_synchronize_disk(walk.top.number) == 0 {
            unsynchronized = []
            return
        }
        for path in unsynchronized.sorted() {
            // A folder removed again has no names to lose.
            guard let folder = try walk.openFolder(path) else { continue }
            // Some file systems (FUSE, SMB) cannot synchronize folders.
            if fsync(folder.number) != 0, errno != EINVAL, errno != ENOTSUP { throw walk.failure("fsync", path) }
        }
        unsynchronized = []
    }

    package func removeFolder(at path: DiskPath) throws -> Bool {
        guard let inside = try walk.openFolder(path) else { return false }
        let (names, unreadable) = try walk.names(inside.number, path)
        guard unreadable.isEmpty, names.allSatisfy(IgnoreRules.isLitter) else { return false }
        for name in names { unlinkat(inside.number, name, 0) }
        return try walk.inFolder(of: path) { folder, name in
            guard unlinkat(folder, name, AT_REMOVEDIR) == 0 else {
                if [ENOTEMPTY, EEXIST, ENOENT, ENOTDIR].contains(errno) { return false }
                throw walk.failure("unlinkat", path)
            }
            unsynchronized.insert(path.folder)
            return true
        } ?? false
    }

    package func rename(_ path: DiskPath, to new: DiskPath) throws -> Bool {
        try makeWork(for: new)
        guard let old = try walk.openFolder(path.folder), let target = try walk.openFolder(new.folder) else {
            return false
        }
        if ferry_rename(old.number, path.name, target.number, new.name, 0) != 0 {
            switch errno {
            case ENOENT, ENOTDIR, ELOOP, EXDEV: return false
            case EEXIST, ENOTEMPTY:
                // A disk that ignores case takes both names for the same file or folder.
                guard let one = try item(at: path), let other = try item(at: new), one.stamp == other.stamp,
                    path.text.lowercased() == new.text.lowercased()
                else { return false }
                guard renameat(old.number, path.name, target.number, new.name) == 0 else {
                    throw walk.failure("renameat", new)
                }
            case EINVAL, ENOSYS, ENOTSUP:
                if new.isBelow(path) { return false }
                guard try renameWithoutFlags(path, old.number, new, target.number) else { return false }
            default: throw walk.failure("renameat2", new)
            }
        }
        unsynchronized.formUnion([path.folder, new.folder])
        return true
    }

    /// Renames on a disk without a rename that never replaces: a file by a second name, a folder after a look.
    private func renameWithoutFlags(
        _ path: DiskPath, _ old: Int32, _ new: DiskPath, _ target: Int32
    ) throws -> Bool {
        guard let item = try item(at: path) else { return false }
        if item.kind == .file, linkat(old, path.name, target, new.name, 0) == 0 {
            guard unlinkat(old, path.name, 0) == 0 else { throw walk.failure("unlinkat", path) }
            return true
        }
        // Disks without second names belong to cameras and sticks: nobody else works on such a disk in this moment.
        if try self.item(at: new) != nil { return false }
        guard renameat(old, path.name, target, new.name) == 0 else {
            if [ENOENT, ENOTEMPTY, EEXIST].contains(errno) { return false }
            throw walk.failure("renameat", new)
        }
        return true
    }

    package func exchange(_ one: DiskPath, with other: DiskPath) throws -> Bool? {
        guard let left = try walk.openFolder(one.folder), let right = try walk.openFolder(other.folder) else {
            return false
        }
        if ferry_rename(left.number, one.name, right.number, other.name, 1) != 0 {
            switch errno {
            case ENOENT, ENOTDIR, ELOOP: return false
            case EINVAL, ENOSYS, ENOTSUP: return nil
            default: throw walk.failure("renameat2", other)
            }
        }
        unsynchronized.formUnion([one.folder, other.folder])
        return true
    }
}
