import FerryContainer
import FerryCore
import FerryEngine
import Foundation

/// A document in the hands of an editor: a file to read, the version below the edit, and a way to save.
///
/// The file never changes under the reader. To save, write a file of your own and hand it to `save`. The new version
/// supersedes only the opened version. Versions made meanwhile by other devices stay, as rivals.
public final class OpenDocument: Sendable {
    /// The state for an editor to show to a person.
    public enum State: Sendable {
        case normal
        /// There are rival versions: settle them.
        case inConflict
        /// The last `save` failed. Only the editor has the edited bytes.
        case savingError(FerryError)
        /// The document is in the trash, or gone.
        case removed
    }

    public let id: DocumentID
    private let store: DocumentStore
    private let present: Locked<(file: OpenedFile, failure: FerryError?)>

    init(_ id: DocumentID, _ store: DocumentStore, _ file: OpenedFile) {
        self.id = id
        self.store = store
        present = Locked((file, nil))
    }

    /// The open version.
    public var version: VersionID { present.withLock { $0.file.version } }

    /// A read-only file with the bytes of `version`. No call of this process evicts the file while the document is open.
    public var file: URL { URL(fileURLWithPath: present.withLock { $0.file.path }) }

    public var state: State {
        get throws {
            if let failure = present.withLock({ $0.failure }) { return .savingError(failure) }
            guard let entry = try store.document(id), !entry.isDeleted else { return .removed }
            return entry.rivals.isEmpty ? .normal : .inConflict
        }
    }

    /// Saves a file as the new version, and goes on with the new version.
    /// - Returns: the new version.
    @discardableResult
    public func save(_ url: URL) async throws -> VersionID {
        do {
            let content = try await store.store(contentsOf: url)
            let saved = try await store.save(id, content, over: version)
            let file = try await store.file(of: id, saved)
            present.withLock { $0 = (file, nil) }
            return saved
        } catch let error as FerryError {
            present.withLock { $0.failure = error }
            throw error
        }
    }

    /// Goes on with the version shown now, such as after a change by a different device.
    public func reload() async throws {
        let shown = try await store.file(of: id, nil)
        present.withLock { $0 = (shown, nil) }
    }

    /// Changes of this document from now on.
    public var changes: AsyncStream<DocumentEvent> {
        let all = store.changes
        let (stream, continuation) = AsyncStream.makeStream(of: DocumentEvent.self)
        let task = Task.detached { [id] in
            for await event in all where event.document == id { continuation.yield(event) }
            continuation.finish()
        }
        continuation.onTermination = { _ in task.cancel() }
        return stream
    }
}

extension DocumentStore {
    /// Opens a document. The bytes are fetched if need be.
    /// - Throws: `nothingFound`, `contentNotHere`, `contentLost`; `invalidArgument` for a folder.
    public func open(_ id: DocumentID) async throws -> OpenDocument {
        OpenDocument(id, self, try await file(of: id, nil))
    }

    func file(of id: DocumentID, _ version: VersionID?) async throws -> OpenedFile {
        try await aside { access, flag in try access.file(of: id, version: version) { _ in try flag.check() } }
    }
}
