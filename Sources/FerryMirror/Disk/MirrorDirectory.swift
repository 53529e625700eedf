import CFerryFiles
import FerryContainer
import FerryCore
import FerryDocuments

#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

/// Where bytes are that a mirror reads.
package enum MirrorSource: Hashable, Sendable {
    /// A file's path.
    case file(String)
    /// A short content, which stands in its row.
    case bytes([UInt8])
}

/// A directory of the operating system, as a mirror uses it.
///
/// Belongs to one thread. Every path is walked from the open directory on, name by name, and a link is never followed: nothing outside is touched.
///
/// Among the named leaves with unsafe code: each pointer below is to a buffer whose length bounds the call.
package final class MirrorDirectory: MirrorDisk {
    /// Where the directory is.
    package let root: String
    package let rules: DiskRules
    /// Whether the system tells which files are open for writing.
    package let tellsWriters: Bool
    private let descriptor: OwnedDescriptor
    private let device: UInt64
    /// Folders in which names changed that are not durable yet.
    private var unsynchronized: Set<DiskPath> = []

    /// A directory has at most so many files and folders.
    static let maximumItems = 2_000_000

    /// Opens a directory that has a marker.
    /// - Throws: `mirrorMissing` without such a directory.
    package init(root: String) throws {
        self.root = root
        let number = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard number >= 0 else { throw Self.missing(root, SystemCallError(call: "open", number: errno)) }
        descriptor = OwnedDescriptor(number)
        var status = stat()
        guard fstat(descriptor.number, &status) == 0 else {
            throw Self.missing(root, SystemCallError(call: "fstat", number: errno))
        }
        device = UInt64(truncatingIfNeeded: status.st_dev)
        let longest = fpathconf(descriptor.number, Int32(_PC_NAME_MAX))
        rules = DiskRules(
            ignoresCase: Self.ignoresCase(descriptor.number), isOfWindows: Self.isOfWindows(descriptor.number),
            maximumBytes: longest > 0 ? min(Int(longest), 255) : 255)
        tellsWriters = Self.tellsWriters(descriptor.number)
    }

    static func missing(_ root: String, _ cause: SystemCallError?) -> FerryError {
        FerryError(
            .mirrorMissing,
            "There is no directory at \(root). Is its disk mounted? Nothing was deleted, and the mirror rests.",
            path: root, cause: cause)
    }

    /// A closed descriptor is never used again, because who has the object keeps it open.
    private final class OwnedDescriptor {
        let number: Int32
        init(_ number: Int32) { self.number = number }
        deinit { close(number) }
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

    // MARK: Paths

    /// Runs a call with an open folder and a name in it.
    /// - Returns: `nil` where there is no such folder, or a link is on the way.
    private func inFolder<R>(of path: DiskPath, _ body: (Int32, String) throws -> R) throws -> R? {
        let folder = try openFolder(path.folder)
        guard let folder else { return nil }
        return try body(folder.number, path.name)
    }

    private func openFolder(_ path: DiskPath) throws -> OwnedDescriptor? {
        if path.isTop { return descriptor }
        var around = descriptor
        for name in path.text.utf8.split(separator: UInt8(ascii: "/")) {
            let text = String(Substring(name))
            // A forged path leads nowhere else.
            guard text != "..", text != "." else { return nil }
            let number = openat(around.number, text, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
            if number < 0 {
                let error = SystemCallError(call: "openat", number: errno)
                if [ENOENT, ENOTDIR, ELOOP].contains(error.number) { return nil }
                throw Self.failure(error, root + "/" + path.text)
            }
            around = OwnedDescriptor(number)
        }
        return around
    }

    private static func failure(_ error: SystemCallError, _ path: String) -> FerryError {
        FerryError(
            .inputOutput, "The mirror's access to \(path) failed (\(error)). It tries again with the next pass.",
            path: path, cause: error)
    }

    private func failure(_ call: String, _ path: DiskPath) -> FerryError {
        Self.failure(SystemCallError(call: call, number: errno), root + "/" + path.text)
    }

    package func source(at path: DiskPath) -> MirrorSource { .file(root + "/" + path.text) }

    // MARK: Looking

    package func ignoreText() throws -> String? {
        let file = try inFolder(of: DiskPath(IgnoreRules.fileName)) { folder, name in
            openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
        }
        guard let file, file >= 0 else { return nil }
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
        try inFolder(of: path) { folder, name -> DiskItem? in
            var status = stat()
            guard fstatat(folder, name, &status, AT_SYMLINK_NOFOLLOW) == 0 else {
                if errno == ENOENT || errno == ENOTDIR { return nil }
                throw failure("fstatat", path)
            }
            return Self.item(path, status, ferry_birth(folder, name))
        } ?? nil
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
            next += try look(folder, ignoring, &scan)
        }
        let aside = try openFolder(.work).map { try names($0.number, .work).names } ?? []
        for name in aside where name.hasPrefix("aside-") {
            let path = DiskPath.work.appending(name)
            guard let item = try item(at: path) else { continue }
            scan.items.append(item)
            var inside: [DiskPath] = item.kind == .folder ? [path] : []
            while let folder = inside.popLast() { inside += try look(folder, ignoring, &scan) }
        }
        // A folder stands before what is in it.
        scan.items.sort { ($0.path.depth, $0.path) < ($1.path.depth, $1.path) }
        return scan
    }

    /// Looks into one folder.
    /// - Returns: its folders.
    private func look(_ path: DiskPath, _ ignoring: IgnoreRules, _ scan: inout DiskScan) throws -> [DiskPath] {
        guard let folder = try openFolder(path) else { return [] }
        var folders: [DiskPath] = []
        let (names, unreadable) = try names(folder.number, path)
        if unreadable > 0 {
            scan.left.append(
                .init(path: path.text, reason: "\(unreadable) names in it are not UTF-8; rename those files"))
        }
        for name in names.sorted(by: { $0.utf8.lexicographicallyPrecedes($1.utf8) }) {
            let place = path.appending(name)
            var status = stat()
            guard fstatat(folder.number, name, &status, AT_SYMLINK_NOFOLLOW) == 0 else {
                if errno == ENOENT { continue }
                throw failure("fstatat", place)
            }
            let isFolder = status.st_mode & S_IFMT == S_IFDIR
            if ignoring.ignoresHere(place, isFolder: isFolder) { continue }
            if let reason = refusal(of: status, place) {
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

    /// Why no document is made of something.
    private func refusal(of status: stat, _ path: DiskPath) -> String? {
        switch status.st_mode & S_IFMT {
        case S_IFREG, S_IFDIR: break
        case S_IFLNK: return "it is a link, and links do not travel"
        default: return "it is no file and no folder"
        }
        if UInt64(truncatingIfNeeded: status.st_dev) != device { return "it lies on another disk" }
        if path.depth > DocumentPath.maximumNames / 2 { return "it lies too deep" }
        if let reason = DocumentName.refusal(of: path.name) { return "its name \(reason)" }
        return nil
    }

    /// The names in an open folder, and how many are not UTF-8.
    private func names(_ descriptor: Int32, _ path: DiskPath) throws -> (names: [String], unreadable: Int) {
        let copy = openat(descriptor, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard copy >= 0 else { throw failure("openat", path) }
        guard let stream = fdopendir(copy) else {
            let error = failure("fdopendir", path)
            close(copy)
            throw error
        }
        defer { closedir(stream) }
        var (names, unreadable) = ([String](), 0)
        while true {
            errno = 0
            guard let entry = readdir(stream) else { break }
            // d_name ends in a NUL within the entry of readdir; the entry is valid until the next call.
            let start = UnsafeRawPointer(entry) + MemoryLayout<dirent>.offset(of: \.d_name)!
            guard let name = String(validatingCString: start.assumingMemoryBound(to: CChar.self)) else {
                unreadable += 1
                continue
            }
            if name != ".", name != ".." { names.append(name) }
        }
        if errno != 0 { throw failure("readdir", path) }
        return (names, unreadable)
    }

    package func isOpenForWriting(_ path: DiskPath) throws -> Bool {
        let descriptor = try inFolder(of: path) { folder, name in
            openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
        }
        guard let descriptor, descriptor >= 0 else { return false }
        defer { close(descriptor) }
        if ferry_has_writers(descriptor) == 1 { return true }
        return try isDatabase(descriptor) && hasJournal(path)
    }

    package func waitReason(_ path: DiskPath) throws -> String? {
        let descriptor = try inFolder(of: path) { folder, name in
            openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
        }
        guard let descriptor, descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        guard isDatabase(descriptor) else { return nil }
        return "it is a database in use, and is taken once it is closed; `ferry init` keeps a database itself in step"
    }

    private func isDatabase(_ descriptor: Int32) -> Bool {
        var start = [UInt8](repeating: 0, count: 16)
        // https://www.sqlite.org/fileformat2.html#magic_header_string
        return pread(descriptor, &start, 16, 0) == 16 && start.starts(with: "SQLite format 3\0".utf8)
    }

    /// Whether a database has a journal with something in it: its file alone is not all of it.
    private func hasJournal(_ path: DiskPath) throws -> Bool {
        for suffix in ["-wal", "-journal"] {
            if let item = try item(at: DiskPath(path.text + suffix)), item.stamp.size > 0 { return true }
        }
        return false
    }

    // MARK: Changing

    package func makeFolder(at path: DiskPath) throws -> Bool {
        try inFolder(of: path) { folder, name in
            guard mkdirat(folder, name, 0o777) == 0 else {
                if errno == EEXIST { return false }
                throw failure("mkdirat", path)
            }
            unsynchronized.insert(path.folder)
            return true
        } ?? false
    }

    package func synchronize() throws {
        for path in unsynchronized.sorted() {
            // A folder that is gone again has no names to lose.
            guard let folder = try openFolder(path) else { continue }
            // Some file systems (FUSE, SMB) have no such thing for folders.
            if fsync(folder.number) != 0, errno != EINVAL, errno != ENOTSUP { throw failure("fsync", path) }
        }
        unsynchronized = []
    }

    package func removeFolder(at path: DiskPath) throws -> Bool {
        guard let inside = try openFolder(path) else { return false }
        let (names, unreadable) = try names(inside.number, path)
        guard unreadable == 0, names.allSatisfy(IgnoreRules.isLitter) else { return false }
        for name in names { unlinkat(inside.number, name, 0) }
        return try inFolder(of: path) { folder, name in
            guard unlinkat(folder, name, AT_REMOVEDIR) == 0 else {
                if [ENOTEMPTY, EEXIST, ENOENT, ENOTDIR].contains(errno) { return false }
                throw failure("unlinkat", path)
            }
            unsynchronized.insert(path.folder)
            return true
        } ?? false
    }

    package func rename(_ path: DiskPath, to new: DiskPath) throws -> Bool {
        try makeWork(for: new)
        guard let old = try openFolder(path.folder), let target = try openFolder(new.folder) else { return false }
        if ferry_rename(old.number, path.name, target.number, new.name, 0) != 0 {
            switch errno {
            case ENOENT, ENOTDIR, ELOOP, EXDEV: return false
            case EEXIST, ENOTEMPTY:
                // A disk that takes both names for one: it is the same thing.
                guard let one = try item(at: path), let other = try item(at: new), one.stamp == other.stamp,
                    path.text.lowercased() == new.text.lowercased()
                else { return false }
                guard renameat(old.number, path.name, target.number, new.name) == 0 else {
                    throw failure("renameat", new)
                }
            case EINVAL, ENOSYS, ENOTSUP:
                if new.isBelow(path) { return false }
                guard try renameWithoutFlags(path, old.number, new, target.number) else { return false }
            default: throw failure("renameat2", new)
            }
        }
        unsynchronized.formUnion([path.folder, new.folder])
        return true
    }

    /// Renames where the disk cannot do it without replacing: a file by a second name, a folder after a look.
    private func renameWithoutFlags(
        _ path: DiskPath, _ old: Int32, _ new: DiskPath, _ target: Int32
    ) throws -> Bool {
        guard let item = try item(at: path) else { return false }
        if item.kind == .file, linkat(old, path.name, target, new.name, 0) == 0 {
            guard unlinkat(old, path.name, 0) == 0 else { throw failure("unlinkat", path) }
            return true
        }
        // Disks without second names are those of cameras and sticks: nobody else works there in this moment.
        if try self.item(at: new) != nil { return false }
        guard renameat(old, path.name, target, new.name) == 0 else {
            if [ENOENT, ENOTEMPTY, EEXIST].contains(errno) { return false }
            throw failure("renameat", new)
        }
        return true
    }

    package func exchange(_ one: DiskPath, with other: DiskPath) throws -> Bool? {
        guard let left = try openFolder(one.folder), let right = try openFolder(other.folder) else { return false }
        if ferry_rename(left.number, one.name, right.number, other.name, 1) != 0 {
            switch errno {
            case ENOENT, ENOTDIR, ELOOP: return false
            case EINVAL, ENOSYS, ENOTSUP: return nil
            default: throw failure("renameat2", other)
            }
        }
        unsynchronized.formUnion([one.folder, other.folder])
        return true
    }

    // MARK: The mirror's own folder

    /// Makes the folder for files on their way before something is put there.
    private func makeWork(for path: DiskPath) throws {
        guard path.isBelow(.work), try openFolder(.work) == nil else { return }
        _ = try makeFolder(at: .work)
    }

    package func workNames() throws -> [String] {
        guard let folder = try openFolder(.work) else { return [] }
        return try names(folder.number, .work).names
    }

    package func removeWork(_ name: String) throws {
        let path = DiskPath.work.appending(name)
        _ = try inFolder(of: path) { folder, name in
            if unlinkat(folder, name, 0) != 0, errno != ENOENT { throw failure("unlinkat", path) }
        }
    }

    /// More files than this are made durable by one call for the whole disk: each alone would wait for the disk's journal.
    private static let manyFiles = 8

    package func synchronizeWork(_ names: [String]) throws {
        if names.count > Self.manyFiles, let folder = try openFolder(.work),
            ferry_synchronize_disk(folder.number) == 0
        {
            return
        }
        for name in names {
            let path = DiskPath.work.appending(name)
            let file = try inFolder(of: path) { folder, name in
                openat(folder, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC)
            }
            // A file that somebody removed is found missing when it is to get its name.
            guard let file, file >= 0 else { continue }
            defer { close(file) }
            if fsync(file) != 0 { throw failure("fsync", path) }
        }
    }

    package func write(_ source: MirrorSource, toWork name: String, _ item: WantedItem, like old: DiskPath?) throws {
        let path = DiskPath.work.appending(name)
        try makeWork(for: path)
        try removeWork(name)
        let read = try Self.reader(source)
        let rights = try old.flatMap { try mode(of: $0) }
        let written: Void? = try inFolder(of: path) { folder, name in
            let number = openat(folder, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o666)
            guard number >= 0 else { throw failure("openat", path) }
            let target = OwnedDescriptor(number)
            do {
                try copy(read, target.number, path)
                try finish(target.number, item, rights, path)
            } catch {
                unlinkat(folder, name, 0)
                throw error
            }
        }
        if written == nil { throw failure("openat", path) }
    }

    private func mode(of path: DiskPath) throws -> mode_t? {
        try inFolder(of: path) { folder, name -> mode_t? in
            var status = stat()
            return fstatat(folder, name, &status, AT_SYMLINK_NOFOLLOW) == 0 ? status.st_mode & 0o777 : nil
        } ?? nil
    }

    /// What is in memory of a file, in bytes.
    private static let pieceBytes = 1 << 20

    private static func reader(_ source: MirrorSource) throws -> (Range<Int>) throws -> [UInt8] {
        switch source {
        case .bytes(let bytes):
            return { Array(bytes[min($0.lowerBound, bytes.count)..<min($0.upperBound, bytes.count)]) }
        case .file(let path):
            guard let file = try PosixFileSystem().openFile(at: path) else {
                throw FerryError(.contentNotHere, "A content went while it was written. The next pass writes it.")
            }
            return { try file.read($0) }
        }
    }

    /// Copies all bytes; zeros become holes.
    private func copy(_ read: (Range<Int>) throws -> [UInt8], _ target: Int32, _ path: DiskPath) throws {
        var offset = 0
        while true {
            let piece = try read(offset..<offset + Self.pieceBytes)
            if piece.isEmpty { break }
            if !piece.allSatisfy({ $0 == 0 }) {
                try piece.withUnsafeBytes { buffer in
                    var count = 0
                    while count < buffer.count {
                        let got = pwrite(
                            target, buffer.baseAddress.map { $0 + count }, buffer.count - count, off_t(offset + count))
                        if got < 0 {
                            if errno == EINTR { continue }
                            throw failure("pwrite", path)
                        }
                        count += got
                    }
                }
            }
            offset += piece.count
        }
        if ftruncate(target, off_t(offset)) != 0 { throw failure("ftruncate", path) }
    }

    private func finish(_ target: Int32, _ item: WantedItem, _ rights: mode_t?, _ path: DiskPath) throws {
        var status = stat()
        guard fstat(target, &status) == 0 else { throw failure("fstat", path) }
        var mode = rights ?? status.st_mode & 0o777
        // Who may read may run.
        mode = item.mode & 1 == 1 ? mode | (mode & 0o444) >> 2 : mode & ~0o111
        if fchmod(target, mode) != 0, errno != EPERM, errno != ENOTSUP { throw failure("fchmod", path) }
        let seconds = item.modifiedMicroseconds / 1_000_000 - (item.modifiedMicroseconds % 1_000_000 < 0 ? 1 : 0)
        let rest = item.modifiedMicroseconds - seconds * 1_000_000
        let time = timespec(tv_sec: time_t(seconds), tv_nsec: Int(rest) * 1000)
        let times = [time, time]
        if futimens(target, times) != 0, errno != EPERM, errno != EINVAL { throw failure("futimens", path) }
    }
}
