import FerryContainer
import FerryCore
import Foundation
import GRDB

/// A list that stays current, without the type of its records: the newest index, and the readers that wait for the next
/// index.
final class LiveList: Sendable {
    /// The newest index with its context.
    private struct State {
        var index: LiveIndex?
        var failure: (any Error)?
        /// Grows with every index and every failure.
        var version = 0
        var isClosed = false
        var waiters: [Int: CheckedContinuation<Void, Never>] = [:]
        var nextWaiter = 0
        var bumps: [LiveKey: Int] = [:]
    }

    /// The news for a reader of deliveries.
    enum News {
        case index(LiveIndex, version: Int)
        case failure(any Error, version: Int)
        case closed
        case nothing
    }

    let request: LiveRequest
    let sections: LiveSections
    let objects: LiveObjects?
    let connection: LiveConnection
    private let state = Locked(State())

    init(_ request: LiveRequest, _ sections: LiveSections, _ connection: LiveConnection, objects: LiveObjects?) {
        self.request = request
        self.sections = sections
        self.connection = connection
        self.objects = objects
    }

    var index: LiveIndex? { state.withLock { $0.index } }

    /// The version of the failure to read the list; `nil` if the last reading succeeded.
    var failedVersion: Int? { state.withLock { $0.failure == nil ? nil : $0.version } }

    /// The news after a version.
    func news(after version: Int) -> News {
        state.withLock { state in
            if state.version > version {
                if let failure = state.failure { return .failure(failure, version: state.version) }
                if let index = state.index { return .index(index, version: state.version) }
            }
            return state.isClosed ? .closed : .nothing
        }
    }

    /// Records that a row's content may differ from its hash: the next index reports the row as updated.
    func suspect(_ key: LiveKey) { state.withLock { $0.bumps[key, default: 0] += 1 } }

    var bumps: [LiveKey: Int] { state.withLock { $0.bumps } }

    // MARK: Publishing

    func publish(_ index: LiveIndex) {
        tell { state in
            state.index = index
            state.failure = nil
            state.version += 1
        }
    }

    func publish(_ failure: any Error) {
        tell { state in
            state.failure = failure
            state.version += 1
        }
    }

    /// There will be no further index.
    func close() { tell { $0.isClosed = true } }

    private func tell(_ change: (inout State) -> Void) {
        let waiters = state.withLock { state in
            change(&state)
            defer { state.waiters = [:] }
            return state.waiters.values
        }
        for waiter in waiters { waiter.resume() }
    }

    // MARK: Waiting

    /// Waits until there is something after a version, the list is closed, or the task is cancelled.
    func wait(after version: Int) async {
        let number = state.withLock { state in
            state.nextWaiter += 1
            return state.nextWaiter
        }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isOver = state.withLock { state in
                    if state.version > version || state.isClosed || Task.isCancelled { return true }
                    state.waiters[number] = continuation
                    return false
                }
                if isOver { continuation.resume() }
            }
        } onCancel: {
            state.withLock { $0.waiters.removeValue(forKey: number) }?.resume()
        }
    }
}

/// The connections of a list: two of its own for a file with a write-ahead log, and otherwise the app's.
///
/// With a rollback journal a commit waits for all readers, or fails. On the app's own connection the readings come between the app's writes.
struct LiveConnection: Sendable {
    /// How long a reading waits for another program, where the app's configuration does not wait at all.
    private static let busySeconds = 10.0

    /// Reads the whole list. SQLite reports the commits of all other connections here.
    let reader: any DatabaseReader
    /// Fetches pages, so that no page waits for a reading of the whole list.
    let pages: any DatabaseReader
    /// The files whose changes mean commits; empty for a database in memory.
    let files: [String]
    /// True if the connections are the list's own: then SQLite tells the app's commits, too.
    let isOwn: Bool

    /// - Throws: errors of GRDB if the database cannot be opened again.
    init(_ reader: any DatabaseReader) throws {
        let path = reader.path
        if path.isEmpty || path == ":memory:" || path.hasPrefix("file:") {
            (self.reader, pages, files, isOwn) = (reader, reader, [], false)
            return
        }
        // SQLite's journals lie beside the file itself, not beside a link to the file.
        let file = URL(fileURLWithPath: path).resolvingSymlinksInPath().path
        files = [file, file + "-wal", file + "-journal"]
        guard try Self.hasWriteAheadLog(reader) else {
            (self.reader, pages, isOwn) = (reader, reader, false)
            return
        }
        var configuration = reader.configuration
        configuration.readonly = true
        configuration.label = "Ferry.LiveResults"
        if case .immediateError = configuration.busyMode { configuration.busyMode = .timeout(Self.busySeconds) }
        self.reader = try DatabaseQueue(path: path, configuration: configuration)
        pages = try DatabaseQueue(path: path, configuration: configuration)
        isOwn = true
    }

    private static func hasWriteAheadLog(_ reader: any DatabaseReader) throws -> Bool {
        do {
            return try reader.unsafeReentrantRead { try String.fetchOne($0, sql: "PRAGMA journal_mode") } == "wal"
        } catch let error as DatabaseError where error.isBusy {
            // With a write-ahead log nobody keeps readers out.
            return false
        }
    }

    /// Reads pages, and waits while another program keeps the database locked.
    func readPages<Result: Sendable>(_ body: @escaping @Sendable (Database) throws -> Result) async throws -> Result {
        let end = ContinuousClock.now + .seconds(Self.busySeconds)
        while true {
            do {
                return try await pages.read(body)
            } catch let error as DatabaseError where error.isBusy && ContinuousClock.now < end {
                try await Task.sleep(for: .milliseconds(5))
            }
        }
    }
}

extension DatabaseError {
    /// True while another connection keeps the database locked.
    var isBusy: Bool { resultCode == .SQLITE_BUSY || resultCode == .SQLITE_LOCKED }
}
