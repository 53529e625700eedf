#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

/// Tells one machine, and one file on it, from another: what shows that a database was copied. Injected, so that tests
/// decide on which machine they are.
public protocol HostIdentity: Sendable {
    /// An ID that this machine keeps for as long as its system is installed; `nil` where it has none, which is no
    /// evidence of anything.
    func machineID() -> String?
    /// The number under which the file system knows the file at a path (its inode); `nil` where there is no file.
    func fileNumber(at path: String) -> UInt64?
}

/// The computer that this process runs on.
///
/// The machine's ID is that of https://www.freedesktop.org/software/systemd/man/machine-id.html on Linux and that of
/// gethostuuid(2) on a Mac. iOS gives none to apps: there only path and file tell.
public struct SystemHost: HostIdentity {
    public init() {}

    public func machineID() -> String? {
        #if os(macOS)
        var id = [UInt8](repeating: 0, count: 16)
        var wait = timespec(tv_sec: 1, tv_nsec: 0)
        guard gethostuuid(&id, &wait) == 0 else { return nil }
        return hexString(id)
        #elseif os(Linux)
        return Self.firstLine(of: "/etc/machine-id") ?? Self.firstLine(of: "/var/lib/dbus/machine-id")
        #else
        return nil
        #endif
    }

    public func fileNumber(at path: String) -> UInt64? {
        var status = stat()
        return stat(path, &status) == 0 ? UInt64(status.st_ino) : nil
    }

    #if os(Linux)
    /// The longest ID that is believed, in bytes; the documented form has 32.
    private static let maximumBytes = 128

    private static func firstLine(of path: String) -> String? {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var bytes = [UInt8](repeating: 0, count: maximumBytes)
        let count = read(descriptor, &bytes, bytes.count)
        guard count > 0 else { return nil }
        let line = String(decoding: bytes[..<count].prefix { $0 > 0x20 }, as: UTF8.self)
        // An image that is still to be installed says "uninitialized".
        return line.isEmpty || line == "uninitialized" ? nil : line
    }
    #endif
}
