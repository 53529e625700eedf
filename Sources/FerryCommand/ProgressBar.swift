#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif
import Ferry
import Foundation
import Synchronization

/// Shows where long work stands, on one line of standard error, when that is a terminal.
///
/// Appears after half a second, is drawn at most ten times a second, and is wiped when the work is done. Callable from
/// any thread: the state is behind a lock.
final class ProgressBar: Sendable {
    /// Before this many milliseconds the work is not long.
    private static let patienceMilliseconds: Int64 = 500
    private static let intervalMilliseconds: Int64 = 100

    private struct State {
        var estimate: ProgressEstimate
        var lastDrawn: Int64 = 0
        var isDrawn = false
    }

    private let state: Mutex<State>
    private let started: Int64
    private let style: Style

    private init(_ console: Console) {
        started = Self.now()
        style = console.errorStyle
        state = Mutex(State(estimate: ProgressEstimate()))
    }

    /// Runs `body` with a handler that shows its progress, or none where nobody looks.
    static func during<Result>(_ console: Console, _ body: (ProgressHandler?) throws -> Result) rethrows -> Result {
        guard !console.isQuiet, !console.isJSON, Terminal.isPresent(STDERR_FILENO) else { return try body(nil) }
        let bar = ProgressBar(console)
        defer { bar.wipe() }
        return try body { bar.show($0) }
    }

    private func show(_ progress: FerryProgress) {
        let now = Self.now()
        let text: String? = state.withLock { state in
            state.estimate.note(progress, atMilliseconds: now)
            guard now - started >= Self.patienceMilliseconds, now - state.lastDrawn >= Self.intervalMilliseconds else {
                return nil
            }
            state.lastDrawn = now
            state.isDrawn = true
            return state.estimate.line(width: Terminal.width(STDERR_FILENO), atMilliseconds: now)
        }
        if let text { write("\r\u{1B}[K" + text) }
    }

    private func wipe() {
        if state.withLock({ $0.isDrawn }) { write("\r\u{1B}[K") }
    }

    private func write(_ text: String) {
        // A bar that cannot be drawn is no loss.
        try? FileHandle.standardError.write(contentsOf: Data(text.utf8))
    }

    private static func now() -> Int64 { Environment.live.clock.milliseconds() }
}

/// The bar's line, and how long the phase will still take: a pure function of what was reported when.
struct ProgressEstimate {
    private var phase: FerryProgress.Phase?
    private var phaseStarted: Int64 = 0
    private var firstCompleted = 0
    private var completed = 0
    private var total: Int?

    mutating func note(_ progress: FerryProgress, atMilliseconds now: Int64) {
        if phase != progress.phase {
            phase = progress.phase
            phaseStarted = now
            firstCompleted = progress.completed
        }
        completed = progress.completed
        total = progress.total
    }

    /// Seconds until the phase is done; `nil` while too little is known.
    func secondsLeft(atMilliseconds now: Int64) -> Double? {
        guard let total, completed > firstCompleted, completed < total, now > phaseStarted else { return nil }
        let rate = Double(completed - firstCompleted) / Double(now - phaseStarted)
        return Double(total - completed) / rate / 1000
    }

    /// `Publishing  ████████░░░░░░░░  52 %   8,200 of 15,607 changes   4 s left`
    func line(width: Int, atMilliseconds now: Int64) -> String {
        guard let phase else { return "" }
        let unit = phase == .reading ? "changeset" : "change"
        guard let total, total > 0 else {
            let amount = completed > 0 ? Wording.count(completed, unit) : "…"
            return Self.fitted("\(phase.title)  \(amount)", width)
        }
        let share = min(Double(completed) / Double(total), 1)
        var tail = "\(Int(share * 100)) %   \(Wording.grouped(completed)) of \(Wording.count(total, unit))"
        if let seconds = secondsLeft(atMilliseconds: now) { tail += "   \(Wording.duration(seconds)) left" }
        let length = min(24, width - phase.title.count - tail.count - 5)
        guard length >= 6 else { return Self.fitted("\(phase.title)  \(tail)", width) }
        let filled = Int(share * Double(length))
        let bar = String(repeating: "█", count: filled) + String(repeating: "░", count: length - filled)
        return "\(phase.title)  \(bar)  \(tail)"
    }

    private static func fitted(_ text: String, _ width: Int) -> String { String(text.prefix(max(width - 1, 0))) }
}

extension FerryProgress.Phase {
    var title: String {
        switch self {
        case .packing: "Packing"
        case .publishing: "Publishing"
        case .reading: "Reading"
        case .replaying: "Merging"
        }
    }
}
