import FerryContainer
import FerryCore
import Foundation
import GRDB

/// Keeps a `LiveList` current, on a thread of its own: waits for a commit by anybody, reads the list anew and publishes
/// each difference.
///
/// `@unchecked Sendable` because only the thread touches mutable state, or the state lies behind a lock.
final class LiveWorker: @unchecked Sendable {
    /// How long a commit may stay unnoticed after a lost event, and without events.
    private static let (longPollMilliseconds, shortPollMilliseconds) = (2_000, 200)
    /// The journal changes a moment before the commit can be seen: the worker looks again after 1, 2, 4 … milliseconds.
    private static let longestGlanceMilliseconds = 256
    /// After a reading, this many times its duration passes before the next reading, so that a stream of commits keeps
    /// no core busy.
    private static let rest = 3.0

    private let list: LiveList
    private let cache: LiveIndexCache?
    private let watcher = ChangeWatcher()
    private let observation = Locked<AnyDatabaseCancellable?>(nil)
    private let isStopped = Locked(false)
    private let stopped = DispatchSemaphore(value: 0)
    /// For a database in memory: true if something was committed.
    private let isDirty = Locked(true)

    private var dataVersion: Int?
    private var current: LiveIndex?
    private var saved: LiveIndex?
    private var glanceMilliseconds: Int?

    init(_ list: LiveList, cache: LiveIndexCache?) {
        self.list = list
        self.cache = cache
    }

    /// - Parameter writer: where commits of this process are told, if the system tells no changes of files.
    func start(observing writer: (any DatabaseWriter)?) {
        watcher.setDirectories([], files: list.connection.files)
        if let writer, !list.connection.isOwn || !watcher.deliversEvents { observe(writer) }
        let thread = Thread { [self] in run() }
        thread.name = "Ferry.LiveResults"
        thread.start()
    }

    func stop() {
        let wasStopped = isStopped.withLock { stopped in
            defer { stopped = true }
            return stopped
        }
        if wasStopped { return }
        observation.withLock { $0 }?.cancel()
        stopped.signal()
        watcher.wake()
    }

    private func observe(_ writer: any DatabaseWriter) {
        let cancellable = DatabaseRegionObservation(tracking: .fullDatabase).start(in: writer) { _ in
        } onChange: { [weak self] _ in
            self?.isDirty.withLock { $0 = true }
            self?.watcher.wake()
        }
        observation.withLock { $0 = cancellable }
    }

    // MARK: The thread

    private func run() {
        if let cached = cache?.load(list) { publish(cached) }
        while !isStopped.withLock({ $0 }) {
            let start = ContinuousClock.now
            if refresh() {
                glanceMilliseconds = nil
                pause(start.duration(to: .now) * Self.rest)
                continue
            }
            let poll = watcher.deliversEvents ? Self.longPollMilliseconds : Self.shortPollMilliseconds
            switch watcher.wait(timeoutMilliseconds: glanceMilliseconds ?? poll) {
            case .changed, .woken: glanceMilliseconds = 1
            case .timedOut:
                glanceMilliseconds = glanceMilliseconds.flatMap {
                    $0 < Self.longestGlanceMilliseconds ? $0 * 2 : nil
                }
                if glanceMilliseconds == nil { save() }
            }
        }
        save()
        list.close()
    }

    private func pause(_ duration: Duration) {
        let milliseconds = Int(duration / .milliseconds(1))
        if milliseconds > 0, stopped.wait(timeout: .now() + .milliseconds(milliseconds)) == .success {
            stopped.signal()
        }
    }

    /// Reads the list if something was committed.
    /// - Returns: true if the list was read.
    private func refresh() -> Bool {
        do {
            guard let index = try readIfChanged() else { return false }
            if let current, current.hashes != nil, isSame(current, index) { return true }
            publish(index)
            try lookUpObjects(index)
        } catch {
            if Self.isBusy(error) {
                // The next look tries again.
                dataVersion = nil
                isDirty.withLock { $0 = true }
                glanceMilliseconds = glanceMilliseconds ?? 1
                return false
            }
            current = nil
            list.publish(error)
        }
        return true
    }

    private static func isBusy(_ error: any Error) -> Bool {
        guard let error = error as? DatabaseError else { return (error as? FerryError)?.code == .busy }
        return error.resultCode == .SQLITE_BUSY || error.resultCode == .SQLITE_LOCKED
    }

    private func readIfChanged() throws -> LiveIndex? {
        let bumps = list.bumps
        let reader = list.connection.reader
        if list.connection.isOwn {
            let version = try reader.read { try Int.fetchOne($0, sql: "PRAGMA data_version") }
            if version == dataVersion { return nil }
            // Before the list is read: the next look finds commits in between.
            dataVersion = version
        } else {
            let wasDirty = isDirty.withLock { dirty in
                defer { dirty = false }
                return dirty
            }
            if !wasDirty { return nil }
        }
        return try reader.read { [list] in try list.request.scan($0, list.sections, bumps: bumps) }
    }

    private func isSame(_ former: LiveIndex, _ index: LiveIndex) -> Bool {
        guard former.hasSamePlaces(as: index) else { return false }
        return index.keys.indices.allSatisfy { former.token(at: $0) == index.token(at: $0) }
    }

    private func publish(_ index: LiveIndex) {
        if let objects = list.objects, let current, current.hashes != nil {
            do {
                try objects.carry(from: current, to: index, LiveDifference(from: current, to: index))
            } catch {
                // Rows are told by their keys then.
                index.objects.withLock { $0 = [:] }
            }
        }
        current = index
        list.publish(index)
    }

    /// After the first delivery, which does not wait for IDs.
    private func lookUpObjects(_ index: LiveIndex) throws {
        if index.objects.withLock({ $0.isEmpty }) { try list.objects?.fill(index) }
    }

    private func save() {
        guard let cache, let current, current.hashes != nil, saved !== current else { return }
        cache.save(current, list)
        saved = current
    }
}
