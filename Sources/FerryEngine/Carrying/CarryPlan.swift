import FerryContainer
import FerryCore

/// A place of a `Carrier`: the source or the target.
enum CarrySide: CaseIterable {
    case from, to

    var other: CarrySide { self == .from ? .to : .from }
}

/// A pair of values, one for each place.
struct BothSides<Value> {
    var from: Value
    var to: Value

    subscript(side: CarrySide) -> Value {
        get { side == .from ? from : to }
        set { if side == .from { from = newValue } else { to = newValue } }
    }
}

extension BothSides: Sendable where Value: Sendable {}

/// Facts from a head for deciding which of two heads is newer. All but the checksum is `nil` for a sealed head, and for
/// a head of a newer Ferry.
struct HeadFacts: Equatable {
    /// Of the file's bytes.
    var checksum: Checksum
    var position: LogPosition?
    var writtenMilliseconds: Int64?
    var logStart: UInt64?
}

/// The work for making both places equal about a device: pure decisions from two listings.
///
/// - A segment is not copied if a larger segment covers it, present or to come. Nor is a segment before the log's
///   start.
/// - The place with the longer log is the author's place, else the place with the newer head. Of snapshots the place
///   with the newest manifest is the author's. Files missing in the author's place were removed there, and are not
///   brought back.
/// - Packs go before segments, because rows name them. A pack removed by the author stays in the other place.
/// - Parts of large values go before segments and snapshots, because these refer to them.
/// - The carrier removes only files removed by their author, once their successor is in both places (`superfluous`), and
///   files from before the container was sealed, once a member has removed the device's files in the other place.
struct CarryPlan: Equatable {
    /// A file to copy to the other place.
    struct Copy: Hashable {
        var file: DeviceFile
        var source: CarrySide
    }

    /// In the order of readability: records, packs, parts, segments ascending, chunks, manifests. Heads and claims are
    /// decided by their content, and come last.
    var copies: [Copy] = []
    /// Files without readers, present only outside the author's place.
    var superfluous: [Copy] = []
    /// The author's place; `nil` if both places are alike, and always were.
    var author: CarrySide?
    /// Files in both places with different lengths: one of the two is damaged.
    var uneven: [DeviceFile] = []
    /// The number of files of the time before the container was sealed that stay.
    var former = 0

    /// - Parameters:
    ///   - files: the listings, without files known as damaged.
    ///   - heads: `nil` where there is none.
    ///   - newerHead: the place with the newer head; `nil` for the same head, or none.
    ///   - home: the author's last known place.
    init(
        _ files: BothSides<DeviceFiles>, heads: BothSides<HeadFacts?>, newerHead: CarrySide?, home: CarrySide? = nil
    ) {
        let (left, right) = (files.from.segments.last?.last ?? 0, files.to.segments.last?.last ?? 0)
        author = left == right ? newerHead ?? home : left > right ? .from : .to
        for side in CarrySide.allCases {
            let missing = files[side].records.subtracting(files[side.other].records).sorted()
            copies += missing.map { Copy(file: .record($0), source: side) }
        }
        for side in CarrySide.allCases {
            let missing = files[side].packs.subtracting(files[side.other].packs).sorted()
            copies += missing.map { Copy(file: .pack($0), source: side) }
        }
        planParts(files)
        let newest = newerHead ?? .from
        planSegments(files, logStart: (heads[newest] ?? heads[newest.other])?.logStart)
        planSnapshots(files)
        planRemovalOfParts(files)
    }

    /// Plans for a device with a log from before the present membership: no member reads the log, and `ferry seal --clean` removes the
    /// files. Records and packs alone go to the other place. Packs may have bytes of documents that no other pack has yet.
    /// - Parameter presence: whether the places ever had files of the device. A place without any file now is cleaned: then nothing goes
    ///   back, and all but packs are superfluous in the other place.
    init(former files: BothSides<DeviceFiles>, presence: BothSides<Bool>) {
        for side in CarrySide.allCases {
            let (here, there) = (files[side], files[side.other])
            copies += here.records.subtracting(there.records).sorted().map { Copy(file: .record($0), source: side) }
            if presence[side.other] && there.content.isEmpty {
                superfluous += here.content.filter { !$0.isPack }.map { Copy(file: $0, source: side) }
            } else {
                copies += here.packs.subtracting(there.packs).sorted().map { Copy(file: .pack($0), source: side) }
            }
        }
        former = Set(files.from.content).union(files.to.content).count - superfluous.count
    }

    // MARK: Parts

    private mutating func planParts(_ files: BothSides<DeviceFiles>) {
        for side in CarrySide.allCases where author != side.other {
            copies += files[side].parts.subtracting(files[side.other].parts).sorted()
                .map { Copy(file: .part($0), source: side) }
        }
    }

    /// Parts missing in the author's place were removed there, unless a file from the other place may refer to them.
    private mutating func planRemovalOfParts(_ files: BothSides<DeviceFiles>) {
        guard let author else { return }
        let extra = files[author.other].parts.subtracting(files[author].parts).sorted()
            .map { Copy(file: .part($0), source: author.other) }
        if copies.contains(where: { $0.source == author.other && $0.mayReferToParts }) {
            copies = extra + copies
        } else {
            superfluous += extra
        }
    }

    // MARK: Logs

    private mutating func planSegments(_ files: BothSides<DeviceFiles>, logStart: UInt64?) {
        let covered = BothSides(from: Coverage(files.from.segments), to: Coverage(files.to.segments))
        for side in CarrySide.allCases {
            let (here, there) = (files[side], files[side.other])
            let present = Set(there.segments)
            let told = logStart ?? 0
            let start = told > 0 ? told : cut(there, side.other)
            for segment in here.segments where !present.contains(segment) {
                let isOver = segment.last < start
                let isCovered = BothSides(from: covered.from.covers(segment), to: covered.to.covers(segment))
                guard isOver || isCovered.from || isCovered.to else {
                    copies.append(Copy(file: .segment(segment), source: side))
                    continue
                }
                // Without the author's word, the beginning of a log is evidence for the author's place only.
                let isSure = isCovered.from && isCovered.to || segment.last < told || isOver && author == side.other
                if isSure, author != side { superfluous.append(Copy(file: .segment(segment), source: side)) }
            }
        }
    }

    /// The beginning of a log with an unreadable head. The author cuts a log only after a snapshot, and files are
    /// copied in ascending order. So everything before the first segment in the author's place was removed there.
    private func cut(_ files: DeviceFiles, _ side: CarrySide) -> UInt64 {
        guard author != side.other, !files.manifests.isEmpty, let first = files.segments.first else { return 0 }
        return first.first
    }

    /// The changesets covered by larger segments of a listing.
    private struct Coverage {
        private let segments: [SegmentName]
        /// The greatest last changeset up to each segment.
        private let reach: [UInt64]

        init(_ segments: [SegmentName]) {
            self.segments = segments
            var greatest: UInt64 = 0
            reach = segments.map { segment in
                greatest = max(greatest, segment.last)
                return greatest
            }
        }

        /// True if a larger segment has all changesets of this segment.
        func covers(_ segment: SegmentName) -> Bool {
            // Of segments with an equal or earlier beginning, backwards as long as any reaches far enough.
            var index = segments.partitionIndex { $0.first <= segment.first }
            while index > 0, reach[index - 1] >= segment.last {
                index -= 1
                let other = segments[index]
                if other.last >= segment.last, other.first...other.last != segment.first...segment.last { return true }
            }
            return false
        }
    }

    // MARK: Snapshots

    private mutating func planSnapshots(_ files: BothSides<DeviceFiles>) {
        let (left, right) = (files.from.manifests.last, files.to.manifests.last)
        guard left != right else {
            guard left != nil, let author else { return }
            return planRemoval(of: files, author)
        }
        let side: CarrySide =
            switch (left, right) {
            case (let left?, let right?): left > right ? .from : .to
            case (nil, _): .to
            default: .from
            }
        let (here, there) = (files[side], files[side.other])
        copies += here.chunks.subtracting(there.chunks).sorted().map { Copy(file: .chunk($0), source: side) }
        let known = Set(there.manifests)
        copies += here.manifests.filter { !known.contains($0) }.map { Copy(file: .manifest($0), source: side) }
        planRemoval(of: files, side)
    }

    private mutating func planRemoval(of files: BothSides<DeviceFiles>, _ author: CarrySide) {
        let (here, there) = (files[author], files[author.other])
        let kept = Set(here.manifests)
        superfluous += there.manifests.filter { !kept.contains($0) }
            .map { Copy(file: .manifest($0), source: author.other) }
        superfluous += there.chunks.subtracting(here.chunks).sorted()
            .map { Copy(file: .chunk($0), source: author.other) }
    }
}

extension DeviceFiles {
    /// All files but records, the head last.
    var content: [DeviceFile] {
        var all = segments.map { DeviceFile.segment($0) } + manifests.map { .manifest($0) }
        all += chunks.sorted().map { .chunk($0) } + packs.sorted().map { .pack($0) } + parts.sorted().map { .part($0) }
        if hasClaim { all.append(.claim) }
        if hasHead { all.append(.head) }
        return all
    }
}

extension DeviceFile {
    fileprivate var isPack: Bool { if case .pack = self { true } else { false } }
}

extension CarryPlan.Copy {
    fileprivate var mayReferToParts: Bool {
        switch file {
        case .segment, .manifest: true
        case .record, .claim, .pack, .part, .chunk, .head: false
        }
    }
}

extension CarryPlan {
    /// Decides which of two contents of a changing file is newer.
    /// - Parameters:
    ///   - base: the content when both places were last alike; `nil` if unknown.
    ///   - isRemovable: true for a file whose absence means a removal once both places had it.
    /// - Returns: `nil` for the same content, and where nothing tells.
    static func newer(_ now: BothSides<Checksum?>, base: Checksum?, isRemovable: Bool) -> CarrySide? {
        if now.from == now.to { return nil }
        if now.from == nil { return isRemovable && base == now.to ? .from : .to }
        if now.to == nil { return isRemovable && base == now.from ? .to : .from }
        guard let base else { return nil }
        if now.from == base { return .to }
        return now.to == base ? .from : nil
    }

    /// The place with the newer head; `nil` for equal heads, or none. For an open container the further position
    /// decides, else the change since both were alike, else the time of writing. For sealed heads the further log
    /// decides, then the same rules.
    static func newerHead(
        _ heads: BothSides<HeadFacts?>, base: Checksum?, logs: BothSides<UInt64>
    ) -> CarrySide? {
        let checksums = BothSides(from: heads.from?.checksum, to: heads.to?.checksum)
        if checksums.from == checksums.to { return nil }
        guard let left = heads.from, let right = heads.to else { return heads.from == nil ? .to : .from }
        let both = BothSides(from: left, to: right)
        let positions = [left.position, right.position].map { $0.map { ($0.sequence, $0.time) } }
        if let first = positions[0], let second = positions[1], first != second {
            return first > second ? .from : .to
        }
        if left.position == nil || right.position == nil, logs.from != logs.to {
            return logs.from > logs.to ? .from : .to
        }
        if let side = newer(checksums, base: base, isRemovable: false) { return side }
        // Without further evidence the head in `from` counts. An author who finds an older head writes the newer head
        // again.
        return (both.from.writtenMilliseconds ?? 0) >= (both.to.writtenMilliseconds ?? 0) ? .from : .to
    }
}

extension Array {
    /// The number of leading elements that satisfy a predicate. No later element may satisfy it.
    fileprivate func partitionIndex(_ isBefore: (Element) -> Bool) -> Int {
        var (low, high) = (0, count)
        while low < high {
            let middle = (low + high) / 2
            if isBefore(self[middle]) { low = middle + 1 } else { high = middle }
        }
        return low
    }
}
