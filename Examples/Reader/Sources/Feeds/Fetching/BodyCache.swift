import Foundation
import Synchronization

/// The bodies of the pages that were fetched last, as files in a directory of their own.
///
/// When they are more than a limit in bytes, those that were used least recently go, but none that somebody still
/// reads. The parser reads from these files, and a page can be read again without fetching it. Nothing else knows what
/// is in them: the directory may be deleted at any time while no reader runs.
///
/// A file is named after a hash of the address, a number that makes it unique and the encoding that the server named.
/// It has another name until it is complete. One process uses a directory at a time.
public final class BodyCache: Sendable {
    private struct Entry {
        let key: String
        let byteCount: Int
        var lastUse: Int
        var readers = 0
        /// A newer body of the same address is there.
        var isReplaced = false
    }

    private struct State {
        /// By the name of the file.
        var entries: [String: Entry] = [:]
        var current: [String: String] = [:]
        var byteCount = 0
        var uses = 0
    }

    public let directory: URL
    public let maximumBytes: Int
    private let state = Mutex(State())

    /// Opens the cache, makes its directory if need be, and removes what is too much.
    /// - Throws: `FeedError` with the code `file`.
    public init(directory: URL, maximumBytes: Int = 256 << 20) throws {
        self.directory = directory
        self.maximumBytes = maximumBytes
        do {
            try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
            try adopt(FileManager.default.contentsOfDirectory(atPath: directory.path))
        } catch {
            throw FeedError(
                .file, "the folder \(directory.path) for fetched feeds cannot be used; check that it may be written to")
        }
    }

    /// The bytes of all files.
    public var byteCount: Int { state.withLock(\.byteCount) }

    /// The page that was fetched last from an address, if it is still there.
    public func page(for url: URL) -> FetchedPage? {
        let found = state.withLock { state -> (name: String, byteCount: Int)? in
            guard let name = state.current[Self.key(url)], var entry = state.entries[name] else { return nil }
            state.uses += 1
            entry.lastUse = state.uses
            entry.readers += 1
            state.entries[name] = entry
            return (name, entry.byteCount)
        }
        return found.map {
            FetchedPage(url: url, charset: Self.charset(of: $0.name), body: body($0.name, $0.byteCount))
        }
    }

    // MARK: Storing

    /// A file to write a body to that is not complete.
    func newPart() -> URL { directory.appendingPathComponent("\(UUID().uuidString).part") }

    /// Makes a complete part the body of an address.
    /// - Throws: `FeedError` with the code `file`; the part is still there then.
    func store(part: URL, byteCount: Int, for url: URL, charset: String?) throws -> FeedBody {
        let key = Self.key(url)
        let unique = part.deletingPathExtension().lastPathComponent
        let name = "\(key).\(unique).\(Self.fileNamePart(charset)).body"
        do {
            try FileManager.default.moveItem(at: part, to: directory.appendingPathComponent(name))
        } catch {
            throw FeedError(.file, "a fetched feed could not be kept in \(directory.path); check the disk")
        }
        state.withLock { state in
            if let old = state.current[key] { state.entries[old]?.isReplaced = true }
            state.uses += 1
            state.entries[name] = Entry(key: key, byteCount: byteCount, lastUse: state.uses, readers: 1)
            state.current[key] = name
            state.byteCount += byteCount
            removeWhatIsTooMuch(&state)
        }
        return body(name, byteCount)
    }

    private func body(_ name: String, _ byteCount: Int) -> FeedBody {
        FeedBody(file: directory.appendingPathComponent(name), byteCount: byteCount) { [self] in
            state.withLock { state in
                state.entries[name]?.readers -= 1
                removeWhatIsTooMuch(&state)
            }
        }
    }

    // MARK: Removing

    private func removeWhatIsTooMuch(_ state: inout State) {
        for (name, entry) in state.entries where entry.isReplaced && entry.readers == 0 { remove(name, &state) }
        guard state.byteCount > maximumBytes else { return }
        for (name, _) in state.entries.filter({ $0.value.readers == 0 }).sorted(by: {
            $0.value.lastUse < $1.value.lastUse
        }) {
            if state.byteCount <= maximumBytes { return }
            remove(name, &state)
        }
    }

    private func remove(_ name: String, _ state: inout State) {
        guard let entry = state.entries.removeValue(forKey: name) else { return }
        if state.current[entry.key] == name { state.current[entry.key] = nil }
        state.byteCount -= entry.byteCount
        // One that cannot be removed is found again when the cache is opened next.
        try? FileManager.default.removeItem(at: directory.appendingPathComponent(name))  // harmless: it is a copy
    }

    /// Takes over the files that are there, the oldest first, and removes parts that nobody can be writing any more.
    private func adopt(_ names: [String]) throws {
        var found: [(name: String, size: Int, date: Date)] = []
        for name in names where name.hasSuffix(".body") || name.hasSuffix(".part") {
            let url = directory.appendingPathComponent(name)
            let values = try url.resourceValues(forKeys: [.fileSizeKey, .contentModificationDateKey])
            let date = values.contentModificationDate ?? .distantPast
            if name.hasSuffix(".body") {
                found.append((name, values.fileSize ?? 0, date))
            } else if date.timeIntervalSinceNow < -86400 {
                try FileManager.default.removeItem(at: url)
            }
        }
        state.withLock { state in
            for (name, size, _) in found.sorted(by: { $0.date < $1.date }) {
                let key = String(name.prefix { $0 != "." })
                if let old = state.current[key] { state.entries[old]?.isReplaced = true }
                state.uses += 1
                state.entries[name] = Entry(key: key, byteCount: size, lastUse: state.uses)
                state.current[key] = name
                state.byteCount += size
            }
            removeWhatIsTooMuch(&state)
        }
    }

    // MARK: Names

    private static func key(_ url: URL) -> String { SHA256.hexadecimalDigest(of: Array(url.absoluteString.utf8)) }

    /// "-" for none, and for one whose name could not be part of a file's.
    private static func fileNamePart(_ charset: String?) -> String {
        guard let charset, charset.utf8.count <= 30, !charset.isEmpty,
            charset.allSatisfy({ $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "-" || $0 == "_") })
        else { return "-" }
        return charset
    }

    private static func charset(of name: String) -> String? {
        let parts = name.split(separator: ".")
        return parts.count == 4 && parts[2] != "-" ? String(parts[2]) : nil
    }
}
