#if os(macOS)
import CoreServices
import Darwin
import Dispatch
import Foundation

/// Changes of directories by FSEvents, for `KernelEventSource`. **Untested:** written by the manual pages, and never compiled there.
///
/// FSEvents tells of whole trees, by paths without symbolic links. What lies deeper than a watched directory is left out here.
final class FolderEventStream: Sendable {
    private let onChange: @Sendable () -> Void
    private let queue = DispatchQueue(label: "Ferry.FolderEventStream")
    private let state = Locked(State())

    fileprivate struct State {
        var reportsAllNames = false
        /// What is of interest, by the directories' paths without symbolic links.
        var interests: [String: WatchInterest] = [:]
        /// Directories that were not there at the last try.
        var missing: Set<String> = []
        /// The running stream, as an address: a stream is no Sendable type.
        var stream: UInt?
    }

    /// How long the system may gather changes, in seconds.
    private static let latency = 0.01

    /// - Parameter onChange: called on a thread of this object's for each change of interest.
    init(onChange: @escaping @Sendable () -> Void) { self.onChange = onChange }

    var isIncomplete: Bool { state.withLock { !$0.missing.isEmpty } }

    /// Watches exactly these directories.
    /// - Returns: true if a missing directory has appeared.
    func watch(_ interests: [String: WatchInterest], reportsAllNames: Bool) -> Bool {
        var resolved: [String: WatchInterest] = [:]
        var missing: Set<String> = []
        for (path, interest) in interests {
            guard let real = realpath(path, nil) else {
                missing.insert(path)
                continue
            }
            defer { free(real) }
            let name = String(cString: real)
            resolved[name] = interest.union(resolved[name])
        }
        let (isOther, hasAppeared) = state.withLock { state in
            defer { (state.interests, state.missing, state.reportsAllNames) = (resolved, missing, reportsAllNames) }
            let hasAppeared = !state.missing.subtracting(missing).intersection(interests.keys).isEmpty
            return (Set(state.interests.keys) != Set(resolved.keys), hasAppeared)
        }
        if isOther {
            stop()
            if !resolved.isEmpty { start(resolved.keys.sorted()) }
        }
        return hasAppeared
    }

    private func start(_ directories: [String]) {
        // Unretained: `stop` ends the stream on its queue before this object goes.
        var context = FSEventStreamContext(
            version: 0, info: Unmanaged.passUnretained(self).toOpaque(), retain: nil, release: nil,
            copyDescription: nil)
        let flags =
            kFSEventStreamCreateFlagFileEvents | kFSEventStreamCreateFlagNoDefer | kFSEventStreamCreateFlagWatchRoot
            | kFSEventStreamCreateFlagUseCFTypes
        let stream = FSEventStreamCreate(
            kCFAllocatorDefault,
            { _, info, count, paths, flags, _ in
                guard let info else { return }
                let found = unsafeBitCast(paths, to: NSArray.self) as? [String] ?? []
                let flags = Array(UnsafeBufferPointer(start: flags, count: count))
                Unmanaged<FolderEventStream>.fromOpaque(info).takeUnretainedValue().note(found, flags)
            }, &context, directories as CFArray, FSEventStreamEventId(kFSEventStreamEventIdSinceNow), Self.latency,
            FSEventStreamCreateFlags(flags))
        guard let stream else { return }
        FSEventStreamSetDispatchQueue(stream, queue)
        guard FSEventStreamStart(stream) else {
            FSEventStreamInvalidate(stream)
            return FSEventStreamRelease(stream)
        }
        state.withLock { $0.stream = UInt(bitPattern: stream) }
    }

    /// Ends the stream. Nothing is reported after this call returns.
    func stop() {
        let address = state.withLock { state in
            defer { state.stream = nil }
            return state.stream
        }
        guard let address, let stream = FSEventStreamRef(bitPattern: address) else { return }
        FSEventStreamStop(stream)
        FSEventStreamInvalidate(stream)
        FSEventStreamRelease(stream)
        // A report under way ends before this returns.
        queue.sync {}
    }

    private func note(_ paths: [String], _ flags: [FSEventStreamEventFlags]) {
        let lost = FSEventStreamEventFlags(
            kFSEventStreamEventFlagMustScanSubDirs | kFSEventStreamEventFlagUserDropped
                | kFSEventStreamEventFlagKernelDropped | kFSEventStreamEventFlagRootChanged)
        let isOfInterest = state.withLock { state in
            zip(paths, flags).contains { path, flags in flags & lost != 0 || state.isInteresting(path) }
        }
        if isOfInterest { onChange() }
    }
}

extension FolderEventStream.State {
    fileprivate func isInteresting(_ path: String) -> Bool {
        if interests[path] != nil { return true }
        guard let slash = path.lastIndex(of: "/") else { return false }
        let name = path[path.index(after: slash)...]
        switch interests[slash == path.startIndex ? "/" : String(path[..<slash])] {
        case .names(let names): return names.contains(String(name))
        case .everything: return reportsAllNames || name.first != "." && name.first != "~"
        case nil: return false
        }
    }
}
#endif
