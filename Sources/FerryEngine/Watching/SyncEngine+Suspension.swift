#if os(iOS) || os(tvOS) || os(visionOS)
import Dispatch
import Foundation

extension SyncEngine {
    /// Stops watching before the system suspends the app, and asks the system to wait until a pass under way has ended. Call it when the
    /// app goes into the background, and `start` when it comes back.
    ///
    /// The system ends an app that is suspended while it holds a lock of a file in a folder shared with other apps. A watch holds one such
    /// lock all the time, a pass holds another one and SQLite's; all are free when a pass has ended. Where the system cannot wait any
    /// longer, requests to a storage are ended, and the pass fails and is made again later. **Untested:** written by the manual pages, and
    /// never compiled on these systems.
    public func stopBeforeSuspension() {
        ProcessInfo.processInfo.performExpiringActivity(withReason: "A sync ends") { [self] isExpired in
            if isExpired { return replica.interruptRequests() }
            let ended = DispatchSemaphore(value: 0)
            Task.detached {
                await self.stop()
                ended.signal()
            }
            ended.wait()
        }
    }
}
#endif
