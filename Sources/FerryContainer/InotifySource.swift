#if canImport(Glibc)
import Glibc

/// Directory changes by inotify(7).
///
/// Names that begin with `.` or `~` are passed over where not all names are asked for: temporary files of Ferry and of syncers. The
/// rename at their end reports the new name.
///
/// Among the named leaves with unsafe code: events are read from a buffer whose filled length bounds every access.
final class InotifySource: ChangeEventSource {
    let descriptor: Int32
    private let reportsAllNames: Bool
    private let state = Locked(State())

    private struct State {
        var watches: [Int32: String] = [:]
        var interests: [Int32: WatchInterest] = [:]
        var paths: [String: Int32] = [:]
        /// Paths that could not be watched at the last try.
        var missing: Set<String> = []
        /// Those of them that were not there while the folder around was watched, with the folder's watch: an event of the folder
        /// tells when such a path appears.
        var awaited: [String: Int32] = [:]
        /// Those of them for which the system had no watch left.
        var unwatched: Set<String> = []

        /// True if an event will tell of the path: the folder around has the same watch as when the path was not there.
        func isAwaited(_ path: String) -> Bool {
            guard let watch = awaited[path] else { return false }
            return paths[Self.folder(around: path)] == watch
        }

        static func folder(around path: String) -> String {
            path.lastIndex(of: "/").map { String(path[..<$0]) } ?? ""
        }
    }

    private static let mask = UInt32(
        IN_CREATE | IN_MODIFY | IN_CLOSE_WRITE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE | IN_DELETE_SELF | IN_MOVE_SELF
            | IN_ONLYDIR | IN_EXCL_UNLINK)
    /// Where the name begins in an event: after the watch, the mask, the cookie and the name's length.
    private static let nameOffset = 16
    /// Fits some hundred events; an event has at most 16 + 255 + 1 bytes.
    private static let bufferBytes = 16 * 1024

    /// `nil` where the system has no more instances to give.
    init?(reportsAllNames: Bool = false) {
        self.reportsAllNames = reportsAllNames
        descriptor = inotify_init1(Int32(IN_NONBLOCK | IN_CLOEXEC))
        if descriptor < 0 { return nil }
    }

    deinit { close(descriptor) }

    func update(_ interests: [String: WatchInterest]) -> Bool {
        state.withLock { state in
            for (path, watch) in state.paths where interests[path] == nil {
                inotify_rm_watch(descriptor, watch)
                state.paths[path] = nil
                state.watches[watch] = nil
                state.interests[watch] = nil
            }
            state.missing.formIntersection(interests.keys)
            state.awaited = state.awaited.filter { interests[$0.key] != nil }
            state.unwatched = []
            var hasAppeared = false
            for (path, interest) in interests {
                if let watch = state.paths[path] {
                    state.interests[watch] = interest
                    continue
                }
                if state.isAwaited(path) { continue }
                let around = state.paths[State.folder(around: path)]
                let watch = inotify_add_watch(descriptor, path, Self.mask)
                // Missing, or the user's limit of watches is reached: tried again at the next wait, or once the path appears.
                guard watch >= 0 else {
                    if errno == ENOSPC { state.unwatched.insert(path) }
                    state.awaited[path] = errno == ENOENT ? around : nil
                    state.missing.insert(path)
                    continue
                }
                state.awaited[path] = nil
                if state.missing.remove(path) != nil { hasAppeared = true }
                // Two paths to a directory share a watch; the last path stands for both.
                if let other = state.watches[watch] { state.paths[other] = nil }
                state.paths[path] = watch
                state.interests[watch] = interest.union(state.interests[watch])
                state.watches[watch] = path
            }
            return hasAppeared
        }
    }

    var isIncomplete: Bool { state.withLock { state in !state.missing.allSatisfy { state.isAwaited($0) } } }

    var unwatchedCount: Int { state.withLock { $0.unwatched.count } }

    func drain() -> Bool {
        var isOfInterest = false
        withUnsafeTemporaryAllocation(byteCount: Self.bufferBytes, alignment: MemoryLayout<inotify_event>.alignment) {
            buffer in
            while true {
                let count = read(descriptor, buffer.baseAddress, buffer.count)
                if count < 0, errno == EINTR { continue }
                if count <= 0 { return }
                if handle(UnsafeRawBufferPointer(rebasing: buffer[..<count])) { isOfInterest = true }
            }
        }
        return isOfInterest
    }

    /// Goes through the events of a read; the kernel never splits an event.
    private func handle(_ buffer: UnsafeRawBufferPointer) -> Bool {
        var isOfInterest = false
        var offset = 0
        while offset + Self.nameOffset <= buffer.count {
            let event = buffer.load(fromByteOffset: offset, as: inotify_event.self)
            let end = min(offset + Self.nameOffset + Int(event.len), buffer.count)
            let name = buffer[min(offset + Self.nameOffset, end)..<end].prefix { $0 != 0 }
            if event.mask & UInt32(IN_IGNORED | IN_MOVE_SELF) != 0 { forget(event.wd, event.mask) }
            if event.mask & UInt32(IN_CREATE | IN_MOVED_TO | IN_Q_OVERFLOW) != 0 { expect(name, event.wd) }
            // An overflow and changes of the directory itself come without a name. The event before a removed watch
            // reports the reason.
            if event.mask & UInt32(IN_IGNORED) == 0, isInteresting(name, event.wd) { isOfInterest = true }
            offset = end
        }
        return isOfInterest
    }

    private func isInteresting(_ name: Slice<UnsafeRawBufferPointer>, _ watch: Int32) -> Bool {
        guard let first = name.first else { return true }
        switch state.withLock({ $0.interests[watch] }) {
        case .names(let names): return names.contains(String(decoding: name, as: UTF8.self))
        case .everything where reportsAllNames: return true
        case .everything, nil: return first != UInt8(ascii: ".") && first != UInt8(ascii: "~")
        }
    }

    /// A name has appeared in a watched folder; without a name, events were lost, and any path may have appeared.
    private func expect(_ name: Slice<UnsafeRawBufferPointer>, _ watch: Int32) {
        state.withLock { state in
            if state.awaited.isEmpty { return }
            if name.isEmpty {
                state.awaited = [:]
                return
            }
            guard let folder = state.watches[watch] else { return }
            state.awaited[folder + "/" + String(decoding: name, as: UTF8.self)] = nil
        }
    }

    /// The kernel has dropped a watch, or its directory has another name now: the path is looked for again.
    private func forget(_ watch: Int32, _ mask: UInt32) {
        state.withLock { state in
            if mask & UInt32(IN_MOVE_SELF) != 0 { inotify_rm_watch(descriptor, watch) }
            state.interests[watch] = nil
            guard let path = state.watches.removeValue(forKey: watch), state.paths[path] == watch else { return }
            state.paths[path] = nil
            state.missing.insert(path)
        }
    }
}
#endif
