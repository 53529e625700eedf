import FerryContainer
import FerryContent
import FerryCore
import FerryStore

/// A replica's memory of the last look at contents, so that a resting pass asks nothing.
struct ContentFetching: Sendable {
    /// Everything replayed and packed at the last look.
    var vector: VersionVector?
    /// True if contents were missing, or left for the next pass.
    var isUnfinished = false
}

/// Fetching contents automatically and on request, and making room.
extension Replica {
    /// How much a pass of a watch fetches at most, in bytes. So changes of rows do not wait for contents.
    static let fetchBytesOfPass = 32 << 20

    /// Fetches the wanted contents, as far as this device keeps contents automatically.
    /// - Parameters:
    ///   - vector: everything replayed and packed.
    ///   - isThorough: also look whether contents known as present are still here.
    ///   - maximumBytes: contents beyond are counted in `remaining`.
    func fetchWanted(
        _ container: Container, _ vector: VersionVector, _ report: inout SyncReport, isThorough: Bool,
        maximumBytes: Int? = nil
    ) throws {
        let last = fetching.withLock { $0 }
        if last.vector == vector, !last.isUnfinished, !isThorough { return }
        try store.updateChunkIndex()
        let settings = try store.contentSettings()
        let wanted = try store.wantedContents(maximumBytes: settings.fetchBytes, includingWhole: isThorough)
        let run = try fetch(
            thatFit(wanted, settings), ContentFetcher(self, { container }, leaveFreeBytes: settings.leaveFreeBytes),
            maximumBytes: maximumBytes)
        fetching.withLock {
            $0 = ContentFetching(vector: vector, isUnfinished: run.waiting > 0 || run.remaining > 0)
        }
        if run.fetched > 0 || isThorough { try evictExcess(container, settings) }
        if run.fetched + run.waiting + run.remaining == 0 { return }
        var documents = report.documents ?? DocumentsReport()
        (documents.fetched, documents.fetchedBytes) = (run.fetched, run.fetchedBytes)
        (documents.waiting, documents.remaining) = (run.waiting, run.remaining)
        report.documents = documents
    }

    /// The contents to be fetched automatically: no evicted contents, and not more than this device keeps. Otherwise a pass would evict the
    /// contents fetched by the pass before.
    private func thatFit(_ wanted: [WantedContent], _ settings: ContentSettings) throws -> [WantedContent] {
        let wanted = wanted.filter { !$0.isEvicted && !$0.isInRow }
        guard let keepBytes = settings.keepBytes else { return wanted }
        var room = keepBytes - (try store.readContentStates { try $0.wholeBytes() })
        return wanted.filter { item in
            if item.isWhole { return true }
            if !item.isPinned && item.byteCount > room { return false }
            room -= item.byteCount
            return true
        }
    }

    /// Fetches contents, and records the outcome for each content.
    private func fetch(
        _ wanted: [WantedContent], _ fetcher: ContentFetcher, maximumBytes: Int?
    ) throws -> DocumentsReport {
        var run = DocumentsReport()
        var news: [(ContentID, ContentState.Obstacle?)] = []
        func note(_ item: WantedContent, _ outcome: ContentFetcher.Outcome) throws {
            switch outcome {
            case .whole:
                if try store.readContentStates({ try $0.state(of: item.content).isWhole }) { return }
                run.fetched += 1
                run.fetchedBytes += item.byteCount
                news.append((item.content, nil))
            case .missing(let error):
                run.waiting += 1
                let obstacle = ContentState.Obstacle(error, sinceMilliseconds: environment.clock.milliseconds())
                news.append((item.content, obstacle))
            }
        }
        // Several contents share a single wait for the disk.
        var filled: [(item: WantedContent, content: PartialContent)] = []
        var filledBytes = 0
        func complete() throws {
            for (one, outcome) in try zip(filled, fetcher.complete(filled.map(\.content))) {
                try note(one.item, outcome)
            }
            (filled, filledBytes) = ([], 0)
        }
        for (index, item) in wanted.enumerated() {
            if let maximumBytes, run.fetchedBytes + filledBytes >= maximumBytes {
                run.remaining = wanted.count - index
                break
            }
            switch try fetcher.fill(item.content) {
            case .done(.whole): news.append((item.content, nil))  // it was stored here, or another process fetched it
            case .done(let outcome): try note(item, outcome)
            case .filled(let content):
                filled.append((item, content))
                filledBytes += item.byteCount
                if filled.count >= Self.completedTogether || filledBytes >= Self.completedBytes { try complete() }
            }
        }
        try complete()
        try record(news)
        return run
    }

    /// So many contents, or bytes of contents, are completed together at most. Each content has an open file.
    static let completedTogether = 64
    static let completedBytes = 16 << 20

    private func record(_ news: [(content: ContentID, obstacle: ContentState.Obstacle?)]) throws {
        if news.isEmpty { return }
        let now = environment.clock.milliseconds()
        let known = try store.readContentStates { states in
            try news.filter { item in
                let state = try states.state(of: item.content)
                guard let obstacle = item.obstacle else { return !state.isWhole }
                return !obstacle.isSame(state.obstacle) || state.isWhole
            }
        }
        if known.isEmpty { return }
        try store.noteContentStates { states in
            for (content, obstacle) in known {
                if let obstacle {
                    try states.setObstacle(obstacle, content)
                } else {
                    try states.setWhole(true, content)
                    if try states.state(of: content).usedMilliseconds == nil { try states.setUsed(now, content) }
                }
            }
        }
    }

    // MARK: On request

    /// Fetches contents by name, without regard to this device's settings. The bytes of each content are proved, also where the content was
    /// whole here: damaged bytes are fetched again.
    /// - Parameter progress: called with the bytes of the present content taken so far.
    /// - Returns: for each content the path, or why the content is not to be had.
    package func fetchContents(
        _ contents: [ContentID], progress: ((ContentID, Int) throws -> Void)? = nil
    ) throws -> [(content: ContentID, path: String?, problem: FerryError?)] {
        if contents.isEmpty { return [] }
        try store.updateChunkIndex()
        var opened: Container?
        let fetcher: ContentFetcher
        do {
            // A content on this device needs no container.
            fetcher = try ContentFetcher(
                self,
                {
                    let container = try opened ?? self.openContainerForContents()
                    opened = container
                    return container
                }, leaveFreeBytes: store.contentSettings().leaveFreeBytes, provesWhole: true)
        } catch let error as FerryError where error.code == .keyMissing {
            // Without a key nobody can prove bytes. What is here can be opened all the same.
            return try contents.map { try ($0, wholeFile($0), error) }
        }
        return try contents.map { content in
            switch try fetcher.fetch(content, progress: progress.map { tell in { try tell(content, $0) } }) {
            case .whole(let path):
                try record([(content, nil)])
                return (content, path, nil)
            case .missing(let error):
                let obstacle = ContentState.Obstacle(error, sinceMilliseconds: environment.clock.milliseconds())
                try record([(content, obstacle)])
                return (content, nil, error)
            }
        }
    }

    /// A file with the content: read-only, beside the database. The content is fetched if need be, and counts as used now.
    /// - Throws: `contentNotHere`, `contentLost`.
    package func contentFile(_ content: ContentID, progress: ((Int) throws -> Void)? = nil) throws -> String {
        let found = try fetchedFile(content, progress)
        // An unwritable database gives documents all the same; the content is evicted sooner then.
        try? store.noteContentStates { states in
            // A content stored here may be whole before a pass notes the state.
            try states.setWhole(true, content)
            try states.setUsed(environment.clock.milliseconds(), content)
        }
        return found
    }

    /// The file of a content that stays while the result is held; as `contentFile`.
    package func heldContent(_ content: ContentID, progress: ((Int) throws -> Void)? = nil) throws -> HeldContent {
        for _ in 0..<4 {
            let held = HeldContent(path: try contentFile(content, progress: progress))
            // Somebody may have evicted the content a moment ago.
            if case .file = try environment.fileSystem.item(at: held.path) { return held }
        }
        throw FerryError(.contentNotHere, "The content is removed from this device again and again. Try once more.")
    }

    /// The file of a content here, unproved. `nil` also without a row, and for a damaged row.
    private func wholeFile(_ content: ContentID) throws -> String? {
        guard let row = try store.readContents({ rows, _ in try rows.soundContent(content) }) else { return nil }
        return try shelf.path(ofWhole: content, byteCount: row.byteCount)
    }

    private func fetchedFile(_ content: ContentID, _ progress: ((Int) throws -> Void)?) throws -> String {
        let result = try fetchContents([content], progress: progress.map { tell in { try tell($1) } })
        if let path = result.first?.path { return path }
        throw Self.notHere(result.first?.problem)
    }

    /// The error for somebody who wants a content not on this device.
    package static func notHere(_ problem: FerryError?) -> FerryError {
        guard let problem else { return FerryError(.contentNotHere, "The content is not on this device.") }
        if problem.code == .contentLost { return problem }
        return FerryError(
            .contentNotHere, "The content is not on this device: \(problem.message)", path: problem.path,
            device: problem.device, cause: problem)
    }

    /// The container, for reading packs. Files beside the database can be read while the folder is away.
    private func openContainerForContents() throws -> Container {
        do {
            return try openContainer()
        } catch let error as FerryError where Self.isOfTheContainer(error.code) {
            throw FerryError(
                .contentNotHere,
                "The content is not on this device, and the container cannot be read: \(error.message)",
                path: error.path, cause: error)
        }
    }

    // MARK: Room

    /// Removes contents in the container from beside the database.
    /// - Returns: the removed contents, and for each remaining content the reason.
    package func evictContents(
        _ contents: [ContentID]
    ) throws -> (evicted: [ContentID], bytes: Int, left: [(content: ContentID, reason: FerryError)]) {
        if contents.isEmpty { return ([], 0, []) }
        try store.updateChunkIndex()
        let container = try openContainerForContents()
        var (evicted, bytes, left): ([ContentID], Int, [(content: ContentID, reason: FerryError)]) = ([], 0, [])
        for content in contents {
            guard let row = try store.readContents({ rows, _ in try rows.soundContent(content) }),
                let path = try shelf.path(ofWhole: content, byteCount: row.byteCount)
            else { continue }
            if try store.readContentStates({ try $0.state(of: content).isPinned }) {
                left.append((content, FerryError(.invalidArgument, "It is pinned. `ferry documents unpin` it first.")))
            } else if let reason = try obstacleToEviction(of: row, container) {
                left.append((content, reason))
            } else if try HeldContent.isHeld(path) || !shelf.evict(content) {
                left.append((content, FerryError(.busy, "Somebody reads it. Try again when it is closed.", path: path)))
            } else {
                try store.noteContentStates { try $0.setEvicted(content) }
                evicted.append(content)
                bytes += row.byteCount
            }
        }
        return (evicted, bytes, left)
    }

    /// Why a content has to stay: the container lacks a part. `nil`: the content may go. In a folder every chunk is read and proved,
    /// because the local file may be the last good copy. In a remote container the lengths of packs have to do.
    private func obstacleToEviction(of row: ContentRow, _ container: Container) throws -> FerryError? {
        let isThere = packs(in: container, countingPending: false)
        let source = container.answersFromListing ? nil : try ChunkSource(self, container)
        for chunk in Set(row.list.chunks.map(\.id)).sorted() {
            let places = try store.readContents { _, index in try index.places(of: chunk) }
            let isWhole = try places.contains { place in
                guard try isThere(place) else { return false }
                return try source?.canRead(chunk, place, row.epoch) ?? true
            }
            if !isWhole {
                return FerryError(
                    .contentNotHere,
                    "The container does not have all of it, so its bytes stay here. Sync first; `ferry doctor --repair` mends packs."
                )
            }
        }
        return nil
    }

    /// Removes the contents unused for longest, until the rest is within this device's limit.
    private func evictExcess(_ container: Container, _ settings: ContentSettings) throws {
        guard let keepBytes = settings.keepBytes else { return }
        let whole = try shelf.wholeContents()
        var total = whole.reduce(0) { $0 + $1.byteCount }
        if total <= keepBytes { return }
        let states = try store.readContentStates { states in
            try whole.map { (content: $0, state: try states.state(of: $0.id)) }
        }
        let inOrder = states.filter { !$0.state.isPinned }.sorted {
            ($0.state.usedMilliseconds ?? 0, $0.content.id) < ($1.state.usedMilliseconds ?? 0, $1.content.id)
        }
        let recent = environment.clock.milliseconds() - Self.openMilliseconds
        for item in inOrder where (item.state.usedMilliseconds ?? 0) < recent {
            if total <= keepBytes { break }
            if try !evictContents([item.content.id]).evicted.isEmpty { total -= item.content.byteCount }
        }
    }

    /// A content opened a shorter time ago may be in use: no pass evicts the content. In milliseconds.
    private static let openMilliseconds: Int64 = 3_600_000
}

extension Replica {
    /// Records whether contents have to stay on this device. The next pass fetches pinned contents.
    package func pinContents(_ contents: [ContentID], _ isPinned: Bool) throws {
        if contents.isEmpty { return }
        try store.noteContentStates { states in
            for content in contents { try states.setPinned(isPinned, content) }
        }
        fetching.withLock { $0.vector = nil }
    }
}
