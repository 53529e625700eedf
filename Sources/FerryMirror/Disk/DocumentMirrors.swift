import Dispatch
import FerryCore
import FerryDocuments
import FerryEngine
import Foundation

/// Plain directories kept in step with an app's documents, on this device.
///
///     let mirrors = DocumentMirrors(documents)
///     try await mirrors.add(URL(fileURLWithPath: "/home/ann/Papers"))
///     mirrors.start()
///
/// Files saved there by any program become versions of documents, on top of the version on the disk. Saves on other devices come into the
/// directory. Rivals lie beside the file (Docs/Documents.md, "A plain folder").
///
/// Safe to use from any thread. Calls that read or write files suspend and do not block a thread of Swift's.
public final class DocumentMirrors: Sendable {
    /// A directory kept in step.
    public struct Mirror: Sendable {
        public let directory: URL
        /// How many missing files wait for a person's word; not 0: the mirror rests.
        public let goneFiles: Int
        /// Why the last pass failed; `nil` after a pass without an error.
        public let problem: FerryError?
        /// Since when the mirror rests, in milliseconds since the Unix epoch.
        public let sinceMilliseconds: Int64?
    }

    /// The treatment of a file and a document with the same path and different bytes.
    public enum Meeting: String, Hashable, Sendable {
        /// Both are versions.
        case both
        /// The file's bytes are current, the document's in the past.
        case disk
        /// The document's bytes are current, the file's in the past.
        case documents
    }

    /// The treatment of missing files, where more are missing than anybody may have meant to delete.
    public enum GoneFiles: Hashable, Sendable {
        /// Nothing is done before somebody decides.
        case ask
        /// The files' documents are deleted.
        case delete
        /// The files are written again.
        case bringBack
    }

    /// Something in a directory without a document, or a document without a place in the directory.
    public struct Left: Hashable, Sendable {
        /// In the directory.
        public let path: String
        public let reason: String
    }

    /// The work done to bring a directory into step.
    public struct Summary: Hashable, Sendable {
        /// Documents and versions made of files.
        public let taken: Int
        /// Files and folders written.
        public let written: Int
        /// Moves, in the directory or of documents.
        public let moved: Int
        /// Removals, in the directory or of documents.
        public let removed: Int
        /// Missing files for which a person has to decide; not 0: nothing was done.
        public let goneFiles: Int
        /// Files in the middle of a program's write. A later pass takes the files.
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
        /// A pass did something, or left something else than the pass before.
        case passed(URL, Summary)
        /// The mirror rests, for a new reason.
        case rests(URL, FerryError)
        /// The system gives no more watches. Changes are found within a minute.
        case withoutWatches
    }

    private let mirrors: Mirrors
    private let watch: MirrorWatch
    private let streams = EventStreams<Event>()
    private let follower: Task<Void, Never>
    private let queue = DispatchQueue(label: "Ferry.DocumentMirrors", attributes: .concurrent)

    /// Uses a document store. The store's engine tells of changed documents. Nothing is watched before `start`.
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

    /// Keeps all mirrors in step from now on, on a separate thread.
    public func start() { watch.start() }

    /// Ends after the present pass. The mirrors stay, and go on with a new object's `start`.
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

    /// Makes a directory a mirror, and brings the directory into step. A mirror stays a mirror.
    /// - Parameters:
    ///   - meeting: the treatment of a file and a document with the same path and different bytes.
    ///   - adopting: true: also a directory with the marker of a foreign database, or a mirror without a marker.
    /// - Throws: `invalidArgument` for a directory around the database, in the container or in an existing mirror; `mirrorMissing`, `busy`
    ///   during a second process's work in the directory, `inputOutput`.
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
    /// - Throws: `nothingFound` for a directory without a mirror, `mirrorMissing` for a missing directory or marker, `busy`, `inputOutput`.
    @discardableResult
    public func sync(_ directory: URL, goneFiles: GoneFiles = .ask) async throws -> Summary {
        try await aside { mirrors in
            try Self.settle(mirrors, mirrors.mirror(in: directory.path), goneFiles)
        }
    }

    /// Ends a mirror. The files and the documents stay.
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
