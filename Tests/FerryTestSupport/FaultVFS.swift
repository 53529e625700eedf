import CFerryFaultVFS
import Foundation

/// Injects faults into SQLite's files below a folder: failing calls, a dying process, and a loss of power.
///
/// The first instance makes the faulty VFS the default of the whole process; databases elsewhere pass through
/// unchanged. Close everything open below the folder before `recover`, and before releasing the last reference.
public final class FaultVFS: Sendable {
    /// A kind of failing call.
    public enum Fault: String, CaseIterable, Sendable {
        /// Writes find the disk full.
        case full
        /// Writes, truncations and removals fail.
        case write
        /// Synchronizations fail.
        case synchronize
        /// Reads fail.
        case read
        /// A foreign process holds the locks.
        case busy
        /// The process dies: nothing reaches the disk any more, and everything fails until `recover`.
        case crash

        var kind: ferry_fault_kind {
            switch self {
            case .full: FERRY_FAULT_FULL
            case .write: FERRY_FAULT_WRITE
            case .synchronize: FERRY_FAULT_SYNC
            case .read: FERRY_FAULT_READ
            case .busy: FERRY_FAULT_BUSY
            case .crash: FERRY_FAULT_CRASH
            }
        }
    }

    /// The unsynchronized content that a loss of power removes.
    public enum Loss: Equatable, Sendable {
        /// Nothing: the process died, the computer did not.
        case nothing
        case everything
        /// Each sector of 512 bytes, each length and each name is lost or kept independently.
        case random(seed: UInt64)
    }

    /// A file was still open, or the file system refused.
    public struct Refusal: Error {
        /// The number of open files.
        public var openFiles: Int
    }

    /// SQLite refused the VFS.
    public struct NotRegistered: Error {
        public var code: Int32
    }

    private let prefix: String

    /// Watches the files below an existing folder.
    public init(folder: String) throws {
        let code = ferry_fault_register()
        guard code == 0 else { throw NotRegistered(code: code) }
        // SQLite resolves links, and so must the prefix.
        prefix = URL(fileURLWithPath: folder).resolvingSymlinksInPath().path + "/"
        ferry_fault_watch(prefix)
    }

    deinit { ferry_fault_forget(prefix) }

    /// Makes the call number `call` from now on fail, counted from 1, and the following calls of this kind, `times`
    /// calls in all.
    public func arm(_ fault: Fault, at call: Int, times: Int = 1) {
        ferry_fault_arm(prefix, fault.kind, Int64(call), Int64(times))
    }

    /// Removes a pending or present fault; a crash stays.
    public func disarm() { ferry_fault_disarm(prefix) }

    /// Ends a crash, or cuts the power without a crash. All files must be closed.
    public func recover(losing loss: Loss = .nothing) throws {
        let result =
            switch loss {
            case .nothing: ferry_fault_recover(prefix, FERRY_LOSS_NOTHING, 0)
            case .everything: ferry_fault_recover(prefix, FERRY_LOSS_EVERYTHING, 0)
            case .random(let seed): ferry_fault_recover(prefix, FERRY_LOSS_RANDOM, seed)
            }
        guard result == 0 else { throw Refusal(openFiles: Int(result)) }
    }

    /// Resets counts, faults and unsynchronized content, for files restored by other means.
    public func begin() throws {
        try recover()
        ferry_fault_forget(prefix)
        ferry_fault_watch(prefix)
    }

    /// Sets SQLite's time in the whole process, in milliseconds since the Unix epoch; `nil`: the computer's clock.
    public static func setTime(milliseconds: Int64?) { ferry_fault_set_time(milliseconds ?? 0) }

    /// Treats all content as synchronized, as after waiting for the disk, and starts counting anew. All files must be
    /// closed.
    public func takeAsSynchronized() {
        ferry_fault_forget(prefix)
        ferry_fault_watch(prefix)
    }

    /// The number of calls of a fault's kind.
    public func count(_ fault: Fault) -> Int { Int(ferry_fault_count(prefix, fault.kind)) }

    /// The number of calls made to fail, without calls after a crash.
    public var injected: Int { Int(ferry_fault_injected(prefix)) }

    /// True if the process is dead for the folder.
    public var isCrashed: Bool { ferry_fault_is_crashed(prefix) }
}
