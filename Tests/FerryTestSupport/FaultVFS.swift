import CFerryFaultVFS
import Foundation

/// Faults of SQLite's files below one folder: calls that fail, a process that dies at one, and the power that goes.
///
/// The first one makes the faulty VFS the default of the whole process; databases elsewhere go through it unchanged.
/// Close what is open below the folder before `recover`, and before the last reference goes.
public final class FaultVFS: Sendable {
    /// What fails.
    public enum Fault: String, CaseIterable, Sendable {
        /// Writes find the disk full.
        case full
        /// Writes, truncations and removals fail.
        case write
        /// Synchronizations fail.
        case synchronize
        /// Reads fail.
        case read
        /// Locks are held by somebody else.
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

    /// What a loss of power takes away of that which was not synchronized.
    public enum Loss: Equatable, Sendable {
        /// Nothing: the process died, the computer did not.
        case nothing
        case everything
        /// Each sector of 512 bytes, each length and each name by itself.
        case random(seed: UInt64)
    }

    /// A file was still open, or the file system refused.
    public struct Refusal: Error {
        /// How many files were open.
        public var openFiles: Int
    }

    /// SQLite refused the VFS.
    public struct NotRegistered: Error {
        public var code: Int32
    }

    private let prefix: String

    /// Watches what is below a folder that exists.
    public init(folder: String) throws {
        let code = ferry_fault_register()
        guard code == 0 else { throw NotRegistered(code: code) }
        // SQLite resolves links, and so must the prefix.
        prefix = URL(fileURLWithPath: folder).resolvingSymlinksInPath().path + "/"
        ferry_fault_watch(prefix)
    }

    deinit { ferry_fault_forget(prefix) }

    /// Makes the call number `call` from now on fail, counted from 1, and those of its kind after it up to `times`.
    public func arm(_ fault: Fault, at call: Int, times: Int = 1) {
        ferry_fault_arm(prefix, fault.kind, Int64(call), Int64(times))
    }

    /// Forgets a fault that has not come about or not ended; a crash stays.
    public func disarm() { ferry_fault_disarm(prefix) }

    /// Ends a crash, or cuts the power at any other time. All files have to be closed.
    public func recover(losing loss: Loss = .nothing) throws {
        let result =
            switch loss {
            case .nothing: ferry_fault_recover(prefix, FERRY_LOSS_NOTHING, 0)
            case .everything: ferry_fault_recover(prefix, FERRY_LOSS_EVERYTHING, 0)
            case .random(let seed): ferry_fault_recover(prefix, FERRY_LOSS_RANDOM, seed)
            }
        guard result == 0 else { throw Refusal(openFiles: Int(result)) }
    }

    /// Forgets counts, faults and what is not synchronized, for files that are put back by other means.
    public func begin() throws {
        try recover()
        ferry_fault_forget(prefix)
        ferry_fault_watch(prefix)
    }

    /// Sets what SQLite takes for the time, in the whole process, in milliseconds since the Unix epoch; `nil`: the computer's
    /// clock.
    public static func setTime(milliseconds: Int64?) { ferry_fault_set_time(milliseconds ?? 0) }

    /// Takes all that is there for synchronized, as after somebody waited for it, and begins to count anew. All files have to
    /// be closed.
    public func takeAsSynchronized() {
        ferry_fault_forget(prefix)
        ferry_fault_watch(prefix)
    }

    /// How many calls of those that a fault counts there were.
    public func count(_ fault: Fault) -> Int { Int(ferry_fault_count(prefix, fault.kind)) }

    /// How many calls were made to fail, without those after a crash.
    public var injected: Int { Int(ferry_fault_injected(prefix)) }

    /// Whether the process is dead there.
    public var isCrashed: Bool { ferry_fault_is_crashed(prefix) }
}
