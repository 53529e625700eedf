import FerryCore

/// How a remote container's listing is brought up to date, and how news are announced (Docs/Format.md, "The object latest").
extension RemoteBackend {
    package func refresh(_ depth: RefreshDepth) throws {
        // A join begins with full listings, and needs what it has read. A pass that begins with a look needs nothing of the pass before.
        if depth == .quick { state.withLock { $0.ahead.removeRead() } }
        if depth == .full || state.withLock({ $0.listedMilliseconds }) == nil {
            try listAll()
        } else {
            try readLatest()
        }
    }

    // MARK: Listings

    /// Lists the whole container. A failed page leaves the listing as before.
    func listAll() throws {
        let (found, pages) = try listed("")
        let now = clock.milliseconds()
        state.withLock { state in
            state.listing.replace(below: "", with: found)
            state.listedMilliseconds = now
            state.pageCount = pages
            (state.late, state.failed) = ([:], [:])
            state.ahead.removeUnread()
        }
        try applyOwnDeeds(now)
    }

    /// Lists everything below a directory.
    /// - Parameter prefix: the directory with a slash.
    func list(below prefix: String) throws {
        let (found, _) = try listed(prefix)
        let now = clock.milliseconds()
        state.withLock { state in
            state.listing.replace(below: prefix, with: found)
        }
        try applyOwnDeeds(now)
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

    /// Corrects the listing by this process's last deeds, and asks for replaced files that the listing has with a different tag.
    private func applyOwnDeeds(_ now: Int64) throws {
        let doubtful = state.withLock { state in
            var doubtful: [String] = []
            for (name, deed) in state.own {
                guard now - deed.milliseconds < Self.ownMilliseconds, deed.milliseconds <= now else {
                    state.own[name] = nil
                    continue
                }
                guard let file = deed.file else {
                    state.listing.remove(name)
                    continue
                }
                if let listed = state.listing.file(name), listed.tag != file.tag, state.kept[name]?.tag == file.tag {
                    doubtful.append(name)
                }
                state.listing.set(name, file)
            }
            return doubtful.sorted()
        }
        for name in doubtful {
            // An object that cannot be read concerns its device alone.
            do { try recheck(name) } catch let error as FerryError where error.isOfOneObject { continue }
        }
    }

    // MARK: Announcements of all devices

    /// Without a sound announcement the truth is asked for, once a minute at most, and the marker each time.
    private func readLatest() throws {
        if try learnLatest() { return }
        let now = clock.milliseconds()
        let isDue = state.withLock { state in
            state.listedMilliseconds.map { now - $0 >= Self.listingMilliseconds || now < $0 } ?? true
        }
        if try isDue || !isMarkerInPlace() { try listAll() }
    }

    /// Whether the place has the marker that it had at the last look. An emptied place has no announcements either, and those of another
    /// container are foreign: nothing may be written there.
    private func isMarkerInPlace() throws -> Bool {
        let name = ContainerDescription.fileName
        func marker() -> [UInt8]? {
            state.withLock { $0.listing.file(name) == nil ? nil : $0.kept[name]?.bytes }
        }
        let former = marker()
        do {
            try recheck(name)
        } catch let error as FerryError where error.code == .limitExceeded {
            // The opening of the container tells of the damage.
            return false
        }
        let present = marker()
        return present != nil && present == former
    }

    /// Reads the announcements, and takes over the news.
    /// - Returns: false for an absent, unreadable, damaged or foreign object: then the listing decides alone.
    private func learnLatest() throws -> Bool {
        let tag = state.withLock { $0.latestTag }
        let answer: ObjectAnswer
        do {
            answer = try get(LatestSegments.name, unless: tag, maximumBytes: LatestSegments.maximumBytes)
        } catch let error as FerryError where error.isOfOneObject {
            // Too long, refused, or without an answer. The marker is asked for, so a storage that refuses everything is told.
            answer = .absent
        }
        let now = clock.milliseconds()
        if case .same = answer {
            state.withLock { $0.latestMilliseconds = now }
            return true
        }
        guard case .found(let bytes, let tag) = answer, let container = try containerID(),
            let latest = try? LatestSegments(decoding: bytes, container: container)  // damaged: nothing was announced
        else {
            state.withLock { ($0.latest, $0.latestTag) = (nil, nil) }
            return false
        }
        try absorb(latest, tag, now)
        return true
    }

    /// Why `latest` announces nothing; `nil` for a sound object, and without the object. After a problem the next announcement is written in
    /// any case.
    func latestProblem() throws -> FerryError? {
        do {
            let answer = try get(LatestSegments.name, unless: nil, maximumBytes: LatestSegments.maximumBytes)
            guard case .found(let bytes, _) = answer, let container = try containerID() else { return nil }
            _ = try LatestSegments(decoding: bytes, container: container)
            return nil
        } catch var error as FerryError where error.code != .containerMissing {
            state.withLock { ($0.latest, $0.latestTag, $0.handled) = (nil, nil, [:]) }
            if error.path == nil { error.path = describe(LatestSegments.name) }
            return error
        }
    }

    /// Takes over announcements, and repeats this process's entry after an overwrite.
    private func absorb(_ latest: LatestSegments, _ tag: String, _ now: Int64) throws {
        let (news, unknown, isOverrun, repetition) = state.withLock { state in
            state.latest = latest
            state.latestTag = tag
            state.latestMilliseconds = now
            let news = latest.entries.filter { state.handled[$0.device] != $0 }
            let unknown = news.filter { !Self.take($0, &state) }.map(\.device)
            for entry in news { state.handled[entry.device] = entry }
            let isOverrun = news.count == LatestSegments.maximumEntries
            return (news.map(\.device), unknown, isOverrun, Self.repetition(latest, &state))
        }
        do {
            try follow(unknown, isOverrun: isOverrun, repetition, now)
        } catch {
            // The next look takes over the same announcements again.
            state.withLock { state in
                state.latestTag = nil
                for device in news { state.handled[device] = nil }
            }
            throw error
        }
    }

    /// Makes the requests that announcements cause.
    private func follow(
        _ unknown: [DeviceID], isOverrun: Bool, _ repetition: LatestSegments.Entry?, _ now: Int64
    ) throws {
        if isOverrun, state.withLock({ $0.listedMilliseconds.map { now - $0 >= Self.listingMilliseconds } ?? true }) {
            // More devices wrote than the object names: some may be missing.
            try listAll()
        } else {
            for device in unknown { try list(below: Container.directory(of: device) + "/") }
        }
        if let repetition { try write(repetition) }
    }

    /// Takes an entry into the listing, if this needs no listing of the directory.
    /// - Returns: false if the directory has to be listed: a stranger's directory, a gap, new records, or a second
    ///   segment of the same numbers.
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
        // A damaged object is written anew: a listing finds the lost entries.
        if !isFresh { _ = try learnLatest() }
        let latest = state.withLock { $0.latest }
        if let latest, latest.entries.contains(entry) { return state.withLock { $0.handled[device] = entry } }
        state.withLock { $0.announced = (entry, latest?.entries ?? [], 0) }
        try write(entry)
    }

    /// A single write for all devices. Listings find entries overwritten at the same moment.
    package func announce(_ devices: [DeviceID]) throws {
        let entries = devices.map { entry(of: $0) }
        if state.withLock({ state in entries.allSatisfy { state.handled[$0.device] == $0 } }) { return }
        _ = try learnLatest()
        var latest = try state.withLock { $0.latest } ?? LatestSegments(container: requiredContainerID())
        // The last entries stand first: beyond the object's limit, any entries are as good.
        for entry in entries.suffix(LatestSegments.maximumEntries) where !latest.entries.contains(entry) {
            latest.announce(entry, nonce: random.next())
        }
        try put(latest, handling: entries)
    }

    /// The newest files of a device, as the listing knows them. A name that only `latest` told may be forged, and has no size.
    private func entry(of device: DeviceID) -> LatestSegments.Entry {
        state.withLock { state in
            let segments = state.listing.files(in: Container.segmentsDirectory(of: device)).compactMap { name, file in
                file.size == nil ? nil : SegmentName(name)
            }
            return LatestSegments.Entry(
                device: device, segment: segments.max { ($0.last, $0.first, $0.hash) < ($1.last, $1.first, $1.hash) },
                records: UInt64(state.listing.files(in: Container.membersDirectory(of: device)).count))
        }
    }

    private func write(_ entry: LatestSegments.Entry) throws {
        var latest = try state.withLock { $0.latest } ?? LatestSegments(container: requiredContainerID())
        latest.announce(entry, nonce: random.next())
        try put(latest, handling: [entry])
        state.withLock { $0.announced?.writes += 1 }
    }

    private func put(_ latest: LatestSegments, handling entries: [LatestSegments.Entry]) throws {
        guard case .written(let tag) = try storage.put(LatestSegments.name, latest.encoded(), onlyIfAbsent: false)
        else { return }
        let now = clock.milliseconds()
        state.withLock { state in
            state.failed[LatestSegments.name] = nil
            state.latest = latest
            state.latestTag = tag
            state.latestMilliseconds = now
            for entry in entries { state.handled[entry.device] = entry }
        }
    }

    /// This process's entry after an overwrite at the same moment: the entry is gone, and an entry from behind it is
    /// still there.
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

    /// The ID in the marker; `nil` without a marker.
    private func containerID() throws -> ContainerID? {
        try read(ContainerDescription.fileName, maximumBytes: ContainerDescription.maximumBytes)
            .map { try ContainerDescription(decoding: $0).id }
    }

    private func requiredContainerID() throws -> ContainerID {
        guard let id = try containerID() else {
            throw ContainerDescription.missing(in: describe(""), isEmpty: false, isFolder: false)
        }
        return id
    }
}
