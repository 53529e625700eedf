import FerryCore

/// A container in an object storage (Docs/Format.md, "In an object storage").
///
/// The listing of the whole container is kept in memory. A poll asks for `latest` alone and takes the news from it. A
/// listing is the truth, and finds everything lost in `latest`. So a look without news costs a single request, for any
/// number of devices.
///
/// Invariants:
/// - Nothing is read or listed if the listing has the answer. An absent name in the listing is no request.
/// - Files written or removed by this process within the last hour count as the process left them, in spite of
///   listings. A replaced file with a different tag in a listing is asked for: a copy of the database writes the same head.
/// - Kept bytes of a name are handed out only while the listing has their tag.
/// - After `goOnWithoutSilentFiles`, a request without an answer concerns the object alone, if the storage answers for the marker. The
///   failure then stands for the object for a while: an object without an answer costs a pass one wait.
/// - The lock is never held during a request.
package final class RemoteBackend: ContainerBackend {
    /// How long an announced but missing file is asked for, in milliseconds.
    static let announcedMilliseconds: Int64 = 600_000
    /// How long own deeds count against a listing, in milliseconds.
    static let ownMilliseconds: Int64 = 3_600_000
    /// The least time between listings caused by an unusable `latest`, in milliseconds.
    static let listingMilliseconds: Int64 = 60_000
    /// A copy of `latest` up to this age is good enough for the next write, in milliseconds.
    static let latestMilliseconds: Int64 = 1000
    /// The most repeated writes of an overwritten entry.
    static let maximumRepetitions = 5
    /// The most bytes and the most files for reading ahead.
    static let maximumAheadBytes = 32 << 20
    static let maximumAheadFiles = 64
    /// Larger files are not kept after they were written, in bytes.
    static let maximumKeptBytes = 1 << 20
    /// The longest file for moving in, in bytes.
    static let maximumMovedBytes = FileKind.segment.maximumFileBytes

    let storage: any ObjectStorage
    let clock: any WallClock
    let random: any RandomSource
    let state: Locked<State>

    struct State {
        var listing = CachedListing()
        /// When all names were listed, in milliseconds; `nil`: not yet.
        var listedMilliseconds: Int64?
        /// The pages of the last listing.
        var pageCount = 0
        var latest: LatestSegments?
        var latestTag: String?
        /// When `latest` was last known to be current, in milliseconds.
        var latestMilliseconds: Int64 = .min
        /// The last entry taken into account, by device.
        var handled: [DeviceID: LatestSegments.Entry] = [:]
        /// This process's announcement, the entries behind it, and the number of writes.
        var announced: (entry: LatestSegments.Entry, behind: [LatestSegments.Entry], writes: Int)?
        var kept: [String: (bytes: [UInt8], tag: String)] = [:]
        var ahead = ReadAhead(maximumBytes: RemoteBackend.maximumAheadBytes)
        /// `nil` in place of a file: removed.
        var own: [String: (file: CachedListing.File?, milliseconds: Int64)] = [:]
        /// Names whose last writing got no answer. The files may be there, or may still come.
        var unanswered: Set<String> = []
        /// Announced or listed files, missing so far.
        var late: [String: Late] = [:]
        var goesOnWithoutSilentFiles = false
        /// Objects without an answer from a storage that answers otherwise.
        var failed: [String: (error: FerryError, late: Late)] = [:]
    }

    /// Distinguishes this backend's counts from the counts of further backends.
    private let instance: UInt64

    package init(
        _ storage: any ObjectStorage, clock: any WallClock = SystemClock(), random: any RandomSource = SystemRandom()
    ) {
        self.storage = storage
        self.clock = clock
        self.random = random
        instance = random.next()
        state = Locked(State())
    }

    package var answersFromListing: Bool { true }

    package var pageCount: Int { state.withLock { max($0.pageCount, 1) } }

    package func describe(_ name: String) -> String { storage.describe(name) }

    package func localPath(_ name: String) -> String? { nil }

    package func interrupt() { storage.interrupt() }

    // MARK: Looking

    package func checkRoot() throws { try listIfNever() }

    private func listIfNever() throws {
        if state.withLock({ $0.listedMilliseconds }) == nil { try listAll() }
    }

    package func list(_ directory: String, after name: String?) throws -> [String] {
        try listIfNever()
        return state.withLock { $0.listing.names(in: directory) }.filter { entry in name.map { entry > $0 } ?? true }
    }

    package var nextLateMilliseconds: Int64? {
        let now = clock.milliseconds()
        // A file that is due already, and that nobody asked for, is nobody's concern.
        return state.withLock { $0.late.values.map { $0.next - now }.filter { $0 > 0 }.min() }
    }

    package func version(of name: String) throws -> FileVersion? {
        try listIfNever()
        return state.withLock { state in
            if let count = state.listing.count(of: name) { return FileVersion(directoryCount: count, of: instance) }
            guard let file = state.listing.file(name), let tag = file.tag else { return nil }
            return FileVersion(tag: tag, size: file.size ?? 0)
        }
    }

    package func read(_ name: String, maximumBytes: Int) throws -> [UInt8]? {
        try checkName(name)
        try listIfNever()
        let now = clock.milliseconds()
        typealias Known = (bytes: [UInt8], tag: String)
        let (file, known, isLate) = state.withLock { state -> (CachedListing.File?, Known?, Bool) in
            let isLate = state.late[name].map { $0.next > now } ?? false
            // Bytes kept of a file that is gone from the listing say nothing.
            guard let file = state.listing.file(name) else { return (unlisted(name), nil, isLate) }
            let ahead = Self.isSegment(name) ? state.ahead.read(name) : state.ahead.take(name)
            guard let kept = state.kept[name] ?? ahead else { return (file, nil, isLate) }
            return (file, kept.tag == file.tag || file.tag == nil ? kept : nil, isLate)
        }
        guard let file, !isLate else { return nil }
        if let size = file.size, size > maximumBytes {
            throw FerryError.tooLarge(describe(name), size: size, maximumBytes: maximumBytes)
        }
        if let known {
            note(name, known.bytes, known.tag)
            return known.bytes
        }
        switch try get(name, unless: nil, maximumBytes: maximumBytes) {
        case .found(let bytes, let tag):
            note(name, bytes, tag)
            return bytes
        case .absent, .same:
            try noteAbsence(of: name, wasListed: file.tag != nil)
            return nil
        }
    }

    package func read(_ name: String, range: Range<Int>) throws -> [UInt8]? {
        try checkName(name)
        try listIfNever()
        let now = clock.milliseconds()
        let (file, isLate) = state.withLock { state in
            (state.listing.file(name) ?? unlisted(name), state.late[name].map { $0.next > now } ?? false)
        }
        guard let file, !isLate else { return nil }
        let wanted = file.size.map { range.clamped(to: 0..<$0) } ?? range
        if wanted.isEmpty { return [] }
        if let bytes = try ask(name, { try storage.get(name, range: wanted) }) {
            state.withLock { $0.late[name] = nil }
            return bytes
        }
        try noteAbsence(of: name, wasListed: file.tag != nil)
        return nil
    }

    /// What is known of a file that no listing has. A part is asked for because an announced or listed file refers to the part, and a pack
    /// because a row does. The marker is asked for because a listing may lag: a new container would seem to be none. `nil` for all other
    /// files.
    private func unlisted(_ name: String) -> CachedListing.File? {
        let isMarker = name == ContainerDescription.fileName
        return isMarker || PartName(path: name) != nil || PackName(path: name) != nil ? CachedListing.File() : nil
    }

    /// Records the bytes of a read.
    private func note(_ name: String, _ bytes: [UInt8], _ tag: String) {
        state.withLock { state in
            state.listing.set(name, CachedListing.File(size: bytes.count, tag: tag))
            state.late[name] = nil
            if name == ContainerDescription.fileName { state.kept[name] = (bytes, tag) }
            // A segment may be read again soon: `ReadAhead` says why.
            if Self.isSegment(name) { state.ahead.keep(name, bytes, tag: tag) }
        }
    }

    private static func isSegment(_ name: String) -> Bool { SegmentName(CachedListing.split(name).file) != nil }

    /// Records a missing file. A listed file is gone: the device removed files, so the device's directory is listed
    /// again. An announced file may be late, and so may a file that is listed all the same.
    private func noteAbsence(of name: String, wasListed: Bool) throws {
        if wasListed {
            state.withLock { $0.listing.remove(name) }
            guard let device = Self.deviceDirectory(of: name) else { return }
            try list(below: device + "/")
            if state.withLock({ $0.listing.file(name) }) == nil { return }
        }
        let now = clock.milliseconds()
        state.withLock { state in
            if state.late[name] == nil {
                state.late[name] = Late(at: now)
            } else {
                state.late[name]?.repeatLater(now)
            }
            guard !wasListed, let late = state.late[name], now - late.since > Self.announcedMilliseconds else { return }
            state.late[name] = nil
            state.listing.remove(name)
        }
    }

    /// The directory of the device in a name.
    static func deviceDirectory(of name: String) -> String? {
        let parts = name.split(separator: "/")
        guard parts.count > 2, parts[0] == "devices" else { return nil }
        return "devices/" + parts[1]
    }

    package func prefetch(_ names: [String]) {
        guard names.count > 1 else { return }  // a single file is read on request
        let wanted = state.withLock { state in
            var bytes = state.ahead.unreadByteCount
            var wanted: [String] = []
            if state.ahead.has(names[0]) { return wanted }
            for name in names.prefix(Self.maximumAheadFiles) where !state.ahead.has(name) && state.late[name] == nil {
                guard let file = state.listing.file(name) else { continue }
                bytes += file.size ?? 1 << 20
                if bytes > Self.maximumAheadBytes { break }
                wanted.append(name)
            }
            return wanted
        }
        guard wanted.count > 1 else { return }
        let hasFailed = Locked(false)
        SideBySide.perform(wanted.count, atOnce: storage.traits.maximumParallel) { [self] index in
            // A reader does not get past a file without an answer: no further file is waited for.
            if hasFailed.withLock({ $0 }) { return }
            do {
                if case .found(let bytes, let tag) = try get(
                    wanted[index], unless: nil, maximumBytes: Self.maximumAheadBytes)
                {
                    state.withLock { $0.ahead.add(wanted[index], bytes, tag: tag) }
                }
            } catch {
                // The failure is told when the file is needed.
                hasFailed.withLock { $0 = true }
            }
        }
    }

    /// Asks for a file's present version. A new version is read at the next read of the file. After a failure nothing is known of the file.
    package func recheck(_ name: String) throws {
        try listIfNever()
        let (known, isListed) = state.withLock {
            ($0.kept[name]?.tag ?? $0.listing.file(name)?.tag, $0.listing.file(name) != nil)
        }
        let answer: ObjectAnswer
        do {
            answer = try get(name, unless: known, maximumBytes: Self.maximumKeptBytes)
        } catch let error as FerryError where error.isOfOneObject {
            state.withLock { state in
                (state.kept[name], state.own[name]) = (nil, nil)
                if isListed { state.listing.set(name, CachedListing.File()) }
            }
            throw error
        }
        switch answer {
        case .same: return
        case .absent: if isListed { state.withLock { $0.listing.remove(name) } }
        case .found(let bytes, let tag):
            state.withLock { state in
                state.kept[name] = (bytes, tag)
                state.own[name] = nil
                state.listing.set(name, CachedListing.File(size: bytes.count, tag: tag))
            }
        }
    }

    // MARK: Writing

    /// Lists the place, and tries every request of a container there: nothing is made if a request would be refused
    /// later.
    package func prepareForCreation() throws {
        try listAll()
        try probe()
    }

    /// Writes, reads and removes an object of no meaning.
    /// - Returns: whether the storage honours `onlyIfAbsent`.
    @discardableResult
    package func probe() throws -> Bool {
        let name = "probe-" + hexString(withUnsafeBytes(of: random.next().bigEndian, Array.init))
        let bytes = Array("Ferry tries whether this place can hold a container.\n".utf8)
        _ = try storage.put(name, bytes, onlyIfAbsent: true)
        let isHonoured = try storage.put(name, bytes, onlyIfAbsent: true) == .present
        guard case .found(let found, _) = try storage.get(name, unless: nil, maximumBytes: bytes.count), found == bytes
        else {
            throw FerryError(
                .inputOutput,
                "\(describe("")) does not give back what was written a moment ago, so it cannot hold a container.",
                path: describe(""))
        }
        try storage.delete(name)
        return isHonoured
    }

    package func writeOnce(_ name: String, _ bytes: [UInt8]) throws {
        try checkName(name)
        try listIfNever()
        let isMarker = name == ContainerDescription.fileName
        if !isMarker, let file = state.withLock({ $0.listing.file(name) }), file.tag != nil, file.size == bytes.count {
            return
        }
        switch try put(name, bytes, onlyIfAbsent: true) {
        case .written(let tag): noteWriting(of: name, bytes, tag, isKept: false)
        case .present:
            // The answer to an earlier attempt may have got lost: then these bytes are there.
            switch try storage.get(name, unless: nil, maximumBytes: max(bytes.count, 1)) {
            case .found(let present, let tag) where present == bytes:
                noteWriting(of: name, bytes, tag, isKept: false)
            case .absent, .same: try replace(name, bytes)
            case .found where isMarker: throw FerryError.containerExists(at: describe(""), isFolder: false)
            case .found:
                throw FerryError(
                    .damagedFile, "\(describe(name)) holds something else than was written there. Move it away.",
                    path: describe(name))
            }
        }
    }

    /// The whole file is in memory meanwhile.
    package func writeOnce(_ name: String, movingIn path: String, of files: any FileSystem) throws {
        guard let bytes = try files.readFile(at: path, maximumBytes: Self.maximumMovedBytes) else {
            throw FerryError(.inputOutput, "\(path) is not there any more, and was to be published.", path: path)
        }
        try writeOnce(name, bytes)
    }

    package func replace(_ name: String, _ bytes: [UInt8]) throws {
        try checkName(name)
        try listIfNever()
        guard case .written(let tag) = try put(name, bytes, onlyIfAbsent: false) else {
            throw FerryError(
                .inputOutput, "\(describe(name)) cannot be replaced: the storage keeps what is there.",
                path: describe(name))
        }
        noteWriting(of: name, bytes, tag, isKept: bytes.count <= Self.maximumKeptBytes)
    }

    /// Writes an object, and remembers the name until the storage answers.
    private func put(_ name: String, _ bytes: [UInt8], onlyIfAbsent: Bool) throws -> PutAnswer {
        _ = state.withLock { $0.unanswered.insert(name) }
        let answer = try storage.put(name, bytes, onlyIfAbsent: onlyIfAbsent)
        _ = state.withLock { $0.unanswered.remove(name) }
        return answer
    }

    package func isUnanswered(below directory: String) -> Bool {
        state.withLock { $0.unanswered.contains { $0.hasPrefix(directory + "/") } }
    }

    package func remove(_ name: String) throws {
        try checkName(name)
        try listIfNever()
        if state.withLock({ $0.listing.file(name) }) == nil { return }
        try storage.delete(name)
        let now = clock.milliseconds()
        state.withLock { state in
            state.listing.remove(name)
            state.kept[name] = nil
            state.ahead.remove(name)
            state.own[name] = (nil, now)
        }
    }

    private func noteWriting(of name: String, _ bytes: [UInt8], _ tag: String, isKept: Bool) {
        let now = clock.milliseconds()
        state.withLock { state in
            let file = CachedListing.File(size: bytes.count, tag: tag)
            state.listing.set(name, file)
            state.kept[name] = nil
            (state.late[name], state.failed[name]) = (nil, nil)
            if isKept { state.kept[name] = (bytes, tag) }
            // The marker is always looked up, so an emptied bucket is noticed at once.
            if name != ContainerDescription.fileName { state.own[name] = (file, now) }
        }
    }

    private func checkName(_ name: String) throws(FerryError) {
        guard CachedListing.isPlain(name) else {
            throw FerryError(.invalidArgument, "A name in the container leads elsewhere.")
        }
    }
}
