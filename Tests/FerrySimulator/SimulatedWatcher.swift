import FerryContainer

/// What wakes a simulated `WatchLoop`, and the clock by which it waits: each wait is a turn of the simulation.
///
/// `@unchecked Sendable` because a simulation runs on one thread.
final class SimulatedWatcher: ChangeWatching, @unchecked Sendable {
    let deliversEvents: Bool
    private(set) var now = ContinuousClock.now
    /// Lets something happen during a wait of so many milliseconds at most; says after how many it ends, and why.
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
