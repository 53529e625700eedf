import FerryContainer
import FerryCore
import FerryEngine

/// A change of documents, for who follows them.
public struct DocumentEvent: Hashable, Sendable {
    public enum Kind: Hashable, Sendable {
        /// A document or folder is new, or was put back.
        case added
        /// Another version is shown.
        case saved
        /// The document has another name or another folder.
        case moved
        /// The document is in the trash, or gone.
        case removed
        /// There are rival versions now, or there are none any more.
        case conflict
        /// The bytes came to this device, or went from it, or cannot be had.
        case availability
    }

    public let document: DocumentID
    public let kind: Kind
    /// The path now; of a removed document the path before.
    public let path: String
    /// True for a change made by this store's own calls.
    public let isOwn: Bool
}

/// Finds out what became of documents, by comparing what is shown with what was shown before.
final class DocumentBroadcast: Sendable {
    private let access: DocumentAccess
    /// What was shown at the last check. Held while the database is read, so that two checks report everything once.
    private let told: Locked<[DocumentID: DocumentEntry]>
    private let listeners = Locked(Listeners())

    private struct Listeners {
        var count = 0
        var isFinished = false
        var streams: [Int: AsyncStream<DocumentEvent>.Continuation] = [:]
    }

    init(_ access: DocumentAccess) throws {
        self.access = access
        told = Locked(try Self.shown(access))
    }

    private static func shown(_ access: DocumentAccess) throws -> [DocumentID: DocumentEntry] {
        Dictionary(try access.list(.below(.top)).map { ($0.id, $0) }) { first, _ in first }
    }

    /// Reports what is different since the last check. Without listeners nothing is read.
    func check(isOwn: Bool = false) throws {
        if listeners.withLock({ $0.streams.isEmpty }) { return }
        let events = try told.withLock { told in
            let present = try Self.shown(access)
            defer { told = present }
            return Self.events(from: told, to: present, isOwn: isOwn)
        }
        let streams = listeners.withLock { Array($0.streams.values) }
        for event in events { for stream in streams { stream.yield(event) } }
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
        let (stream, continuation) = AsyncStream.makeStream(of: DocumentEvent.self)
        let isFirst = listeners.withLock { $0.streams.isEmpty }
        // What nobody followed is no news. A failure to read now makes the first check report more than is new.
        if isFirst, let present = try? Self.shown(access) { told.withLock { $0 = present } }
        let number = listeners.withLock { listeners -> Int? in
            if listeners.isFinished { return nil }
            listeners.count += 1
            listeners.streams[listeners.count] = continuation
            return listeners.count
        }
        guard let number else {
            continuation.finish()
            return stream
        }
        continuation.onTermination = { [weak self] _ in
            self?.listeners.withLock { _ = $0.streams.removeValue(forKey: number) }
        }
        return stream
    }

    func finish() {
        let streams = listeners.withLock { listeners in
            listeners.isFinished = true
            return Array(listeners.streams.values)
        }
        for stream in streams { stream.finish() }
    }
}

extension DocumentStore {
    /// Changes of documents from now on, whoever makes them. Read the stream or let it go.
    public var changes: AsyncStream<DocumentEvent> { broadcast.changes() }
}
