import FerryContainer
import FerryCore
import FerryDocuments
import FerryEngine
import FerryStore
import Foundation

/// News from a `MirrorWatch`.
package enum MirrorEvent: Sendable {
    /// A pass did something, or left something else than the pass before.
    case passed(MirrorRecord, MirrorReport)
    /// A mirror rests, for a reason new since the pass before.
    case failed(MirrorRecord, FerryError)
    /// The system has no more watches: a look every minute finds changes in so many folders.
    case withoutWatches(folders: Int)
}

/// Keeps the mirrors of a database in step while running. Looks where the system tells of a change, and every ten minutes at everything.
/// Looks again soon while somebody writes.
///
/// Works on a separate thread, beside the loop of syncs. `databaseChanged` tells of a possible change of documents.
package final class MirrorWatch: Sendable {
    /// How long changes are gathered. Then the time until the next look: while somebody writes, while bytes are still to come, while the
    /// system gives no watches or something is unreadable (nobody tells of new rights), and otherwise. In milliseconds.
    private static let (gather, soon, missing, withoutWatches, rest) = (200, 400, 5_000, 60_000, 600_000)

    private let mirrors: Mirrors
    private let watcher = ChangeWatcher(reportsAllNames: true)
    private let onEvent: @Sendable (MirrorEvent) -> Void
    private let state = Locked(State())

    private struct State {
        var isStarted = false
        var isStopped = false
    }

    /// The findings of the last round. Belongs to the watch's thread.
    private struct Memory {
        var documents: [Int64] = []
        var folders: Set<String> = []
        var isWaiting = false
        var isMissing = false
        var hasStuck = false
        var isWithoutWatches = false
        /// True if the system's limit of watches is reached.
        var lacksWatches = false
        var told: [MirrorID: String] = [:]
    }

    package init(_ replica: Replica, onEvent: @escaping @Sendable (MirrorEvent) -> Void) {
        mirrors = Mirrors(replica)
        self.onEvent = onEvent
    }

    /// Begins, on a separate thread. Further calls have no effect.
    package func start() {
        let isFirst = state.withLock { state in
            defer { state.isStarted = true }
            return !state.isStarted && !state.isStopped
        }
        guard isFirst else { return }
        let thread = Thread { [self] in run() }
        thread.name = "Ferry.MirrorWatch"
        thread.stackSize = 8 << 20
        thread.start()
    }

    /// Ends the watch after the present pass. Does not wait for the end.
    package func stop() {
        state.withLock { $0.isStopped = true }
        watcher.wake()
    }

    /// Says that somebody wrote to the database.
    package func databaseChanged() { watcher.wake() }

    private var hasToStop: Bool { state.withLock { $0.isStopped } }

    private func run() {
        var memory = Memory()
        while !hasToStop {
            round(&memory)
            waitForNews(&memory)
        }
    }

    private func waitForNews(_ memory: inout Memory) {
        let timeout =
            memory.isWaiting
            ? Self.soon
            : memory.isMissing
                ? Self.missing : memory.isWithoutWatches || memory.hasStuck ? Self.withoutWatches : Self.rest
        let end = watcher.now + .milliseconds(timeout)
        while !hasToStop {
            let (seconds, attoseconds) = watcher.now.duration(to: end).components
            let remaining = Int(seconds) * 1000 + Int(attoseconds / 1_000_000_000_000_000)
            if remaining <= 0 { return }
            switch watcher.wait(timeoutMilliseconds: remaining) {
            case .timedOut: return
            case .woken:
                // The next round looks at a database that is unreadable now, and says why.
                guard let present = try? mirrors.documentsFingerprint(), present == memory.documents else { return }
            case .changed:
                _ = watcher.wait(timeoutMilliseconds: Self.gather)
                return
            }
        }
    }

    /// Brings all mirrors into step. New folders are watched, and then looked at.
    private func round(_ memory: inout Memory) {
        for _ in 0..<3 {
            do {
                memory.documents = try mirrors.documentsFingerprint()
                let folders = try passes(&memory)
                watcher.setDirectories(folders.sorted())
                tellWatches(&memory)
                let isNew = !folders.isSubset(of: memory.folders)
                memory.folders = folders
                if !isNew || hasToStop { return }
            } catch {
                // The loop of syncs tells of an unusable database.
                memory.isWaiting = true
                return
            }
        }
    }

    private func passes(_ memory: inout Memory) throws -> Set<String> {
        var folders: Set<String> = []
        (memory.isWaiting, memory.isMissing, memory.hasStuck) = (false, false, false)
        for mirror in try mirrors.list() where !hasToStop {
            // The directory may come back.
            folders.insert(mirror.directory)
            do {
                guard let report = try mirrors.pass(mirror) else {
                    memory.isWaiting = true
                    continue
                }
                folders.formUnion(report.folders.map { mirror.directory + "/" + $0.text })
                if report.waiting > 0 { memory.isWaiting = true }
                if report.missing > 0 { memory.isMissing = true }
                if !report.stuck.isEmpty { memory.hasStuck = true }
                tell(
                    .passed(mirror, report), "\(report.held) \(report.blocked) \(report.left) \(report.conflicts)",
                    report.hasNews,
                    &memory)
            } catch let error as FerryError {
                tell(.failed(mirror, error), error.message, false, &memory)
            }
        }
        return folders
    }

    private func tell(_ event: MirrorEvent, _ text: String, _ isNews: Bool, _ memory: inout Memory) {
        let mirror =
            switch event {
            case .passed(let mirror, _), .failed(let mirror, _): mirror.id
            case .withoutWatches: MirrorID(high: 0, low: 0)
            }
        if isNews || memory.told[mirror] != text { onEvent(event) }
        memory.told[mirror] = text
    }

    /// A folder that is away has no watch either, and may come back.
    private func tellWatches(_ memory: inout Memory) {
        let count = watcher.unwatchedCount
        if count > 0, !memory.lacksWatches { onEvent(.withoutWatches(folders: count)) }
        memory.lacksWatches = count > 0
        memory.isWithoutWatches = watcher.isIncomplete || !watcher.deliversEvents
    }
}

extension Mirrors {
    /// Numbers that change with the documents, and with the contents on this device.
    func documentsFingerprint() throws -> [Int64] {
        guard try replica.store.hasMirrorTables() else { return [] }
        return try replica.store.read { connection in
            try DocumentTable(connection).fingerprint() + MirrorTable(connection).fingerprint()
        }
    }
}
