import FerryCore

#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

/// The file with the owner of a mirror's directory: `.ferry-mirror/marker`. Without a marker nothing of the directory counts, so an
/// unmounted disk or an emptied directory deletes nothing. A lock on the marker keeps two processes apart.
struct MirrorMarker: Hashable {
    static let fileName = "marker"
    private static let beginning = "ferry mirror 1"

    var mirror: MirrorID
    var container: ContainerID
    var device: DeviceID
    /// `Replica.placeMark` of the database; `nil` where nobody knows the place.
    var place: String?

    private var text: String {
        """
        \(Self.beginning)
        mirror \(mirror.hex)
        container \(container.hex)
        device \(device.hex)
        place \(place ?? "unknown")
        This directory is kept in step with the documents of a database. Do not delete this folder;
        `ferry documents DATABASE mirror DIRECTORY --stop` ends it.

        """
    }

    private static func path(_ directory: String) -> String { directory + "/" + DiskPath.own.text + "/" + fileName }

    /// Reads the marker of a directory; `nil` without a marker, or for an invalid file.
    static func read(_ directory: String) -> MirrorMarker? {
        let file = open(path(directory), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
        guard file >= 0 else { return nil }
        defer { close(file) }
        var bytes = [UInt8](repeating: 0, count: 1024)
        let count = readBytes(file, &bytes, bytes.count)
        guard count > 0 else { return nil }
        let lines = String(decoding: bytes.prefix(count), as: UTF8.self).split(separator: "\n")
        func id<Kind>(_ word: String) -> UniqueID<Kind>? {
            lines.first { $0.hasPrefix(word + " ") }.flatMap { UniqueID(String($0.dropFirst(word.count + 1))) }
        }
        guard lines.first.map(String.init) == beginning, let mirror: MirrorID = id("mirror"),
            let container: ContainerID = id("container"), let device: DeviceID = id("device")
        else { return nil }
        let place = lines.first { $0.hasPrefix("place ") }.map { String($0.dropFirst(6)) }
        return MirrorMarker(
            mirror: mirror, container: container, device: device, place: place == "unknown" ? nil : place)
    }

    /// True for a marker that is there, and that Ferry may not read.
    static func isClosed(_ directory: String) -> Bool {
        let file = open(path(directory), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
        if file >= 0 {
            close(file)
            return false
        }
        return errno == EACCES || errno == EPERM
    }

    /// Writes the marker, durably.
    /// - Throws: `inputOutput`.
    func write(_ directory: String) throws {
        let folder = directory + "/" + DiskPath.own.text
        guard mkdir(folder, 0o777) == 0 || errno == EEXIST else { throw Self.failure("mkdir", folder) }
        let (path, temporary) = (Self.path(directory), Self.path(directory) + ".new")
        unlink(temporary)
        let file = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o644)
        guard file >= 0 else { throw Self.failure("open", temporary) }
        defer { close(file) }
        let bytes = Array(text.utf8)
        guard writeBytes(file, bytes, bytes.count) == bytes.count, fsync(file) == 0, rename(temporary, path) == 0
        else { throw Self.failure("write", path) }
        let around = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        if around >= 0 {
            fsync(around)
            close(around)
        }
    }

    /// Takes the mirror's own folder away, where the folder is empty.
    static func remove(_ directory: String) {
        let folder = directory + "/" + DiskPath.own.text
        unlink(path(directory))
        rmdir(directory + "/" + DiskPath.work.text)
        rmdir(folder)
    }

    private static func failure(_ call: String, _ path: String) -> FerryError {
        FerryError(
            .inputOutput, "The mirror's marker could not be written (\(call): \(String(cString: strerror(errno)))).",
            path: path)
    }

    /// Runs work while no second process works in the directory.
    /// - Returns: `nil` while a second process works there.
    static func locked<R>(_ directory: String, _ body: () throws -> R) throws -> R? {
        let file = open(path(directory), O_RDONLY | O_NOFOLLOW | O_CLOEXEC)
        guard file >= 0 else { throw failure("open", path(directory)) }
        defer { close(file) }
        guard flock(file, LOCK_EX | LOCK_NB) == 0 else {
            if errno == EWOULDBLOCK { return nil }
            throw failure("flock", path(directory))
        }
        return try body()
    }
}

/// Functions beside the type, because members of the type have the names of the calls.
private func readBytes(_ file: Int32, _ bytes: inout [UInt8], _ count: Int) -> Int { read(file, &bytes, count) }
private func writeBytes(_ file: Int32, _ bytes: [UInt8], _ count: Int) -> Int { write(file, bytes, count) }
