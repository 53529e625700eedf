import CFerryFiles
import FerryContainer
import FerryCore
import FerryDocuments

#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

/// Files on their way: files come from the mirror's own folder into their places, and go from their places into the folder.
///
/// Among the named leaves with unsafe code: the pointer below is to a buffer, and the buffer's length bounds the call.
extension MirrorDirectory {
    /// Makes the folder for files on their way before something is put there.
    func makeWork(for path: DiskPath) throws {
        guard path.isBelow(.work), try walk.openFolder(.work) == nil else { return }
        _ = try makeFolder(at: .work)
    }

    package func workNames() throws -> [String] {
        guard let folder = try walk.openFolder(.work) else { return [] }
        return try walk.names(folder.number, .work).names
    }

    package func removeWork(_ name: String) throws {
        let path = DiskPath.work.appending(name)
        _ = try walk.inFolder(of: path) { folder, name in
            if unlinkat(folder, name, 0) != 0, errno != ENOENT { throw walk.failure("unlinkat", path) }
        }
    }

    /// Above this number of files or folders, a single call for the whole disk makes them durable. Each alone would wait for the disk's
    /// journal.
    static let manyItems = 8

    package func synchronizeWork(_ names: [String]) throws {
        if names.count > Self.manyItems, let folder = try walk.openFolder(.work),
            ferry_synchronize_disk(folder.number) == 0
        {
            return
        }
        for name in names {
            let path = DiskPath.work.appending(name)
            let file = try walk.inFolder(of: path) { folder, name in
                openat(folder, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC)
            }
            // A file removed by somebody is found missing when the file is to get a name.
            guard let file, file >= 0 else { continue }
            defer { close(file) }
            if fsync(file) != 0 { throw walk.failure("fsync", path) }
        }
    }

    package func write(_ source: MirrorSource, toWork name: String, _ item: WantedItem, like old: DiskPath?) throws {
        let path = DiskPath.work.appending(name)
        try makeWork(for: path)
        try removeWork(name)
        let read = try Self.reader(source)
        let rights = try old.flatMap { try mode(of: $0) }
        let written: Void? = try walk.inFolder(of: path) { folder, name in
            // Nobody reads a private file's bytes while they are written.
            let number = openat(
                folder, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, rights.map { $0 & 0o666 } ?? 0o666)
            guard number >= 0 else { throw walk.failure("openat", path) }
            let target = DirectoryWalk.OwnedDescriptor(number)
            do {
                try copy(read, target.number, path)
                try finish(target.number, item, rights, path)
            } catch {
                unlinkat(folder, name, 0)
                throw error
            }
        }
        if written == nil { throw walk.failure("openat", path) }
    }

    private func mode(of path: DiskPath) throws -> mode_t? {
        try walk.inFolder(of: path) { folder, name -> mode_t? in
            var status = stat()
            return fstatat(folder, name, &status, AT_SYMLINK_NOFOLLOW) == 0 ? status.st_mode & 0o777 : nil
        } ?? nil
    }

    /// The part of a file held in memory, in bytes.
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
                            throw walk.failure("pwrite", path)
                        }
                        count += got
                    }
                }
            }
            offset += piece.count
        }
        if ftruncate(target, off_t(offset)) != 0 { throw walk.failure("ftruncate", path) }
    }

    private func finish(_ target: Int32, _ item: WantedItem, _ rights: mode_t?, _ path: DiskPath) throws {
        var status = stat()
        guard fstat(target, &status) == 0 else { throw walk.failure("fstat", path) }
        var mode = rights ?? status.st_mode & 0o777
        // Everybody with the right to read gets the right to run.
        mode = item.mode & 1 == 1 ? mode | (mode & 0o444) >> 2 : mode & ~0o111
        if fchmod(target, mode) != 0, errno != EPERM, errno != ENOTSUP { throw walk.failure("fchmod", path) }
        let seconds = item.modifiedMicroseconds / 1_000_000 - (item.modifiedMicroseconds % 1_000_000 < 0 ? 1 : 0)
        let rest = item.modifiedMicroseconds - seconds * 1_000_000
        let time = timespec(tv_sec: time_t(seconds), tv_nsec: Int(rest) * 1000)
        let times = [time, time]
        if futimens(target, times) != 0, errno != EPERM, errno != EINVAL { throw walk.failure("futimens", path) }
    }
}
