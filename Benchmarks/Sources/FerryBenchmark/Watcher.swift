import FerryContainer
import FerryCore
import FerryEngine
import Foundation

/// One `WatchLoop` on a thread of its own, as `ferry watch` runs one.
final class Watcher: Sendable {
    private let loop: WatchLoop
    private let state: State
    private let end: DispatchSemaphore

    /// What the loop's thread writes; it is read when the thread has ended.
    private final class State: @unchecked Sendable {  // because the semaphores order all accesses
        var hasPassed = false
        var processorAtFirstPass = 0.0
        var processorSeconds = 0.0
        var failure: FerryError?
    }

    /// Starts, and returns once the first pass is made.
    init(_ device: Device, _ configuration: WatchConfiguration = WatchConfiguration()) {
        let state = State()
        let (firstPass, end) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        (self.state, self.end) = (state, end)
        let loop = WatchLoop(device.replica, configuration: configuration) { event in
            switch event {
            case .synced where !state.hasPassed:
                state.hasPassed = true
                state.processorAtFirstPass = ProcessUsage.threadSeconds()
                firstPass.signal()
            case .failed(let failure):
                state.failure = failure
                if !state.hasPassed { firstPass.signal() }
            case .synced, .started, .following, .leading, .databaseChanged, .reopened, .stopped: break
            }
        }
        self.loop = loop
        Thread {
            loop.run()
            state.processorSeconds = ProcessUsage.threadSeconds() - state.processorAtFirstPass
            end.signal()
        }.start()
        firstPass.wait()
    }

    /// Ends watching.
    /// - Returns: the seconds that its thread has worked since the first pass.
    func stop() throws -> Double {
        loop.stop()
        end.wait()
        if let failure = state.failure { throw failure }
        return state.processorSeconds
    }
}
