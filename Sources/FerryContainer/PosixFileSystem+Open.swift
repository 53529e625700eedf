import FerryCore

#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

/// Files that are open, and second names.
///
/// Among the named leaves with unsafe code: each pointer below is to a buffer whose length bounds the call.
extension PosixFileSystem {
    package func openFile(at path: String) throws -> (any ReadableFile)? {
        try open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK)
    }

    package func createFile(at path: String) throws -> any WritableFile {
        do throws(SystemCallError) {
            return PosixFile(
                try Descriptor(opening: path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, mode: 0o666), path)
        } catch {
            throw error.ferryError(path: path)
        }
    }

    package func continueFile(at path: String) throws -> (any WritableFile)? {
        try open(path, O_RDWR | O_NOFOLLOW | O_NONBLOCK)
    }

    private func open(_ path: String, _ flags: Int32) throws -> PosixFile? {
        do throws(SystemCallError) {
            let descriptor = try Descriptor(opening: path, flags)
            let number = descriptor.number
            var status = stat()
            _ = try systemCall("fstat") { fstat(number, &status) }
            if status.st_mode & S_IFMT == S_IFREG { return PosixFile(descriptor, path) }
        } catch {
            switch error.number {
            case ENOENT, ENOTDIR: return nil
            // ELOOP: a symbolic link met O_NOFOLLOW. ENXIO and ENODEV: a socket, or a device without a driver.
            case ELOOP, ENXIO, ENODEV, EISDIR: break
            default: throw error.ferryError(path: path)
            }
        }
        throw FerryError.wrongKind(path, shouldBe: "regular file")
    }

    package func makeReadOnly(at path: String) throws {
        guard let file = try open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK) else {
            throw SystemCallError(call: "open", number: ENOENT).ferryError(path: path)
        }
        try file.makeReadOnly()
    }

    package func link(_ path: String, to newPath: String) throws -> Bool {
        do throws(SystemCallError) {
            _ = try systemCall("link") {
                #if canImport(Darwin)
                Darwin.link(path, newPath)
                #else
                Glibc.link(path, newPath)
                #endif
            }
            return true
        } catch {
            // Another disk, a disk without second names, one that keeps them to owners, or too many of them.
            if [EXDEV, ENOTSUP, EOPNOTSUPP, ENOSYS, EPERM, EMLINK].contains(error.number) { return false }
            throw error.ferryError(path: newPath)
        }
    }
}

/// An open file of the operating system.
private final class PosixFile: WritableFile {
    private let descriptor: Descriptor
    private let path: String

    init(_ descriptor: consuming Descriptor, _ path: String) {
        self.descriptor = descriptor
        self.path = path
    }

    func byteCount() throws -> Int { Int(try status().st_size) }

    func version() throws -> FileVersion {
        guard let version = PosixFileSystem.version(try status()) else {
            throw FerryError.wrongKind(path, shouldBe: "regular file")
        }
        return version
    }

    private func status() throws -> stat {
        var status = stat()
        try call("fstat") { fstat($0, &status) }
        return status
    }

    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int) throws -> Int {
        var count = 0
        while count < buffer.count {
            let rest = UnsafeMutableRawBufferPointer(rebasing: buffer[count...])
            // Some systems refuse more than fits 31 bits.
            let got = try call("pread") { pread($0, rest.baseAddress, min(rest.count, 1 << 30), off_t(offset + count)) }
            if got == 0 { break }
            count += got
        }
        return count
    }

    func write(_ bytes: ArraySlice<UInt8>, at offset: Int) throws {
        try bytes.withUnsafeBytes { buffer in
            var count = 0
            while count < buffer.count {
                let rest = UnsafeRawBufferPointer(rebasing: buffer[count...])
                count += try call("pwrite") {
                    pwrite($0, rest.baseAddress, min(rest.count, 1 << 30), off_t(offset + count))
                }
            }
        }
    }

    func synchronize() throws {
        do throws(SystemCallError) {
            try descriptor.synchronize()
        } catch {
            throw error.ferryError(path: path)
        }
    }

    func makeReadOnly() throws {
        let mode = try status().st_mode & 0o7777 & ~0o222
        try call("fchmod") { fchmod($0, mode) }
    }

    @discardableResult
    private func call<Result: FixedWidthInteger & SignedInteger>(
        _ name: String, _ body: (Int32) -> Result
    ) throws -> Result {
        let number = descriptor.number
        do throws(SystemCallError) {
            return try systemCall(name) { body(number) }
        } catch {
            throw error.ferryError(path: path)
        }
    }
}
