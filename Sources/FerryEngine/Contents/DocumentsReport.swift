/// The work of a sync for contents of documents and attachments. The JSON keys are fixed: scripts rely on them.
public struct DocumentsReport: Codable, Equatable, Sendable {
    /// How many packs went into the container, and their bytes.
    public var published = 0
    public var publishedBytes = 0
    /// How many contents were fetched, and their bytes.
    public var fetched = 0
    public var fetchedBytes = 0
    /// How many contents are wanted and cannot be fetched now: `ferry documents list` says why.
    public var waiting = 0
    /// How many contents are wanted, can be fetched, and are left for the next pass.
    public var remaining = 0

    package init() {}

    /// True if anything was sent or fetched.
    var hasNews: Bool { published > 0 || fetched > 0 }
}

extension SyncReport {
    /// Adds a pass that followed at once, to fetch the remaining contents.
    package mutating func add(_ next: SyncReport) {
        published.segments += next.published.segments
        published.changes += next.published.changes
        replayed.segments += next.replayed.segments
        replayed.changes += next.replayed.changes
        conflicts += next.conflicts
        (hidden, waiting) = (next.hidden, next.waiting)
        durationMilliseconds += next.durationMilliseconds
        guard let more = next.documents else {
            documents?.remaining = 0
            return
        }
        var sum = documents ?? DocumentsReport()
        sum.published += more.published
        sum.publishedBytes += more.publishedBytes
        sum.fetched += more.fetched
        sum.fetchedBytes += more.fetchedBytes
        (sum.waiting, sum.remaining) = (more.waiting, more.remaining)
        documents = sum
    }

    /// Counts published packs.
    mutating func count(published: (packs: Int, bytes: Int)) {
        if published.packs == 0 { return }
        var report = documents ?? DocumentsReport()
        report.published += published.packs
        report.publishedBytes += published.bytes
        documents = report
    }
}
