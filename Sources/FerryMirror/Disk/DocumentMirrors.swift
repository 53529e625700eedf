import Dispatch
import FerryCore
import FerryDocuments
import FerryEngine
import Foundation

/// Plain directories that are kept in step with an app's documents, on this device.
///
///     let mirrors = DocumentMirrors(documents)
///     try await mirrors.add(URL(fileURLWithPath: "/home/ann/Papers"))
///     mirrors.start()
///
/// What any program saves there becomes versions of documents, on top of the version that was on the disk. What other devices save comes
/// into the directory. Rivals lie beside the file (Docs/Documents.md, "A plain folder").
///
/// Safe to use from any thread. Calls that read or write files suspend and do not block a thread of Swift's.
public final class DocumentMirrors: Sendable {
    /// A directory that is kept in step.
    public struct Mirror: Sendable {
        public let directory: URL
        /// How many files are gone and wait for a person's word; not 0: the mirror rests.
        public let goneFiles: Int
        /// Why the last pass failed; `nil` after one that did not.
        public let problem: FerryError?
        /// Since when the mirror rests, in milliseconds since the Unix epoch.
        public let sinceMilliseconds: Int64?
    }

    /// What becomes of a file and a document that meet by their path, with different bytes.
    public enum Meeting: String, Hashable, Sendable {
        /// Both are versions.
        case both
        /// The file's bytes are current, the document's in the past.
        case disk
        /// The document's bytes are current, the file's in the past.
        case documents
    }

    /// What becomes of files that are gone, where they are more than anybody may have meant to delete.
    public enum GoneFiles: Hashable, Sendable {
        /// Nothing is done before somebody decides.
        case ask
        /// Their documents are deleted.
        case delete
        /// They are written again.
        case bringBack
    }

    /// Something in a directory that is no document, or a document that does not lie there.
    public struct Left: Hashable, Sendable {
        /// In the directory.
        public let path: String
        public let reason: String
    }

    /// What was done to bring a directory into step.
    public struct Summary: Hashable, Sendable {
        /// Documents and versions that were made of files.
        public let taken: Int
        /// Files and folders that were written.
        public let written: Int
        /// What was moved, here or of the documents.
        public let moved: Int
        /// What was removed, here or of the documents.
        public let removed: Int
        /// Files that are gone and wait for a person's word; not 0: nothing was done.
        public let goneFiles: Int
        /// Files that programs write to. They come with a later pass.
        public let writing: Int
        /// Documents with copies of rivals.
        public let conflicts: Int
        public let left: [Left]

        init(_ report: MirrorReport) {
            (taken, written, moved, removed) = (report.taken, report.written, report.moved, report.removed)
            (goneFiles, writing, conflicts) = (report.held, report.waiting, report.conflicts)
            left =
                report.blocked.map { Left(path: $0.path, reason: $0.reason) }
                + (report.left + report.renamed).map { Left(path: $0.path, reason: $0.reason) }
        }
    }

    /// News of a mirror.
    public enum Event: Sendable {
        /// A pass did something, or left something else than the one before.
        case passed(URL, Summary)
        /// The mirror rests, for a reason that is new.
        case rests(URL, FerryError)
        /// The system gives no more watches. Changes are found within a minute.
        case withoutWatches
    }

    private let mirrors: Mirrors
    private let watch: MirrorWatch
    private let streams = EventStreams<Event>()
    private let follower: Task<Void, Never>
    private let queue = DispatchQueue(label: "Ferry.DocumentMirrors", attributes: .concurrent)

    /// Uses a document store, whose engine tells when documents changed. Nothing is watched before `start`.
    public init(_ documents: DocumentStore) {
        let engine = documents.engine
        mirrors = Mirrors(engine.replica)
        let streams = self.streams
        let watch = MirrorWatch(engine.replica) { event in
            switch event {
            case .passed(let mirror, let report):
                streams.yield(.passed(URL(fileURLWithPath: mirror.directory), Summary(report)))
            case .failed(let mirror, let error): streams.yield(.rests(URL(fileURLWithPath: mirror.directory), error))
            case .withoutWatches: streams.yield(.withoutWatches)
            }
        }
        self.watch = watch
        let (events, changes) = (engine.events, documents.changes)
        follower = Task.detached {
            await withTaskGroup(of: Void.self) { group in
                group.addTask { for await _ in events { watch.databaseChanged() } }
                group.addTask { for await _ in changes { watch.databaseChanged() } }
            }
        }
    }

    deinit {
        follower.cancel()
        watch.stop()
        streams.finish()
    }

    /// Keeps all mirrors in step from now on, on a thread of its own.
    public func start() { watch.start() }

    /// Ends after the pass that is running. The mirrors stay, and go on with another object's `start`.
    public func stop() { watch.stop() }

    /// News from now on.
    public var events: AsyncStream<Event> { streams.makeStream() }

    /// The mirrors of the database on this device, by directory.
    public func list() throws -> [Mirror] {
        try mirrors.list().map { record in
            Mirror(
                directory: URL(fileURLWithPath: record.directory), goneFiles: record.held,
                problem: record.problem?.error(),
                sinceMilliseconds: record.sinceMilliseconds)
        }
    }

    /// Makes a directory a mirror, and brings it into step. A directory that is one already stays so.
    /// - Parameters:
    ///   - meeting: what becomes of a file and a document with one path and different bytes.
    ///   - adopting: true: also a directory with the marker of another database, or one that lost its marker.
    /// - Throws: `invalidArgument` for a directory that holds the database, lies in the container or in another mirror;
    ///   `mirrorMissing`, `busy` while another process works in the directory, `inputOutput`.
    @discardableResult
    public func add(
        _ directory: URL, meeting: Meeting = .both, adopting: Bool = false
    ) async throws -> Summary {
        let preference = IntakeWriter.Preference(rawValue: meeting.rawValue) ?? .both
        let summary = try await aside { mirrors in
            let record = try mirrors.add(directory.path, preferring: preference, adopting: adopting)
            return try Self.settle(mirrors, record, .ask)
        }
        watch.databaseChanged()
        return summary
    }

    /// Brings a mirror and the documents into step.
    /// - Throws: `nothingFound` for a directory that is no mirror, `mirrorMissing` for one that is away or lost its marker, `busy`,
    ///   `inputOutput`.
    @discardableResult
    public func sync(_ directory: URL, goneFiles: GoneFiles = .ask) async throws -> Summary {
        try await aside { mirrors in
            try Self.settle(mirrors, mirrors.mirror(in: directory.path), goneFiles)
        }
    }

    /// Ends a mirror. Its files stay, and so do the documents.
    /// - Throws: `nothingFound`.
    public func remove(_ directory: URL) throws {
        try mirrors.remove(mirrors.mirror(in: directory.path))
        watch.databaseChanged()
    }

    private static func settle(
        _ mirrors: Mirrors, _ record: MirrorRecord, _ goneFiles: GoneFiles
    ) throws -> Summary {
        let held: Mirrors.HeldDeletions =
            switch goneFiles {
            case .ask: .ask
            case .delete: .confirm
            case .bringBack: .bringBack
            }
        if let report = try mirrors.settle(record, held: held) { return Summary(report) }
        throw FerryError(
            .busy, "Another process works in the mirror \(record.directory). Try again in a moment.",
            path: record.directory)
    }

    private func aside<Result: Sendable>(
        _ body: @escaping @Sendable (Mirrors) throws -> Result
    ) async throws -> Result {
        try await withCheckedThrowingContinuation { continuation in
            queue.async { [mirrors] in continuation.resume(with: Swift.Result { try body(mirrors) }) }
        }
    }
}
