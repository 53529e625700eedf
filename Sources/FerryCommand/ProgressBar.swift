import Dispatch
import Ferry
import Foundation
import Synchronization

#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

/// Shows the progress of long work on a line of standard error, if standard error is a terminal.
///
/// Appears after half a second, is drawn five times a second, whether there is news or not, and is wiped when the work
/// is done. Callable from any thread: a lock guards state and line.
final class ProgressBar: Sendable {
    /// Before this many milliseconds the work is not long.
    private static let patienceMilliseconds: Int64 = 500
    private static let intervalMilliseconds = 200

    private struct State {
        var estimate = ProgressEstimate()
        var isDrawn = false
        var isDone = false
    }

    private let state = Mutex(State())
    private let started: Int64
    private let style: Style

    private init(_ console: Console) {
        started = Self.now()
        style = console.errorStyle
    }

    /// Runs `body` with a handler for showing progress, or without a handler if nobody looks.
    static func during<Result>(_ console: Console, _ body: (ProgressHandler?) throws -> Result) rethrows -> Result {
        guard !console.isQuiet, !console.isJSON, Terminal.isPresent(STDERR_FILENO) else { return try body(nil) }
        let bar = ProgressBar(console)
        let timer = DispatchSource.makeTimerSource(queue: DispatchQueue(label: "ferry.progress"))
        timer.schedule(deadline: .now(), repeating: .milliseconds(Self.intervalMilliseconds))
        timer.setEventHandler { bar.draw() }
        timer.resume()
        defer {
            timer.cancel()
            bar.wipe()
        }
        return try body { bar.note($0) }
    }

    private func note(_ progress: SyncProgress) {
        let now = Self.now()
        state.withLock {
            $0.estimate.note(progress.phase, progress.completed, of: progress.total, atMilliseconds: now)
        }
    }

    private func draw() {
        let now = Self.now()
        if now - started < Self.patienceMilliseconds { return }
        state.withLock { state in
            if state.isDone { return }
            let line = state.estimate.line(width: Terminal.width(STDERR_FILENO), atMilliseconds: now)
            if line.isEmpty { return }
            state.isDrawn = true
            write("\r\u{1B}[K" + style.dim(line))
        }
    }

    private func wipe() {
        state.withLock { state in
            state.isDone = true
            if state.isDrawn { write("\r\u{1B}[K") }
        }
    }

    private func write(_ text: String) {
        // A missing bar is no loss.
        try? FileHandle.standardError.write(contentsOf: Data(text.utf8))
    }

    private static func now() -> Int64 { ReplicaEnvironment.live.clock.milliseconds() }
}

/// The bar's line and the phase's remaining time: a pure function of the reports and their times.
struct ProgressEstimate {
    private var phase: SyncProgress.Phase?
    private var phaseStarted: Int64 = 0
    private var firstCompleted = 0
    private var noted: Int64 = 0
    private var completed = 0
    private var total: Int?

    mutating func note(_ phase: SyncProgress.Phase, _ completed: Int, of total: Int?, atMilliseconds now: Int64) {
        if self.phase != phase {
            self.phase = phase
            phaseStarted = now
            firstCompleted = completed
        }
        self.completed = completed
        self.total = total
        noted = now
    }

    /// Seconds until the end of the phase, by the pace up to the last report. `nil` while too little is known, or if
    /// the phase takes longer.
    func secondsLeft(atMilliseconds now: Int64) -> Double? {
        guard let total, completed > firstCompleted, completed < total, noted > phaseStarted else { return nil }
        let rate = Double(completed - firstCompleted) / Double(noted - phaseStarted)
        let milliseconds = Double(total - completed) / rate - Double(now - noted)
        return milliseconds >= 500 ? milliseconds / 1000 : nil
    }

    /// `Publishing ████████░░░░░░░░ 52 % 8,200 of 15,607 changes 4 s left`; the time taken so far while the remaining
    /// time is unknown.
    func line(width: Int, atMilliseconds now: Int64) -> String {
        guard let phase else { return "" }
        let unit = phase.unit
        let soFar = "\((now - phaseStarted) / 1000) s"
        guard let total, total > 0, completed > 0 else {
            let amount = max(completed, total ?? 0)
            let text = amount > 0 ? "\(phase.title) \(Wording.count(amount, unit))" : phase.title
            return Self.fitted("\(text) …  \(soFar)", width)
        }
        let share = min(Double(completed) / Double(total), 1)
        var tail = "\(Int(share * 100)) %   \(Wording.grouped(completed)) of \(Wording.count(total, unit))"
        if let seconds = secondsLeft(atMilliseconds: now) {
            tail += "   \(Wording.duration(max(seconds.rounded(), 1))) left"
        }
        let length = min(24, width - phase.title.count - tail.count - 5)
        guard length >= 6 else { return Self.fitted("\(phase.title)  \(tail)", width) }
        let filled = Int(share * Double(length))
        let bar = String(repeating: "█", count: filled) + String(repeating: "░", count: length - filled)
        return "\(phase.title)  \(bar)  \(tail)"
    }

    private static func fitted(_ text: String, _ width: Int) -> String { String(text.prefix(max(width - 1, 0))) }
}

extension SyncProgress.Phase {
    var title: String {
        switch self {
        case .packing: "Packing"
        case .publishing: "Publishing"
        case .reading: "Reading"
        case .replaying: "Merging"
        case .checking: "Checking the file"
        case .comparing: "Comparing"
        case .examining: "Examining"
        case .mirroring: "Mirroring"
        }
    }

    /// A unit of the phase.
    var unit: String {
        switch self {
        case .packing, .publishing, .replaying, .checking: "change"
        case .reading: "changeset"
        case .comparing: "row"
        case .examining, .mirroring: "file"
        }
    }
}
