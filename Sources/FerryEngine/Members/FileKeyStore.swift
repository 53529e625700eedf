import FerryContainer
import FerryCore
import FerrySeal
import Foundation

/// Secret keys in files of this account alone: one file for each device (`<device>.key`). The directory lies neither
/// beside a database nor in a shared folder.
///
/// Invariants:
/// - A file appears whole and durable: temporary name, fsync, rename, fsync of the directory.
/// - Nothing is read from a file that further users may read or change, or from a directory where they may replace
///   files.
/// - Bytes with secrets are overwritten once they were read or written.
package struct FileKeyStore: KeyStore {
    private static let suffix = ".key"
    private static let temporaryPrefix = ".ferry-tmp-"
    /// More names are not listed.
    private static let maximumEntries = 65_536

    /// The directory's path, without a slash at the end.
    package let directory: String
    private let fileSystem: any PrivateFileSystem
    private let random: any RandomSource

    /// Uses a directory, present or not. A link to one counts as the directory to which it leads, as far as it leads anywhere now.
    package init(
        directory: String, fileSystem: any PrivateFileSystem = PosixFileSystem(),
        random: any RandomSource = SystemRandom()
    ) {
        var directory = Substring(directory)
        while directory.count > 1, directory.last == "/" { directory.removeLast() }
        self.directory = fileSystem.destination(of: String(directory))
        self.fileSystem = fileSystem
        self.random = random
    }

    /// The directory for this account: `$FERRY_KEYS`, else `$XDG_DATA_HOME/ferry/keys`, else `~/.local/share/ferry/keys`. Empty
    /// variables count as missing, and so does a relative `XDG_DATA_HOME` (XDG Base Directory Specification).
    package static func directory(variables: [String: String]) -> String {
        if let keys = variables["FERRY_KEYS"], !keys.isEmpty { return keys }
        if let data = variables["XDG_DATA_HOME"], data.hasPrefix("/") { return data + "/ferry/keys" }
        return homeDirectory(variables) + "/.local/share/ferry/keys"
    }

    /// The variables of this process that `directory(variables:)` asks for. Foundation would read all of them.
    package static var variables: [String: String] {
        var found: [String: String] = [:]
        for name in ["FERRY_KEYS", "XDG_DATA_HOME", "HOME"] { found[name] = getenv(name).map { String(cString: $0) } }
        return found
    }

    // MARK: KeyStore

    package func load(_ device: DeviceID) throws -> KeyFile? {
        try checkPrivacy(of: device)
        guard var bytes = try fileSystem.readFile(at: path(of: device), maximumBytes: KeyFile.maximumBytes) else {
            return nil
        }
        do throws(FerryError) {
            let file = try KeyFile(decoding: &bytes)
            guard file.device == device else { throw ByteReader.malformed("it is the key file of another device") }
            return file
        } catch {
            var located = error
            located.path = path(of: device)
            located.device = device
            throw located
        }
    }

    package func save(_ file: KeyFile) throws {
        try createDirectory()
        try checkPrivacy(of: file.device)
        try removeLeftovers(of: file.device)
        let name =
            Self.temporaryPrefix + file.device.hex + "-"
            + hexString(withUnsafeBytes(of: random.next().bigEndian, Array.init))
        let temporary = directory + "/" + name
        do {
            try file.withEncoded { try fileSystem.write($0, toNewPrivateFileAt: temporary) }
            try fileSystem.rename(temporary, to: path(of: file.device))
            try fileSystem.synchronizeDirectory(at: directory)
        } catch {
            _ = try? fileSystem.removeFile(at: temporary)  // the next `save` removes the leftover
            throw error
        }
    }

    package func remove(_ device: DeviceID) throws {
        guard try fileSystem.item(at: directory) == .directory else { return }
        try removeLeftovers(of: device)
        try fileSystem.removeFile(at: path(of: device))
        try fileSystem.synchronizeDirectory(at: directory)
    }

    package var place: String? { directory }

    package func devices() throws -> [DeviceID] {
        let names = try fileSystem.entryNames(ofDirectoryAt: directory, maximumCount: Self.maximumEntries) ?? []
        return names.compactMap { name in
            guard name.hasSuffix(Self.suffix), let device = DeviceID(name.dropLast(Self.suffix.count)),
                Self.fileName(of: device) == name
            else { return nil }
            return device
        }.sorted()
    }

    // MARK: Files

    /// The path of a device's key file, for messages.
    package func path(of device: DeviceID) -> String { directory + "/" + Self.fileName(of: device) }

    private static func fileName(of device: DeviceID) -> String { device.hex + suffix }

    private func checkPrivacy(of device: DeviceID) throws {
        if try fileSystem.isExposed(at: directory) {
            throw FerryError(
                .keyExposed,
                "Others than this account can put files into \(directory), where secret keys are. Run chmod 700 \(directory).",
                path: directory, device: device)
        }
        let path = path(of: device)
        if try fileSystem.item(at: path) == .other {
            throw FerryError(
                .keyExposed,
                "\(path) is a symbolic link, or no file at all, so others may change which keys are read. Put the key file itself there, "
                    + "with chmod 600; the directory \(directory) may be a link.", path: path, device: device)
        }
        if try fileSystem.isExposed(at: path) {
            throw FerryError(
                .keyExposed,
                "Others than this account can read the secret keys in \(path). Run chmod 600 \(path). If somebody may have "
                    + "read them, remove the device from its container.", path: path, device: device)
        }
    }

    /// Creates the directory and missing directories above. All their names are durable on return, also names from an
    /// interrupted attempt.
    private func createDirectory() throws {
        var path = directory.hasPrefix("/") ? "/" : "./"
        var above: String?
        for component in directory.split(separator: "/") {
            let child = (path == "./" ? "" : path) + component
            let isMissing = try fileSystem.item(at: child + "/") != .directory
            if isMissing {
                if let above { try settle(above) }
                try fileSystem.createPrivateDirectory(at: child)
                try fileSystem.synchronizeDirectory(at: path)
            } else if child == directory {
                try settle(path)
            }
            (above, path) = (path, child + "/")
        }
    }

    /// Makes names in a directory durable that an interrupted attempt may have left volatile. The attempt did not
    /// change a directory closed to this account.
    private func settle(_ path: String) throws {
        do {
            try fileSystem.synchronizeDirectory(at: path)
        } catch let error as FerryError {
            guard let cause = error.cause as? SystemCallError, cause.isRefusal else { throw error }
        }
    }

    /// Removes the leftovers of an interrupted `save` of a device. The device's lock keeps further processes from
    /// saving meanwhile.
    private func removeLeftovers(of device: DeviceID) throws {
        let prefix = Self.temporaryPrefix + device.hex + "-"
        let names = try fileSystem.entryNames(ofDirectoryAt: directory, maximumCount: Self.maximumEntries) ?? []
        for name in names where name.hasPrefix(prefix) { try fileSystem.removeFile(at: directory + "/" + name) }
    }
}
