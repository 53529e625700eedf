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
    /// On the app's connection: true if the app has committed something.
    private let isDirty = Locked(true)
    /// True if the list is to be read whether anything was committed or not.
    private let isWanted = Locked(false)

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

    /// Reads the list again: a request that could not be read may be sound by now.
    func readAgain() {
        isWanted.withLock { $0 = true }
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
            let isSmall = index.keys.count <= LiveObjects.batchSize
            if isSmall, current?.hashes == nil { try lookUpObjects(index) }
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
        (error as? DatabaseError)?.isBusy ?? ((error as? FerryError)?.code == .busy)
    }

    private func readIfChanged() throws -> LiveIndex? {
        let bumps = list.bumps
        let reader = list.connection.reader
        var hasNews = isWanted.withLock { wanted in
            defer { wanted = false }
            return wanted
        }
        // Before the list is read: the next look finds commits in between.
        if !list.connection.files.isEmpty {
            let version = try reader.read { try Int.fetchOne($0, sql: "PRAGMA data_version") }
            hasNews = hasNews || version != dataVersion
            dataVersion = version
        }
        if !list.connection.isOwn {
            hasNews =
                isDirty.withLock { dirty in
                    defer { dirty = false }
                    return dirty
                } || hasNews
        }
        if !hasNews { return nil }
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

    /// Before the first delivery of a list of usual size. The first delivery of a large list does not wait for IDs.
    private func lookUpObjects(_ index: LiveIndex) throws {
        if index.objects.withLock({ $0.isEmpty }) { try list.objects?.fill(index) }
    }

    private func save() {
        guard let cache, let current, current.hashes != nil, saved !== current else { return }
        cache.save(current, list)
        saved = current
    }
}
