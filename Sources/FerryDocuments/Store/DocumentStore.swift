import Dispatch
import FerryContainer
import FerryCore
import FerryEngine
import FerrySQL
import FerryStore
import Foundation
import GRDB

/// Documents and attachments of an app: files of any size that travel with the database.
///
///     let documents = try DocumentStore(engine)
///     let entry = try await documents.add(url, at: "Scores/Trio.pdf")
///     let file = try await documents.open(entry.id)
///
/// A document has versions. If two devices edit the same version, both new versions stay, the same on all devices,
/// until somebody settles the conflict. Bytes lie beside the database, in `<database>-ferry-content`, and travel
/// through the container in packs (Docs/Documents.md).
///
/// Safe to use from any thread. Calls with file access suspend and do not block a thread of Swift's. They end with
/// their task.
public final class DocumentStore: Sendable {
    public let engine: SyncEngine
    let access: DocumentAccess
    let broadcast: DocumentBroadcast
    private let queue = DispatchQueue(label: "Ferry.DocumentStore", attributes: .concurrent)
    private let follower: Task<Void, Never>

    /// Uses an engine. The engine's events report changes by other devices.
    /// - Throws: `unsupportedTable` where the app has tables by the names of Ferry's.
    public init(_ engine: SyncEngine) throws {
        DocumentUpkeep.register()
        self.engine = engine
        access = DocumentAccess(engine.replica)
        try engine.store.makeDocumentTables()
        let broadcast = DocumentBroadcast(access)
        self.broadcast = broadcast
        let events = engine.events
        follower = Task.detached {
            for await event in events {
                switch event {
                // The next event finds the same news and makes up for a failure to read now.
                case .synced, .databaseChanged, .reopened: try? broadcast.check()
                case .started, .following, .leading, .failed, .stopped: break
                }
            }
        }
    }

    deinit {
        follower.cancel()
        broadcast.finish()
    }

    /// Runs blocking work aside. A cancelled task ends the work at the next step.
    func aside<Result: Sendable>(
        _ body: @escaping @Sendable (DocumentAccess, CancellationFlag) throws -> Result
    ) async throws -> Result {
        let flag = CancellationFlag()
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                queue.async { [access] in
                    continuation.resume(with: Swift.Result { try body(access, flag) })
                }
            }
        } onCancel: {
            flag.cancel()
        }
    }

    /// Runs a change aside, and reports the change to followers.
    private func changing<Result: Sendable>(
        _ body: @escaping @Sendable (DocumentAccess, CancellationFlag) throws -> Result
    ) async throws -> Result {
        let result = try await aside(body)
        try broadcast.check(isOwn: true)
        return result
    }

    // MARK: Contents

    /// Stores a file as a content: durably beside the database. Nobody refers to the content before the rows are
    /// written.
    /// - Parameter progress: called with the bytes taken so far.
    /// - Throws: `nothingFound`, `busy` while somebody writes to the file, `limitExceeded`, `inputOutput`, `CancellationError`.
    public func store(
        contentsOf url: URL, progress: (@Sendable (Int) -> Void)? = nil
    ) async throws -> StoredContent {
        try await aside { access, flag in
            try access.replica.storeContents([url.path]) { bytes in
                try flag.check()
                progress?(bytes)
            }[0]
        }
    }

    /// A file with a content: read-only, beside the database. Valid until `body` returns: no call of this process evicts the file meanwhile.
    /// - Throws: `contentNotHere`, `contentLost`; errors of `body`.
    public func withFile<Result: Sendable>(
        of content: ContentID, _ body: @Sendable (URL) async throws -> Result
    ) async throws -> Result {
        let held = try await aside { access, flag in
            try access.replica.heldContent(content) { _ in try flag.check() }
        }
        defer { withExtendedLifetime(held) {} }
        return try await body(URL(fileURLWithPath: held.path))
    }

    /// Bytes of a content. The content is fetched if need be.
    /// - Parameter range: `nil` for all bytes. Only the part of the range that the content has counts.
    /// - Throws: `contentNotHere`, `contentLost`, `inputOutput`.
    public func data(of content: ContentID, in range: Range<Int>? = nil) async throws -> Data {
        try await withFile(of: content) { url in
            let file = try FileHandle(forReadingFrom: url)
            defer { try? file.close() }  // the bytes are read already
            guard let range else { return try file.readToEnd() ?? Data() }
            let part = range.clamped(to: 0..<Int(clamping: try file.seekToEnd()))
            if part.isEmpty { return Data() }
            try file.seek(toOffset: UInt64(part.lowerBound))
            return try file.read(upToCount: part.count) ?? Data()
        }
    }

    /// Declares a column of the app with IDs of contents, on all devices.
    /// - Throws: `invalidArgument` for a local column.
    public func declareAttachments(_ table: String, _ column: String) throws {
        try access.declareAttachments(table, column)
    }

    /// The declared columns, as `table.column`.
    public func attachments() throws -> [String] { try access.attachments() }

    // MARK: Looking

    /// The documents in a folder, by path.
    /// - Parameters:
    ///   - folder: a path such as `Scores`; `/` is the top.
    ///   - recursively: true: also the documents in folders below.
    /// - Throws: `nothingFound`.
    public func list(_ folder: String = "/", recursively: Bool = false) throws -> [DocumentEntry] {
        let path = try DocumentPath(folder)
        return try access.list(recursively ? .below(path) : .inside(path))
    }

    /// The documents in the trash.
    public func deleted() throws -> [DocumentEntry] { try access.list(.deleted) }

    /// The documents with rival versions.
    public func conflicts() throws -> [DocumentEntry] { try access.list(.conflicts) }

    /// Finds a document by path.
    /// - Throws: `nothingFound`.
    public func document(at path: String) throws -> DocumentEntry { try access.entry(DocumentPath(path)) }

    /// Finds a document by ID; `nil` for an unknown document.
    public func document(_ id: DocumentID) throws -> DocumentEntry? { try access.entry(id) }

    /// The versions of a document: the shown version, then the rivals, then the past.
    /// - Throws: `nothingFound` for an unknown document.
    public func versions(of id: DocumentID) throws -> [DocumentVersion] { try access.versions(of: id) }

    // MARK: Changing

    /// Adds a file as a document. Folders on the way are made.
    /// - Throws: `nameTaken` if the path has a document with different bytes; as `store(contentsOf:)`.
    @discardableResult
    public func add(_ url: URL, at path: String, moving: Bool = false) async throws -> DocumentEntry {
        let id = try await changing { access, flag in
            let source = try DocumentSource(reading: url.path, at: DocumentPath(path))
            let document = try access.add([source]) { _ in try flag.check() }.outcomes[0].document
            if moving { try FileManager.default.removeItem(at: url) }
            return document
        }
        return try required(id)
    }

    /// Saves a content as a document's new version, over the edited version. Versions made meanwhile by other devices
    /// stay, as rivals.
    /// - Parameter modified: when the bytes were edited; kept in microseconds.
    /// - Returns: the new version.
    /// - Throws: `nothingFound` for an unknown document or version; `invalidArgument` for a folder, and for a date beyond 290,000 years.
    @discardableResult
    public func save(
        _ id: DocumentID, _ content: StoredContent, over version: VersionID, modified: Date = Date()
    ) async throws -> VersionID {
        guard let time = Int64(exactly: (modified.timeIntervalSince1970 * 1_000_000).rounded(.towardZero)) else {
            throw FerryError(.invalidArgument, "The date of the edit is no date, or too far away. Nothing was changed.")
        }
        return try await changing { access, _ in
            try access.save(content, modifiedMicroseconds: time, to: id, over: version)
        }
    }

    /// Makes a folder, with the folders around it.
    /// - Throws: `nameTaken` where a document has the name.
    public func makeFolder(_ path: String) async throws {
        _ = try await changing { access, _ in try access.makeFolder(DocumentPath(path)) }
    }

    /// Renames or moves a document or a folder.
    /// - Throws: `nothingFound` for an unknown document; `nameTaken`, `invalidArgument` for a move of a folder into itself.
    public func move(_ id: DocumentID, to path: String) async throws {
        try await changing { access, _ in try access.move(id, to: DocumentPath(path)) }
    }

    /// Puts a document into the trash; a folder with everything in it.
    /// - Throws: `nothingFound` for an unknown document.
    public func remove(_ id: DocumentID) async throws { _ = try await changing { access, _ in try access.remove(id) } }

    /// Puts a document back out of the trash.
    /// - Throws: `nothingFound` for a document outside the trash.
    public func putBack(_ id: DocumentID) async throws {
        _ = try await changing { access, _ in try access.putBack(id) }
    }

    /// How a conflict ends.
    public enum Settling: Sendable {
        /// The given version stands.
        case keep(VersionID)
        /// Each rival becomes a separate document beside the first.
        case keepBoth
        /// The app's bytes stand.
        case with(StoredContent)
    }

    /// Settles a conflict, on all devices.
    /// - Returns: the current version after the change.
    /// - Throws: `nothingFound` without a conflict.
    @discardableResult
    public func settle(_ id: DocumentID, _ how: Settling) async throws -> VersionID {
        try await changing { access, _ in
            switch how {
            case .keep(let version): try access.settle(id, keeping: version)
            case .keepBoth: try access.settleKeepingBoth(id)
            case .with(let content):
                try access.settle(
                    id, with: content,
                    modifiedMicroseconds: access.replica.environment.clock.milliseconds() * 1000)
            }
        }
    }

    private func required(_ id: DocumentID) throws -> DocumentEntry {
        guard let entry = try access.entry(id) else {
            throw FerryError(.internalInconsistency, "A document is not there after it was added.")
        }
        return entry
    }

    // MARK: Room on this device

    /// The settings for fetching on this device's own initiative, and for how much the device keeps.
    public var settings: ContentSettings {
        get throws { try engine.store.contentSettings() }
    }

    public func set(_ settings: ContentSettings) throws { try engine.store.setContentSettings(settings) }

    /// How many days former versions and deleted documents stay, on all devices; `nil`: for ever. Thirty where nobody says otherwise.
    public func retentionDays() throws -> Int? { try access.retention().days }

    /// Says how many days former versions and deleted documents stay, on all devices; `nil`: for ever.
    /// - Throws: `invalidArgument` for less than a day, or more than a hundred years.
    public func setRetention(days: Int?) throws { try access.setRetention(days: days) }

    /// Brings the bytes of documents to this device.
    /// - Throws: `nothingFound` for an unknown document; nothing is fetched then. `contentNotHere`, `contentLost` for the first unavailable
    ///   document; the remaining documents are fetched all the same.
    public func fetch(_ ids: [DocumentID]) async throws {
        try await changing { access, flag in
            let contents = try access.knownEntries(ids).compactMap(\.content)
            let results = try access.replica.fetchContents(contents) { _, _ in try flag.check() }
            if let problem = results.lazy.compactMap(\.problem).first { throw Replica.notHere(problem) }
        }
    }

    /// Removes bytes from this device if the container has them. The documents stay, and so do bytes that an `OpenDocument` or `withFile` uses.
    /// - Returns: the removed bytes.
    /// - Throws: `nothingFound` for an unknown document.
    @discardableResult
    public func evict(_ ids: [DocumentID]) async throws -> Int {
        try await changing { access, _ in
            try access.replica.evictContents(access.knownEntries(ids).compactMap(\.content)).bytes
        }
    }

    /// Keeps the bytes of documents on this device, and fetches them with the next pass.
    /// - Throws: `nothingFound` for an unknown document.
    public func pin(_ ids: [DocumentID]) throws { try setPinned(ids, true) }

    /// Lets the bytes of documents go again where room is needed.
    /// - Throws: `nothingFound` for an unknown document.
    public func unpin(_ ids: [DocumentID]) throws { try setPinned(ids, false) }

    private func setPinned(_ ids: [DocumentID], _ isPinned: Bool) throws {
        try access.replica.pinContents(access.knownEntries(ids).compactMap(\.content), isPinned)
    }
}

extension StoredContent {
    /// Writes the rows of the content, in a transaction of the app's. Writing them again has no effect.
    /// - Throws: `contentNotHere` if the content was stored so long ago that the bytes may be gone: store the content
    ///   again.
    public func insert(in database: Database) throws {
        guard let handle = database.sqliteConnection else { throw FerryError(.database, "The database is closed.") }
        let connection = SQLConnection(handle)
        defer { connection.finalizeStatements() }
        try insert(connection)
    }
}

/// Whether the task behind work running aside was cancelled.
final class CancellationFlag: Sendable {
    private let isCancelled = Locked(false)

    func cancel() { isCancelled.withLock { $0 = true } }

    func check() throws { if isCancelled.withLock({ $0 }) { throw CancellationError() } }
}
