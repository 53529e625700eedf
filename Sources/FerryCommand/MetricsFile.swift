import Dispatch
import Ferry
import FerryContainer
import Foundation
import Synchronization

/// The file of `ferry watch --metrics`. The file is written anew after every event and every 30 seconds, so the file's
/// age tells whether the watch still runs. Readers see a whole file at any time: the file is written under a temporary
/// name and renamed.
///
/// A lock guards the figures; events come from several threads.
final class MetricsFile: Sendable {
    private static let intervalSeconds = 30

    private struct State {
        var databases: [WatchMetrics] = []
        /// A failure to write is told once, until a write succeeds.
        var isFailing = false
    }

    private let path: String
    private let temporary: String
    private let console: Console
    private let files = PosixFileSystem()
    private let state = Mutex(State())

    /// - Throws: `inputOutput` where the file cannot be written.
    init(path: String, console: Console) throws {
        self.path = path
        // The node exporter passes over names without .prom at the end.
        temporary = path + ".tmp-\(ProcessInfo.processInfo.processIdentifier)"
        self.console = console
        try state.withLock { try write($0.databases) }
    }

    /// Records the events of a database, and reads the database's figures.
    struct Recorder: Sendable {
        fileprivate let file: MetricsFile
        fileprivate let place: Int
        /// `nil` before the database has come.
        fileprivate let store: Store?

        func record(_ event: SyncEvent) { file.record(event, place, store) }

        /// Goes on for the same database, opened anew.
        func following(_ store: Store) -> Recorder { Recorder(file: file, place: place, store: store) }
    }

    func recorder(of database: String, _ store: Store?) -> Recorder {
        let place = state.withLock { state in
            state.databases.append(WatchMetrics(database: database))
            return state.databases.count - 1
        }
        return Recorder(file: self, place: place, store: store)
    }

    /// Begins to write now and then.
    /// - Returns: the timer; cancel the timer in the end.
    func writeRepeatedly() -> any DispatchSourceTimer {
        let timer = DispatchSource.makeTimerSource(queue: DispatchQueue(label: "ferry.metrics"))
        timer.schedule(deadline: .now(), repeating: .seconds(Self.intervalSeconds))
        timer.setEventHandler { [weak self] in self?.writeOrWarn() }
        timer.resume()
        return timer
    }

    private func record(_ event: SyncEvent, _ place: Int, _ store: Store?) {
        // On the loop's own thread, where nobody else uses the store.
        let reading = store.flatMap { try? Self.read($0) }  // a database that is gone or busy keeps the last figures
        let now = ReplicaEnvironment.live.clock.milliseconds()
        state.withLock { state in
            state.databases[place].record(event, atMilliseconds: now)
            if let reading { state.databases[place].reading = reading }
        }
        writeOrWarn()
    }

    private static func read(_ store: Store) throws -> WatchMetrics.Reading {
        let own = try store.identity()?.device
        return WatchMetrics.Reading(
            unpublished: try store.unpublishedCount(), conflicts: try store.conflictCount(ConflictFilter()),
            peers: try store.reading().devices.filter { $0.id != own && $0.retiredMilliseconds == nil }.map { device in
                .init(
                    id: device.id.description, name: device.name, heardMilliseconds: device.heardMilliseconds,
                    isWaiting: device.waiting != nil)
            })
    }

    private func writeOrWarn() {
        let failure: FerryError? = state.withLock { state in
            do {
                try write(state.databases)
                state.isFailing = false
                return nil
            } catch {
                defer { state.isFailing = true }
                return state.isFailing ? nil : FerryError(from: error)
            }
        }
        if let failure { console.warn("The metrics are not written: \(failure.message)") }
    }

    private func write(_ databases: [WatchMetrics]) throws {
        let text = MetricsText.of(databases, version: FerryVersion.current)
        // Removes the leftover of a killed process with the same number.
        _ = try files.removeFile(at: temporary)
        try files.write(Array(text.utf8), toNewFileAt: temporary)
        try files.rename(temporary, to: path)
    }
}
