import FerryCore

/// Segments of a sealed container that were opened and verified, for a second reading of the same logs. A joining database reads all logs
/// for their schemas, then replays them; to open a segment takes longer than to read its file.
///
/// Each segment is for a single second reading, and goes with the reading. Segments beyond the capacity are opened twice.
package final class OpenedSegments: Sendable {
    typealias Opened = (content: [UInt8], epoch: EpochID?)

    private struct State {
        var segments: [String: Opened] = [:]
        var bytes = 0
        var isCollecting = true
    }

    /// The capacity in bytes. A first join has a bound of 128 MB for the whole process (Docs/Performance.md).
    private static let maximumBytes = 16 << 20

    private let state = Locked(State())

    package init() {}

    /// Keeps a segment for the second reading, if there is room.
    func keep(_ path: String, _ opened: Opened) {
        state.withLock { state in
            guard state.isCollecting, state.segments[path] == nil,
                state.bytes + opened.content.count <= Self.maximumBytes
            else { return }
            state.segments[path] = opened
            state.bytes += opened.content.count
        }
    }

    /// Hands out a segment for the second reading; `nil` if it is not here.
    func take(_ path: String) -> Opened? {
        state.withLock { state in
            if state.isCollecting { return nil }
            return state.segments.removeValue(forKey: path)
        }
    }

    /// Begins the second reading: nothing more is kept.
    package func beginSecondReading() { state.withLock { $0.isCollecting = false } }
}
