import FerryCore

/// How a remote container's listing is brought up to date, and how news are announced (Docs/Format.md, "The object latest").
extension RemoteBackend {
    package func refresh(_ depth: RefreshDepth) throws {
        if depth == .full || state.withLock({ $0.listedMilliseconds }) == nil {
            try listAll()
        } else {
            try readLatest()
        }
    }

    // MARK: Listings

    /// Lists the whole container. A page that fails leaves the listing as it was.
    func listAll() throws {
        let (found, pages) = try listed("")
        let now = clock.milliseconds()
        state.withLock { state in
            state.listing.replace(below: "", with: found)
            state.listedMilliseconds = now
            state.pageCount = pages
            state.late = [:]
            state.ahead = [:]
            Self.applyOwnDeeds(&state, now)
        }
    }

    /// Lists what lies below a directory.
    /// - Parameter prefix: the directory with a slash.
    func list(below prefix: String) throws {
        let (found, _) = try listed(prefix)
        let now = clock.milliseconds()
        state.withLock { state in
            state.listing.replace(below: prefix, with: found)
            Self.applyOwnDeeds(&state, now)
        }
    }

    private func listed(_ prefix: String) throws -> (files: [String: CachedListing.File], pages: Int) {
        var files: [String: CachedListing.File] = [:]
        var (token, pages): (String?, Int) = (nil, 0)
        repeat {
            let page = try storage.list(prefix, after: nil, token)
            pages += 1
            for object in page.objects where CachedListing.isPlain(object.key) && object.key.hasPrefix(prefix) {
                files[object.key] = CachedListing.File(size: object.size, tag: object.tag)
            }
            guard files.count <= CachedListing.maximumNames, pages <= CachedListing.maximumNames else {
                throw FerryError(
                    .limitExceeded,
                    "\(describe("")) holds more than \(CachedListing.maximumNames) objects. Move away what is not the container's."
                )
            }
            if page.next == token, token != nil {
                throw FerryError(.inputOutput, "The listing of \(describe("")) does not go on: a page names itself.")
            }
            token = page.next
        } while token != nil
        return (files, pages)
    }

    private static func applyOwnDeeds(_ state: inout State, _ now: Int64) {
        for (name, deed) in state.own {
            guard now - deed.milliseconds < ownMilliseconds, deed.milliseconds <= now else {
                state.own[name] = nil
                continue
            }
            if let file = deed.file { state.listing.set(name, file) } else { state.listing.remove(name) }
        }
    }

    // MARK: What others announced

    /// Without a sound announcement the truth is asked for, once a minute at most.
    private func readLatest() throws {
        if try learnLatest() { return }
        let now = clock.milliseconds()
        let isDue = state.withLock { state in
            state.listedMilliseconds.map { now - $0 >= Self.listingMilliseconds || now < $0 } ?? true
        }
        if isDue { try listAll() }
    }

    /// Asks for what others announced, and takes over what is new.
    /// - Returns: false where it is absent, damaged or foreign: then it is nothing, and the listing says what is there.
    private func learnLatest() throws -> Bool {
        let tag = state.withLock { $0.latestTag }
        let answer = try storage.get(LatestSegments.name, unless: tag, maximumBytes: LatestSegments.maximumBytes)
        let now = clock.milliseconds()
        if case .same = answer {
            state.withLock { $0.latestMilliseconds = now }
            return true
        }
        let container = try containerID()
        guard case .found(let bytes, let tag) = answer,
            let latest = try? LatestSegments(decoding: bytes, container: container)  // damaged: nothing was announced
        else {
            state.withLock { ($0.latest, $0.latestTag) = (nil, nil) }
            return false
        }
        try absorb(latest, tag, now)
        return true
    }

    /// Takes over what others announced, and repeats an own entry that others overwrote.
    private func absorb(_ latest: LatestSegments, _ tag: String, _ now: Int64) throws {
        let (unknown, isOverrun, repetition) = state.withLock { state in
            state.latest = latest
            state.latestTag = tag
            state.latestMilliseconds = now
            let news = latest.entries.filter { state.handled[$0.device] != $0 }
            let unknown = news.filter { !Self.take($0, &state) }.map(\.device)
            for entry in news { state.handled[entry.device] = entry }
            let isOverrun = news.count == LatestSegments.maximumEntries
            return (unknown, isOverrun, Self.repetition(latest, &state))
        }
        if isOverrun, state.withLock({ $0.listedMilliseconds.map { now - $0 >= Self.listingMilliseconds } ?? true }) {
            // More devices wrote than the object names: some may be missing.
            try listAll()
        } else {
            for device in unknown { try list(below: Container.directory(of: device) + "/") }
        }
        if let repetition { try write(repetition) }
    }

    /// Takes an entry into the listing, where that needs no listing of the directory.
    /// - Returns: false if the directory has to be listed: a stranger's, a gap, new records, another segment of the same numbers.
    private static func take(_ entry: LatestSegments.Entry, _ state: inout State) -> Bool {
        let directory = Container.directory(of: entry.device)
        guard state.listing.isDirectory(directory) else { return false }
        let records = state.listing.files(in: Container.membersDirectory(of: entry.device)).count
        if entry.records > UInt64(records) { return false }
        guard let segment = entry.segment else { return true }
        let segments = Container.segmentsDirectory(of: entry.device)
        let name = segments + "/" + segment.fileName
        if state.listing.file(name) != nil { return true }
        let known = state.listing.files(in: segments).keys.compactMap { SegmentName($0) }
        if known.contains(where: {
            $0.first <= segment.first && segment.last <= $0.last && $0.first...$0.last != segment.first...segment.last
        }) {
            return true
        }
        guard segment.first == (known.map(\.last).max() ?? 0) + 1 else { return false }
        state.listing.set(name, CachedListing.File(size: nil, tag: nil))
        return true
    }

    // MARK: Announcing

    package func announce(_ device: DeviceID) throws {
        let entry = entry(of: device)
        let now = clock.milliseconds()
        let (isHandled, isFresh) = state.withLock { state in
            (
                state.handled[device] == entry,
                state.latest != nil && (0...Self.latestMilliseconds).contains(now - state.latestMilliseconds)
            )
        }
        if isHandled { return }
        // A damaged one is written anew: a listing finds what it lost.
        if !isFresh { _ = try learnLatest() }
        let latest = state.withLock { $0.latest }
        if let latest, latest.entries.contains(entry) { return state.withLock { $0.handled[device] = entry } }
        state.withLock { $0.announced = (entry, latest?.entries ?? [], 0) }
        try write(entry)
    }

    /// One writing for all of them. What others overwrite at the same moment is found by listings.
    package func announce(_ devices: [DeviceID]) throws {
        let entries = devices.map { entry(of: $0) }
        if state.withLock({ state in entries.allSatisfy { state.handled[$0.device] == $0 } }) { return }
        _ = try learnLatest()
        var latest = try state.withLock { $0.latest } ?? LatestSegments(container: containerID())
        // The last ones stand first: of more than the object names, any are as good.
        for entry in entries.suffix(LatestSegments.maximumEntries) where !latest.entries.contains(entry) {
            latest.announce(entry, nonce: random.next())
        }
        try put(latest, handling: entries)
    }

    /// The newest files of a device, as the listing knows them.
    private func entry(of device: DeviceID) -> LatestSegments.Entry {
        state.withLock { state in
            let segments = state.listing.files(in: Container.segmentsDirectory(of: device)).keys.compactMap {
                SegmentName($0)
            }
            return LatestSegments.Entry(
                device: device, segment: segments.max { ($0.last, $0.first, $0.hash) < ($1.last, $1.first, $1.hash) },
                records: UInt64(state.listing.files(in: Container.membersDirectory(of: device)).count))
        }
    }

    private func write(_ entry: LatestSegments.Entry) throws {
        var latest = try state.withLock { $0.latest } ?? LatestSegments(container: containerID())
        latest.announce(entry, nonce: random.next())
        try put(latest, handling: [entry])
        state.withLock { $0.announced?.writes += 1 }
    }

    private func put(_ latest: LatestSegments, handling entries: [LatestSegments.Entry]) throws {
        guard case .written(let tag) = try storage.put(LatestSegments.name, latest.encoded(), onlyIfAbsent: false)
        else { return }
        let now = clock.milliseconds()
        state.withLock { state in
            state.latest = latest
            state.latestTag = tag
            state.latestMilliseconds = now
            for entry in entries { state.handled[entry.device] = entry }
        }
    }

    /// The own entry, where somebody overwrote it at the same moment: it is gone, and one that stood behind it is still there.
    private static func repetition(_ latest: LatestSegments, _ state: inout State) -> LatestSegments.Entry? {
        guard let announced = state.announced else { return nil }
        if latest.entries.contains(announced.entry) { return nil }
        let isOverwritten =
            announced.behind.contains(where: latest.entries.contains)
            || latest.entries.count < LatestSegments.maximumEntries
        guard isOverwritten, announced.writes < maximumRepetitions else {
            state.announced = nil
            return nil
        }
        return announced.entry
    }

    private func containerID() throws -> ContainerID {
        guard let bytes = try read(ContainerDescription.fileName, maximumBytes: ContainerDescription.maximumBytes)
        else {
            throw ContainerDescription.missing(in: describe(""), isEmpty: false)
        }
        return try ContainerDescription(decoding: bytes).id
    }
}
