import Ferry
import FerryContainer
import FerryDocuments
import Foundation

#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

/// Imports files of the disk as documents, and exports documents as files.
enum DiskFiles {
    /// Files left in directories by systems, not by people.
    private static let litter: Set<String> = [".DS_Store", "Thumbs.db", "desktop.ini"]

    /// The files to add, and the items that are neither a file nor a directory.
    /// - Parameters:
    ///   - target: the document's path or a folder; `nil`: the top.
    ///   - isFolder: whether a folder of documents is at a path.
    static func sources(
        _ files: [String], to target: String?, isFolder: (DocumentPath) throws -> Bool
    ) throws -> (sources: [DocumentSource], left: [String]) {
        let path = try target.map { try DocumentPath($0) } ?? .top
        let isOneFile = try files.count == 1 && kind(of: files[0]) == S_IFREG
        let goesInside = try target == nil || target?.hasSuffix("/") ?? false || path.names.isEmpty || isFolder(path)
        if isOneFile && !goesInside { return ([try DocumentSource(reading: files[0], at: path)], []) }
        var (sources, left): ([DocumentSource], [String]) = ([], [])
        for file in files {
            let name = URL(fileURLWithPath: file).standardizedFileURL.lastPathComponent
            try gather(file, at: path.appending(name), &sources, &left)
        }
        return (sources, left)
    }

    private static func kind(of path: String) throws -> mode_t {
        var status = stat()
        guard lstat(path, &status) == 0 else {
            throw FerryError(.nothingFound, "There is no file at \(path). Check the path.", path: path)
        }
        return status.st_mode & S_IFMT
    }

    private static func gather(
        _ file: String, at path: DocumentPath, _ sources: inout [DocumentSource], _ left: inout [String]
    ) throws {
        switch try kind(of: file) {
        case S_IFREG: sources.append(try DocumentSource(reading: file, at: path))
        case S_IFDIR:
            for name in try FileManager.default.contentsOfDirectory(atPath: file).sorted()
            where !litter.contains(name) {
                do {
                    try gather(file + "/" + name, at: path.appending(name), &sources, &left)
                } catch let error as FerryError where [.nothingFound, .invalidArgument].contains(error.code) {
                    // The name is not UTF-8, or is too long for a document.
                    left.append(file + "/" + name)
                }
            }
        default: left.append(file)
        }
    }

    /// Whether a path is a database's file, or belongs to the database beside the file.
    static func isOwn(_ path: String, of database: String) -> Bool {
        func full(_ path: String) -> String { URL(fileURLWithPath: path).resolvingSymlinksInPath().path }
        let (target, own) = (full(path), full(database))
        return target == own || target.hasPrefix(own + "-")
    }

    // MARK: Writing

    /// Copies a file, with the file's mode and time.
    /// - Returns: the bytes.
    /// - Throws: `nameTaken` for an existing file, `inputOutput`.
    static func copy(
        _ source: String, to target: String, overwriting: Bool, isExecutable: Bool, modifiedMicroseconds: Int64?
    ) throws -> Int {
        switch try ArgumentFile(target).kind() {
        case .missing, .regular: break
        // Such as /dev/null. Nothing is written over there.
        case .characters where overwriting: break
        case .directory:
            throw FerryError(.nameTaken, "\(target) is a directory. Name the file in it by -o.", path: target)
        case .pipe, .characters, .other:
            throw FerryError(
                .nameTaken, "\(target) is no regular file. To hand the document to a program, say -o - and a pipe.",
                path: target)
        }
        let flags = O_WRONLY | O_CREAT | O_CLOEXEC | (overwriting ? O_TRUNC : O_EXCL)
        let descriptor = open(target, flags, isExecutable ? 0o777 : 0o666)
        guard descriptor >= 0 else {
            if errno == EEXIST {
                throw FerryError(
                    .nameTaken, "There is a file \(target) already. Choose another by -o, or say --force.", path: target
                )
            }
            throw FerryError(
                .inputOutput, "The file cannot be written: \(String(cString: strerror(errno))).", path: target)
        }
        let output = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        let bytes = try copy(source) { try output.write(contentsOf: $0) }
        guard let modifiedMicroseconds else { return bytes }
        let (seconds, rest) = modifiedMicroseconds.quotientAndRemainder(dividingBy: 1_000_000)
        let time = timespec(tv_sec: Int(seconds), tv_nsec: Int(max(rest, 0)) * 1000)
        // A disk without such times keeps the document all the same.
        _ = futimens(descriptor, [time, time])
        return bytes
    }

    /// Nobody has the bytes here: a file has none of them, or they are sealed under a key of others.
    private static let codesOfMissing: Set<FerryError.Code> = [
        .contentNotHere, .contentLost, .containerMissing, .keyMissing,
    ]

    /// What was written out of a database that keeps no documents any more.
    struct Written: Encodable {
        var documents = 0
        /// Rival versions of these documents, beside the shown versions; `nil` without any.
        var rivals: Int?
        /// The paths of documents whose bytes are not to be had, as far as they may be left out.
        var missing: [String] = []
        var attachments = 0
        /// The directory with the attachments: each file has its content's ID in hexadecimal digits as its name, as `hex(column)` tells.
        var attachmentsDirectory: String?

        private enum CodingKeys: String, CodingKey { case documents, rivals, attachments, attachmentsDirectory }
    }

    /// Writes all documents that are shown into a directory, with their folders, and all attachments into a directory therein.
    /// - Throws: `nameTaken` for a directory that is not empty; `contentNotHere`, `contentLost`, `inputOutput`. What was written by then stays.
    static func write(_ documents: DocumentAccess, to directory: String, leavingOutMissing: Bool = false) throws
        -> Written
    {
        let files = FileManager.default
        // A missing directory is made below.
        if let names = try? files.contentsOfDirectory(atPath: directory), !names.isEmpty {
            throw FerryError(.nameTaken, "The directory is not empty. Name another one.", path: directory)
        }
        var written = Written()
        func make(_ path: String) throws {
            do {
                try files.createDirectory(atPath: path, withIntermediateDirectories: true)
            } catch {
                throw FerryError(
                    .inputOutput, "The directory cannot be made: \(error.systemWords).", path: path,
                    cause: error)
            }
        }
        func unlessMissing(_ name: String, _ body: () throws -> Void) throws {
            do {
                try body()
            } catch let error as FerryError where leavingOutMissing && codesOfMissing.contains(error.code) {
                written.missing.append(name)
            }
        }
        try make(directory)
        // A folder's path comes before the paths of the folder's documents.
        for entry in try documents.list(.below(.top)) {
            let target = directory + "/" + entry.path
            if entry.kind == .folder {
                try make(target)
            } else {
                try unlessMissing(entry.path) { try write(entry, of: documents, to: target, &written) }
            }
        }
        let attached = try documents.replica.store.attachedContents()
        if attached.isEmpty { return written }
        let place = try freeName("Attachments", in: directory)
        try make(place)
        for content in attached {
            let name = content.hex.uppercased()
            try unlessMissing("attachment \(name)") {
                _ = try copy(
                    documents.replica.contentFile(content), to: place + "/" + name, overwriting: false,
                    isExecutable: false, modifiedMicroseconds: nil)
                written.attachments += 1
            }
        }
        written.attachmentsDirectory = place
        return written
    }

    /// Writes the shown version of a document, and the document's rivals beside that file: nobody's edit is left behind.
    private static func write(
        _ entry: DocumentEntry, of documents: DocumentAccess, to target: String, _ written: inout Written
    ) throws {
        func copy(_ version: VersionID?, to target: String) throws {
            let source = try documents.file(of: entry.id, version: version)
            _ = try Self.copy(
                source.path, to: target, overwriting: false, isExecutable: source.isExecutable,
                modifiedMicroseconds: source.modifiedMicroseconds)
        }
        try copy(nil, to: target)
        written.documents += 1
        if entry.rivals.isEmpty { return }
        let folder = (target as NSString).deletingLastPathComponent
        for version in try documents.versions(of: entry.id) where version.isRival && version.content != nil {
            let name = CopyName.of(
                entry.name, label: version.device ?? "", madeMilliseconds: version.madeMilliseconds)
            try copy(version.id, to: freeName(name, in: folder))
            written.rivals = (written.rivals ?? 0) + 1
        }
    }

    /// A name that no document has.
    private static func freeName(_ name: String, in directory: String) throws -> String {
        let names = Set(try FileManager.default.contentsOfDirectory(atPath: directory).map { $0.lowercased() })
        var (free, number) = (name, 2)
        while names.contains(free.lowercased()) {
            (free, number) = (DocumentName.adding(" (\(number))", to: name), number + 1)
        }
        return directory + "/" + free
    }

    static func copyToStandardOutput(_ source: String) throws {
        _ = try copy(source) { try StandardStreams.write(Array($0)) }
    }

    private static func copy(_ source: String, writing: (Data) throws -> Void) throws -> Int {
        do {
            let input = try FileHandle(forReadingFrom: URL(fileURLWithPath: source))
            var bytes = 0
            while let part = try input.read(upToCount: 1 << 20), !part.isEmpty {
                try writing(part)
                bytes += part.count
            }
            return bytes
        } catch let error as FerryError {
            throw error
        } catch {
            throw FerryError(.inputOutput, "The document cannot be written: \(error.systemWords).", cause: error)
        }
    }
}
