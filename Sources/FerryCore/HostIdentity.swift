#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

/// Identifies a machine, and a file on the machine: evidence that a database was copied. Injected, so that tests choose
/// the machine.
package protocol HostIdentity: Sendable {
    /// An ID that this machine keeps for as long as its system is installed; `nil` if there is no ID, as no evidence at
    /// all.
    func machineID() -> String?
    /// The file system's number for the file at a path (its inode); `nil` without a file.
    func fileNumber(at path: String) -> UInt64?
}

/// The computer on which this process runs.
///
/// On Linux the ID is that of machine-id (https://www.freedesktop.org/software/systemd/man/machine-id.html). On a Mac
/// the ID is the UUID of gethostuuid(2). iOS gives apps no ID: there only path and file tell.
package struct SystemHost: HostIdentity {
    package init() {}

    package func machineID() -> String? {
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

    package func fileNumber(at path: String) -> UInt64? {
        var status = stat()
        return stat(path, &status) == 0 ? UInt64(status.st_ino) : nil
    }

    #if os(Linux)
    /// The longest believed ID, in bytes; the documented form has 32.
    private static let maximumBytes = 128

    private static func firstLine(of path: String) -> String? {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var bytes = [UInt8](repeating: 0, count: maximumBytes)
        let count = read(descriptor, &bytes, bytes.count)
        guard count > 0 else { return nil }
        let line = String(decoding: bytes[..<count].prefix { $0 > 0x20 }, as: UTF8.self)
        // An image before its installation says "uninitialized".
        return line.isEmpty || line == "uninitialized" ? nil : line
    }
    #endif
}
