import Feeds
import Ferry
import Foundation
import GRDB

/// A file of an article that a person keeps: a podcast's episode, a picture.
public struct KeptFile: Codable, FetchableRecord, Sendable, Hashable {
    /// The article's (`ArticleMark`).
    public var mark: String
    /// Where it was fetched from.
    public var url: String
    /// What to call it on a disk.
    public var name: String
    public var bytes: Int
    /// Names the bytes on every device.
    var content: Data
}

/// Files of articles, kept on all devices: rows of `kept` travel as all rows do, and their bytes as attachments of Ferry's.
///
/// Another device has the row with its next sync. It fetches the bytes by itself up to 16 MB, else when somebody asks.
/// Safe to use from any thread.
public final class KeptFiles: Sendable {
    private let library: Library
    private let documents: DocumentStore
    private let downloader: FileDownloader

    /// - Throws: `notSetUp` where the database belongs to no shared folder yet.
    public init(_ library: Library, _ engine: SyncEngine, limits: FetchLimits = FetchLimits()) throws {
        self.library = library
        downloader = FileDownloader(limits: limits)
        documents = try DocumentStore(engine)
    }

    /// The kept files of an article, by address.
    public func files(of article: Article) throws -> [KeptFile] {
        try library.pool.read { database in
            try KeptFile.fetchAll(
                database, sql: "SELECT mark, url, name, bytes, content FROM kept WHERE mark = ? ORDER BY url",
                arguments: [article.mark])
        }
    }

    /// Fetches the files that belong to an article, and keeps them. What is kept already is not fetched again.
    /// - Returns: the files that are new.
    /// - Throws: `nothingFound` for an article without files; `FeedError`, and what was fetched before is kept.
    public func keep(_ article: Article) async throws -> [KeptFile] {
        let addresses = try article.files()
        if addresses.isEmpty {
            throw ReaderError(.nothingFound, "the article \(article.id) has no files and no picture")
        }
        let known = Set(try files(of: article).map(\.url))
        try documents.declareAttachments("kept", "content")
        var new: [KeptFile] = []
        for address in addresses where !known.contains(address) {
            guard let url = URL(string: address) else {
                throw ReaderError(.badData, "“\(address.prefix(100))” is no address; the file cannot be kept")
            }
            new.append(try await keep(url, address, of: article))
        }
        return new
    }

    /// The content and the row that refers to it are one transaction: nobody sees a row without its bytes.
    private func keep(_ url: URL, _ address: String, of article: Article) async throws -> KeptFile {
        let place = FileManager.default.temporaryDirectory.appendingPathComponent("reader-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: place) }  // a temporary file
        let bytes = try await downloader.download(url, to: place)
        let content = try await documents.store(contentsOf: place)
        let file = KeptFile(
            mark: article.mark, url: address, name: Self.name(of: url), bytes: bytes, content: Data(content.id.bytes))
        try await library.pool.write { database in
            try content.insert(in: database)
            try database.execute(
                sql: "INSERT OR REPLACE INTO kept(mark, url, name, bytes, content) VALUES (?, ?, ?, ?, ?)",
                arguments: [file.mark, file.url, file.name, file.bytes, file.content])
        }
        return file
    }

    /// Lets the files of an article go, on all devices. Their bytes go later by themselves.
    /// - Returns: how many.
    @discardableResult
    public func remove(of article: Article) throws -> Int {
        try library.pool.write { database in
            try database.execute(sql: "DELETE FROM kept WHERE mark = ?", arguments: [article.mark])
            return database.changesCount
        }
    }

    /// Writes a kept file into a folder, under a name that is free there. Its bytes are fetched from the shared folder if need be.
    /// - Returns: where it is.
    /// - Throws: `FerryError` with `contentNotHere` while the bytes have not arrived.
    public func save(_ file: KeptFile, into folder: URL) async throws -> URL {
        guard let id = ContentID(bytes: file.content) else {
            throw ReaderError(.badData, "the row of \(file.name) names no content; `reader keep` it again")
        }
        return try await documents.withFile(of: id) { source in
            var target = folder.appendingPathComponent(file.name)
            var number = 2
            while FileManager.default.fileExists(atPath: target.path) {
                target = folder.appendingPathComponent("\(number) \(file.name)")
                number += 1
            }
            do {
                try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
                try FileManager.default.copyItem(at: source, to: target)
            } catch {
                throw ReaderError(.inputOutput, "\(target.path) cannot be written: \(error.localizedDescription)")
            }
            return target
        }
    }

    /// The last part of an address, without what no disk takes.
    static func name(of url: URL) -> String {
        let last = url.lastPathComponent.filter { $0 != "/" && $0 != ":" && !($0.asciiValue.map { $0 < 32 } ?? false) }
        let name = String(last.drop { $0 == "." }.suffix(100))
        return name.isEmpty ? "file" : name
    }
}

extension Article {
    /// The addresses of the files that belong to it, and of its picture: each once.
    func files() throws -> [String] {
        guard let extras = try extensions.map({ try ArticleExtras(json: $0) }) else { return [] }
        var found: [String] = []
        for address in (extras.enclosures ?? []).map(\.url) + [extras.image].compactMap({ $0 })
        where !found.contains(address) {
            found.append(address)
        }
        return found
    }
}
