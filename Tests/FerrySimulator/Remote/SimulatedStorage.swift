import FerryContainer
import FerryCore

/// An object storage, common to all devices of a life: a `MemoryStorage` with former states.
///
/// Time is the simulation's. Listings of a lagging storage are those of an index, which is renewed from time to time.
final class SimulatedStorage {
    let memory: MemoryStorage
    let kind: ProviderKind
    /// How far listings lag behind at most, in milliseconds; 0: not at all.
    let lagMilliseconds: Int64
    /// The most objects of a page.
    let pageSize: Int
    private let time: SimulatedClock.Time
    /// Every content sent here, for the search of sealed lives.
    private(set) var everything: [(path: String, content: [UInt8])] = []
    /// Former states, the last one last.
    private(set) var moments: [[String: [UInt8]]] = []
    private static let maximumMoments = 40
    /// The state of lagging listings, and the time of its renewal.
    private var index: (storage: MemoryStorage, milliseconds: Int64)?
    /// When each key was last written.
    private var written: [String: Int64] = [:]
    /// The end of an object's time without an answer.
    private var unreadableUntil: Int64?

    /// - Parameter random: decides how good the storage is.
    init(_ kind: ProviderKind, _ time: SimulatedClock.Time, _ random: SimulatedRandom) {
        self.kind = kind
        self.time = time
        let isLagging = kind == .laggingRemote
        pageSize = [20, ObjectPage.maximumObjects][random.below(2)]
        lagMilliseconds = isLagging ? [2000, 60_000, 300_000][random.below(3)] : 0
        // Requests side by side would have an order of their own each time.
        memory = MemoryStorage(
            pageSize: pageSize,
            traits: StorageTraits(
                isConsistent: !isLagging, minimumWriteMilliseconds: Self.writeMilliseconds, maximumParallel: 1))
        memory.setHonoursConditions(!isLagging && !random.isOne(in: 4))
    }

    /// The least time between two writes of a key in a lagging storage, in milliseconds.
    private static let writeMilliseconds = 1000

    /// The location of the container for Ferry.
    var place: String { kind == .laggingRemote ? "rclone:drive:container" : "s3://bucket/container" }

    /// The kind of the location for openers of places.
    var scheme: String { kind == .laggingRemote ? "rclone" : "s3" }

    /// The simulation's time, in milliseconds since the Unix epoch.
    var now: Int64 { time.milliseconds }

    /// The pages of a listing.
    var pageCount: Int { memory.contents.count / pageSize + 1 }

    /// Lets a request take so long.
    func pass(milliseconds: Int64) { time.milliseconds += milliseconds }

    // MARK: Former states

    /// Keeps the present state as a former one.
    func remember() {
        let contents = memory.contents
        if moments.last == contents { return }
        moments.append(contents)
        if moments.count > Self.maximumMoments { moments.removeFirst() }
    }

    /// A storage with a former state, which answers reads and listings as this one does.
    func storage(of contents: [String: [UInt8]]) -> MemoryStorage {
        let storage = MemoryStorage(pageSize: pageSize, traits: memory.traits)
        storage.restore(contents)
        return storage
    }

    /// The state of lagging listings; `nil` where listings do not lag.
    func laggingIndex() -> MemoryStorage? {
        if lagMilliseconds == 0 { return nil }
        if let index, (0..<lagMilliseconds).contains(now - index.milliseconds) { return index.storage }
        let renewed = storage(of: memory.contents)
        index = (renewed, now)
        return renewed
    }

    /// Lets so much time pass that listings show the present state.
    func catchUp() { pass(milliseconds: lagMilliseconds) }

    // MARK: Writes

    /// Notes the content of a write.
    func note(_ path: String, _ content: [UInt8]) { everything.append((path, content)) }

    /// Waits until a key may be written again: one write a second in a lagging storage.
    func awaitTurn(of key: String) {
        if kind != .laggingRemote { return }
        if let last = written[key] {
            let wait = last + Int64(Self.writeMilliseconds) - now
            if wait > 0 { pass(milliseconds: min(wait, Int64(Self.writeMilliseconds))) }
        }
        written[key] = now
    }

    // MARK: Faults

    /// Makes an object unreadable for all devices, for a while.
    func makeUnreadable(_ key: String, _ code: FerryError.Code, milliseconds: Int64) {
        memory.setUnreadable([key], code)
        unreadableUntil = now + milliseconds
    }

    /// Ends what is over by now.
    func expire() {
        guard let end = unreadableUntil, end <= now else { return }
        memory.setUnreadable([])
        unreadableUntil = nil
    }

    /// True if no fault of the storage itself is left.
    var isHonest: Bool { unreadableUntil.map { $0 <= now } ?? true }

    /// Ends all faults. A lagging storage goes on lagging.
    func becomeHonest() {
        memory.recover()
        memory.setUnreadable([])
        unreadableUntil = nil
    }
}
