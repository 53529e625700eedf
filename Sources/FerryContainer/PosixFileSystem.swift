import FerryCore

#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

/// The operating system's files.
///
/// Among the named leaves with unsafe code: each pointer below is to a buffer whose length bounds the call.
package struct PosixFileSystem: FileSystem {
    /// How often an operation is begun again when an NFS server has replaced the file under it (ESTALE).
    private static let maximumStaleAttempts = 3

    /// Uses the file system of this process.
    package init() {}

    package func readFile(at path: String, maximumBytes: Int) throws -> [UInt8]? {
        var attempt = 1
        while true {
            let result: Result<[UInt8], FerryError>
            do throws(SystemCallError) {
                result = try readOnce(path, maximumBytes: maximumBytes)
            } catch {
                switch error.number {
                case ENOENT, ENOTDIR: return nil
                // ELOOP: a symbolic link met O_NOFOLLOW. ENXIO and ENODEV: a socket, or a device without a driver.
                case ELOOP where error.call == "open", ENXIO, ENODEV, EISDIR:
                    throw FerryError.wrongKind(path, shouldBe: "regular file")
                case ESTALE where attempt < Self.maximumStaleAttempts:
                    attempt += 1
                    continue
                default: throw error.ferryError(path: path)
                }
            }
            return try result.get()
        }
    }

    /// Throws errors of system calls, which the caller tells apart; returns faults of the file.
    private func readOnce(
        _ path: String, maximumBytes: Int
    ) throws(SystemCallError) -> Result<[UInt8], FerryError> {
        let file = try Descriptor(opening: path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK)
        let descriptor = file.number
        var status = stat()
        _ = try systemCall("fstat") { fstat(descriptor, &status) }
        guard status.st_mode & S_IFMT == S_IFREG else {
            return .failure(.wrongKind(path, shouldBe: "regular file"))
        }
        let size = Int(status.st_size)
        guard size <= maximumBytes else {
            return .failure(.tooLarge(path, size: size, maximumBytes: maximumBytes))
        }
        var failure: SystemCallError?
        let bytes = [UInt8](unsafeUninitializedCapacity: size) { buffer, count in
            do throws(SystemCallError) {
                while count < size {
                    let rest = UnsafeMutableBufferPointer(rebasing: buffer[count..<size])
                    let got = try systemCall("read") { read(descriptor, rest.baseAddress, rest.count) }
                    if got == 0 { break }
                    count += got
                }
            } catch {
                failure = error
            }
        }
        if let failure { throw failure }
        return .success(bytes)
    }

    package func entryNames(ofDirectoryAt path: String, maximumCount: Int) throws -> [String]? {
        let descriptor: Int32
        do throws(SystemCallError) {
            descriptor = try systemCall("open") { open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC) }
        } catch {
            if error.number == ENOENT { return nil }
            guard error.number == ENOTDIR || error.number == ELOOP else { throw error.ferryError(path: path) }
            // ENOTDIR concerns the last component or any component before.
            if try item(at: path) == .missing { return nil }
            throw FerryError.wrongKind(path, shouldBe: "folder")
        }
        guard let stream = fdopendir(descriptor) else {
            let error = SystemCallError(call: "fdopendir", number: errno)
            close(descriptor)
            throw error.ferryError(path: path)
        }
        defer { closedir(stream) }
        var names: [String] = []
        while true {
            errno = 0
            guard let entry = readdir(stream) else { break }
            // d_name ends in a NUL within the entry of readdir; the entry is valid until the next call.
            let start = UnsafeRawPointer(entry) + MemoryLayout<dirent>.offset(of: \.d_name)!
            guard let name = String(validatingCString: start.assumingMemoryBound(to: CChar.self)),
                name != ".", name != ".."
            else { continue }
            if names.count == maximumCount { throw FerryError.tooManyEntries(path, maximumCount: maximumCount) }
            names.append(name)
        }
        if errno != 0 { throw SystemCallError(call: "readdir", number: errno).ferryError(path: path) }
        return names
    }

    package func item(at path: String) throws -> FileItem {
        var status = stat()
        do throws(SystemCallError) {
            _ = try systemCall("lstat") { lstat(path, &status) }
        } catch {
            if error.number == ENOENT || error.number == ENOTDIR { return .missing }
            throw error.ferryError(path: path)
        }
        switch status.st_mode & S_IFMT {
        case S_IFREG: return .file(size: Int(status.st_size))
        case S_IFDIR: return .directory
        default: return .other
        }
    }

    package func version(at path: String) throws -> FileVersion? {
        var status = stat()
        do throws(SystemCallError) {
            _ = try systemCall("lstat") { lstat(path, &status) }
        } catch {
            if error.number == ENOENT || error.number == ENOTDIR { return nil }
            throw error.ferryError(path: path)
        }
        return Self.version(status)
    }

    /// The names are looked up from the directory on, in half the time of a look-up from the root.
    package func haveVersions(_ versions: [(path: String, version: FileVersion)], below directory: String) -> Bool {
        do throws(SystemCallError) {
            let parent = try Descriptor(opening: directory, O_RDONLY | O_DIRECTORY | O_NOFOLLOW)
            let number = parent.number
            for (path, version) in versions {
                var status = stat()
                _ = try systemCall("fstatat") { fstatat(number, path, &status, AT_SYMLINK_NOFOLLOW) }
                if Self.version(status) != version { return false }
            }
            return true
        } catch {
            // Asked for alone, the file in question reports its fault.
            return false
        }
    }

    /// - Returns: `nil` for anything but a regular file or a directory.
    static func version(_ status: stat) -> FileVersion? {
        let kind = status.st_mode & S_IFMT
        guard kind == S_IFREG || kind == S_IFDIR else { return nil }
        #if canImport(Darwin)
        let (modified, changed) = (status.st_mtimespec, status.st_ctimespec)
        #else
        let (modified, changed) = (status.st_mtim, status.st_ctim)
        #endif
        return FileVersion(
            device: UInt64(truncatingIfNeeded: status.st_dev), number: UInt64(status.st_ino), size: Int(status.st_size),
            modified: nanoseconds(modified), changed: nanoseconds(changed))
    }

    private static func nanoseconds(_ time: timespec) -> Int64 {
        Int64(time.tv_sec) &* 1_000_000_000 &+ Int64(time.tv_nsec)
    }

    @discardableResult
    package func createDirectory(at path: String) throws -> Bool { try createDirectory(at: path, mode: 0o777) }

    func createDirectory(at path: String, mode: mode_t) throws -> Bool {
        do throws(SystemCallError) {
            _ = try systemCall("mkdir") { mkdir(path, mode) }
            return true
        } catch {
            // A read-only file system may give this error although the directory is there.
            guard error.number == EEXIST || error.number == EROFS else { throw error.ferryError(path: path) }
            switch try item(at: path) {
            case .directory: return false
            case .missing: throw error.ferryError(path: path)
            case .file, .other: throw FerryError.wrongKind(path, shouldBe: "folder")
            }
        }
    }

    package func write(_ bytes: [UInt8], toNewFileAt path: String) throws {
        try write(bytes, toNewFileAt: path, mode: 0o666)
    }

    func write(_ bytes: [UInt8], toNewFileAt path: String, mode: mode_t) throws {
        do throws(SystemCallError) {
            let file = try Descriptor(opening: path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, mode: mode)
            do throws(SystemCallError) {
                try Self.write(bytes, to: file.number)
                try file.synchronize()
                try file.closeReportingErrors()
            } catch {
                // After a failed fsync the kernel may have dropped the pages: this file is never used again. A failed
                // removal is no further loss, since the name is temporary.
                unlink(path)
                throw error
            }
        } catch {
            throw error.ferryError(path: path)
        }
    }

    private static func write(_ bytes: [UInt8], to descriptor: Int32) throws(SystemCallError) {
        var written = 0
        while written < bytes.count {
            written += try systemCall("write") {
                bytes.withUnsafeBytes { Self.writeSome($0[written...], to: descriptor) }
            }
        }
    }

    /// A write(2) of at most a gigabyte: some systems refuse more than fits 31 bits.
    private static func writeSome(_ bytes: Slice<UnsafeRawBufferPointer>, to descriptor: Int32) -> Int {
        let part = UnsafeRawBufferPointer(rebasing: bytes.prefix(1 << 30))
        #if canImport(Darwin)
        return Darwin.write(descriptor, part.baseAddress, part.count)
        #else
        return Glibc.write(descriptor, part.baseAddress, part.count)
        #endif
    }

    package func rename(_ path: String, to newPath: String) throws {
        do throws(SystemCallError) {
            _ = try systemCall("rename") {
                #if canImport(Darwin)
                Darwin.rename(path, newPath)
                #else
                Glibc.rename(path, newPath)
                #endif
            }
        } catch {
            throw error.ferryError(path: newPath)
        }
    }

    package func synchronizeDirectory(at path: String) throws {
        do throws(SystemCallError) {
            try Descriptor(opening: path, O_RDONLY | O_DIRECTORY).synchronize()
        } catch {
            // Some file systems (FUSE, SMB) have no such thing for directories and answer EINVAL or ENOTSUP: then
            // there is nothing more to ask of them.
            guard error.call == "fsync", error.number == EINVAL || error.number == ENOTSUP else {
                throw error.ferryError(path: path)
            }
        }
    }

    /// More files than this are made durable by one call for the whole disk: each alone would wait for the disk's journal.
    private static let manyFiles = 8

    package func synchronize(_ files: [any WritableFile], _ directories: [String]) throws {
        if files.count + directories.count > Self.manyFiles, let place = directories.first, synchronizeDisk(of: place) {
            return
        }
        for file in files { try file.synchronize() }
        for directory in directories { try synchronizeDirectory(at: directory) }
    }

    /// - Returns: false where the system has no such call, or the call failed: then each file says why.
    private func synchronizeDisk(of path: String) -> Bool {
        do throws(SystemCallError) {
            return try Descriptor(opening: path, O_RDONLY | O_DIRECTORY).synchronizeDisk()
        } catch {
            return false
        }
    }

    package func availableBytes(at path: String) -> Int? {
        var status = statvfs()
        guard statvfs(path, &status) == 0 else { return nil }
        let (bytes, overflow) = Int(clamping: status.f_bavail).multipliedReportingOverflow(
            by: Int(clamping: status.f_frsize))
        return overflow ? nil : bytes
    }

    @discardableResult
    package func removeFile(at path: String) throws -> Bool {
        do throws(SystemCallError) {
            _ = try systemCall("unlink") { unlink(path) }
            return true
        } catch {
            if error.number == ENOENT || error.number == ENOTDIR { return false }
            throw error.ferryError(path: path)
        }
    }

    @discardableResult
    package func removeEmptyDirectory(at path: String) throws -> Bool {
        do throws(SystemCallError) {
            _ = try systemCall("rmdir") { rmdir(path) }
            return true
        } catch {
            // POSIX allows both numbers for a directory with entries.
            if [ENOENT, ENOTDIR, ENOTEMPTY, EEXIST].contains(error.number) { return false }
            throw error.ferryError(path: path)
        }
    }
}
