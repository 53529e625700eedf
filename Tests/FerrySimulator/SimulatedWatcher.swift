import FerryContainer

/// Wakes a simulated `WatchLoop`, and provides the clock for its waits: each wait is a turn of the simulation.
///
/// `@unchecked Sendable` because a simulation runs on a single thread.
final class SimulatedWatcher: ChangeWatching, @unchecked Sendable {
    let deliversEvents: Bool
    private(set) var now = ContinuousClock.now
    /// Lets something happen during a wait of at most the given milliseconds; returns the wait's length and the reason
    /// of its end.
    var turn: (Int) -> (milliseconds: Int, reason: WakeReason) = { _ in (0, .woken) }

    init(deliversEvents: Bool) { self.deliversEvents = deliversEvents }

    func setDirectories(_ paths: [String], files: [String]) {}
    func wake() {}

    func wait(timeoutMilliseconds: Int) -> WakeReason {
        let (milliseconds, reason) = turn(timeoutMilliseconds)
        now = now.advanced(by: .milliseconds(milliseconds))
        return reason
    }
}
