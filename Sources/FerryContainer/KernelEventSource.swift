#if canImport(Darwin)
import Darwin
import Foundation

/// Changes on Apple's systems: kqueue(2) for directories and journals, and on macOS FSEvents for directories. **Untested:** written by
/// the manual pages, and never compiled on these systems. Polling finds whatever this source misses.
///
/// A directory's descriptor tells that a name came, went or was replaced, and not which: each such change is of interest. On macOS
/// FSEvents watches directories without descriptors, of which a process there has few (`FolderEventStream`).
///
/// Of single files only journals get a descriptor of their own: closing any descriptor of a database's file would drop the locks that
/// SQLite holds on the file in this process (POSIX, fcntl). Journals have no locks. FSEvents would not do for them: a write is told when
/// the file is closed, and SQLite keeps its journals open.
final class KernelEventSource: ChangeEventSource {
    /// The kernel's queue, which poll(2) finds readable.
    let descriptor: Int32
    private let reportsAllNames: Bool
    private let state = Locked(Watches())
    #if os(macOS)
    private let folders: FolderEventStream
    #endif

    fileprivate struct Watches {
        /// The descriptors of watched paths, and the paths by descriptor.
        var watches: [String: Int32] = [:]
        var paths: [Int32: String] = [:]
        /// Directories that could not be watched at the last try, and journals that are not there.
        var missing: Set<String> = []
    }

    /// A process has 256 descriptors where nobody asked for more, and needs most of them otherwise. What is beyond is polled.
    private static let maximumWatches = 64
    /// The number of the event by which FSEvents' thread wakes the queue.
    private static let folderEvent: UInt = 1
    private static let journalSuffixes = ["-wal", "-journal"]

    /// `nil` where the system has no descriptors left.
    init?(reportsAllNames: Bool = false) {
        self.reportsAllNames = reportsAllNames
        let queue = kqueue()
        if queue < 0 { return nil }
        descriptor = queue
        var event = kevent(
            ident: Self.folderEvent, filter: Int16(EVFILT_USER), flags: UInt16(EV_ADD | EV_CLEAR), fflags: 0, data: 0,
            udata: nil)
        _ = kevent(queue, &event, 1, nil, 0, nil)
        #if os(macOS)
        folders = FolderEventStream {
            var event = kevent(
                ident: Self.folderEvent, filter: Int16(EVFILT_USER), flags: 0, fflags: UInt32(NOTE_TRIGGER), data: 0,
                udata: nil)
            _ = kevent(queue, &event, 1, nil, 0, nil)
        }
        #endif
    }

    deinit {
        #if os(macOS)
        folders.stop()
        #endif
        for watch in state.withLock({ Array($0.watches.values) }) { close(watch) }
        close(descriptor)
    }

    func update(_ interests: [String: WatchInterest]) -> Bool {
        var wanted: Set<String> = []
        for (directory, interest) in interests {
            #if !os(macOS)
            wanted.insert(directory)
            #endif
            guard case .names(let names) = interest else { continue }
            let journals = names.filter { name in Self.journalSuffixes.contains { name.hasSuffix($0) } }
            wanted.formUnion(journals.map { directory + "/" + $0 })
        }
        var hasAppeared = state.withLock { state in
            for (path, watch) in state.watches where !wanted.contains(path) { state.forget(path, watch) }
            state.missing.formIntersection(wanted)
            var hasAppeared = false
            for path in wanted.sorted() where state.watches[path] == nil {
                guard state.watches.count < Self.maximumWatches, let watch = self.watch(path) else {
                    state.missing.insert(path)
                    continue
                }
                if state.missing.remove(path) != nil { hasAppeared = true }
                state.watches[path] = watch
                state.paths[watch] = path
            }
            return hasAppeared
        }
        #if os(macOS)
        if folders.watch(interests, reportsAllNames: reportsAllNames) { hasAppeared = true }
        #endif
        return hasAppeared
    }

    /// Watches a directory or a journal.
    /// - Returns: its descriptor; `nil` where it is not there, or the system has no descriptors left.
    private func watch(_ path: String) -> Int32? {
        let watch = open(path, O_EVTONLY | O_CLOEXEC)
        if watch < 0 { return nil }
        var event = kevent(
            ident: UInt(watch), filter: Int16(EVFILT_VNODE), flags: UInt16(EV_ADD | EV_CLEAR),
            fflags: UInt32(NOTE_WRITE | NOTE_EXTEND | NOTE_DELETE | NOTE_RENAME), data: 0, udata: nil)
        if kevent(descriptor, &event, 1, nil, 0, nil) == 0 { return watch }
        close(watch)
        return nil
    }

    var isIncomplete: Bool {
        #if os(macOS)
        if folders.isIncomplete { return true }
        #endif
        return state.withLock { !$0.missing.isEmpty }
    }

    /// Nobody tells whether a path without a watch is missing.
    var unwatchedCount: Int { 0 }

    func drain() -> Bool {
        var isOfInterest = false
        var events = Array(repeating: kevent(), count: 32)
        var now = timespec(tv_sec: 0, tv_nsec: 0)
        while true {
            let count = kevent(descriptor, nil, 0, &events, Int32(events.count), &now)
            if count < 0, errno == EINTR { continue }
            if count <= 0 { return isOfInterest }
            isOfInterest = true
            for event in events[..<Int(count)] where event.filter == Int16(EVFILT_VNODE) {
                guard event.fflags & UInt32(NOTE_DELETE | NOTE_RENAME) != 0 else { continue }
                // Another file or directory may have the path now.
                state.withLock { state in
                    guard let path = state.paths[Int32(event.ident)] else { return }
                    state.forget(path, Int32(event.ident))
                    state.missing.insert(path)
                }
            }
        }
    }
}

extension KernelEventSource.Watches {
    fileprivate mutating func forget(_ path: String, _ watch: Int32) {
        watches[path] = nil
        paths[watch] = nil
        // Closing takes the watch out of the kernel's queue.
        close(watch)
    }
}
#endif
