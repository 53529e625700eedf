import FerryCore

/// A clock that stands still until a test moves it; what triggers noted happened at its time too.
final class SetClock: WallClock, @unchecked Sendable {
    var now: Int64
    /// How far apart the notes of one flush are.
    var captureStep: Int64 = 0

    init(now: Int64) { self.now = now }

    func milliseconds() -> Int64 { now }

    func milliseconds(captured: Int64) -> Int64 {
        now += captureStep
        return now
    }
}
