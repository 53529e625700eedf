import FerryContainer
import FerryCore
import FerryEngine

/// A change of documents, for followers of the changes.
public struct DocumentEvent: Hashable, Sendable {
    public enum Kind: Hashable, Sendable {
        /// A document or folder is new, or was put back.
        case added
        /// A new version is shown.
        case saved
        /// The document has a new name or a new folder.
        case moved
        /// The document is in the trash, or gone.
        case removed
        /// There are rival versions now, or there are none any more.
        case conflict
        /// The bytes came to this device, left the device, or cannot be had.
        case availability
    }

    public let document: DocumentID
    public let kind: Kind
    /// The path now; of a removed document the path before.
    public let path: String
    /// True for a change made by this store's own calls.
    public let isOwn: Bool
}

/// Finds changes of documents by comparing the visible documents with the visible documents before.
final class DocumentBroadcast: Sendable {
    private let access: DocumentAccess
    /// The visible documents at the last check. Held during the read of the database, so two checks report everything
    /// once.
    private let told: Locked<[DocumentID: DocumentEntry]>
    private let streams = EventStreams<DocumentEvent>()

    init(_ access: DocumentAccess) {
        self.access = access
        // Nobody follows yet: the first stream reads the visible documents of its time.
        told = Locked([:])
    }

    private static func shown(_ access: DocumentAccess) throws -> [DocumentID: DocumentEntry] {
        Dictionary(try access.list(.below(.top)).map { ($0.id, $0) }) { first, _ in first }
    }

    /// Reports the differences since the last check. Without listeners nothing is read.
    func check(isOwn: Bool = false) throws {
        if streams.isEmpty { return }
        let events = try told.withLock { told in
            let present = try Self.shown(access)
            defer { told = present }
            return Self.events(from: told, to: present, isOwn: isOwn)
        }
        for event in events { streams.yield(event) }
    }

    /// The events between two states, by path.
    static func events(
        from before: [DocumentID: DocumentEntry], to after: [DocumentID: DocumentEntry], isOwn: Bool
    ) -> [DocumentEvent] {
        var events: [DocumentEvent] = []
        func add(_ kind: DocumentEvent.Kind, _ entry: DocumentEntry) {
            events.append(DocumentEvent(document: entry.id, kind: kind, path: entry.path, isOwn: isOwn))
        }
        for entry in after.values.sorted(by: { $0.path < $1.path }) {
            guard let former = before[entry.id] else {
                add(.added, entry)
                if !entry.rivals.isEmpty { add(.conflict, entry) }
                continue
            }
            if former.path != entry.path { add(.moved, entry) }
            if former.version != entry.version { add(.saved, entry) }
            if former.rivals.isEmpty != entry.rivals.isEmpty { add(.conflict, entry) }
            if former.availability != entry.availability { add(.availability, entry) }
        }
        for entry in before.values.sorted(by: { $0.path < $1.path }) where after[entry.id] == nil {
            add(.removed, entry)
        }
        return events
    }

    /// A stream of changes from now on.
    func changes() -> AsyncStream<DocumentEvent> {
        // Changes from before the first follower are no news. If the read fails now, the first check reports more than
        // is new.
        if streams.isEmpty, let present = try? Self.shown(access) { told.withLock { $0 = present } }
        return streams.makeStream()
    }

    func finish() { streams.finish() }
}

extension DocumentStore {
    /// Changes of documents from now on, by any device. Read the stream or let it go.
    public var changes: AsyncStream<DocumentEvent> { broadcast.changes() }
}
