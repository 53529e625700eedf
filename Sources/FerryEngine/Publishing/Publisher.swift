import FerryContainer
import FerryCore
import FerryLog
import FerrySchema
import FerryStore

/// Puts staged segments into the container, and keeps this device's head up to date.
///
/// Every step can be repeated: a segment already present stays unchanged. A segment published but still in the outbox
/// is published again.
struct Publisher {
    let container: Container
    let store: Store
    let identity: StoreIdentity
    let packs: PackPublisher
    let clock: any WallClock
    var retention = RetentionSettings()
    /// Why nothing may be published now; `nil`: all may be.
    var hold: FerryError?
    /// True: a head that is outdated in acknowledgements and digests alone is written by a later sync. Each head costs a request
    /// here and one on every other device.
    var defersAcknowledgements = false

    /// How long a publication is announced by a process that did not make it, in milliseconds.
    private static let announcingMilliseconds: Int64 = 3_600_000

    /// Publishes everything in the outbox; small segments are joined.
    func publish(_ report: inout SyncReport, _ progress: ProgressHandler?, total: Int?) throws {
        if hold != nil { return }
        // A row never speaks of a pack that is not there. A pack that was made again has its row already, so each pass looks.
        report.count(published: try packs.publish())
        let waiting = try store.outboxSizes()
        if waiting.isEmpty { return }
        try store.makeDurable()
        let epoch = try container.sealingEpoch()
        try gather(waiting)
        while let entry = try store.outboxEntry() {
            let header = try SegmentDecoder.header(entry.bytes)
            let name = try container.segmentName(
                entry.first...entry.last, entry.checksum, of: identity.device, under: epoch)
            // Its parts come before a segment.
            let partBytes = try publishParts(of: entry, under: epoch)
            let segment = OwnSegment(
                first: entry.first, last: entry.last, changes: entry.changes, bytes: entry.bytes.count + partBytes,
                checksum: entry.checksum, time: header.lastTime, publishedMilliseconds: clock.milliseconds(),
                sealedName: container.sealedName(name, under: epoch))
            try container.publish(entry.bytes, name: name, of: identity.device, under: epoch)
            // A head never speaks of what is not there. In a remote container one head follows all segments.
            if !container.answersFromListing { try writeHead(store.reading(), published: segment) }
            try store.recordPublication(segment)
            report.published.segments += 1
            report.published.changes += entry.changes
            progress?(SyncProgress(phase: .publishing, completed: report.published.changes, total: total))
        }
        if container.answersFromListing {
            try writeHead(store.reading())
            try container.announce(identity.device)
        }
    }

    /// Puts the parts of a segment's large values into the container.
    /// - Returns: the bytes of their files.
    private func publishParts(of entry: OutboxEntry, under epoch: EpochID?) throws -> Int {
        let segment = entry.numbers
        var byteCount = 0
        for part in try store.segmentParts(of: segment) {
            let file = try store.partFile(part.checksum, of: segment)
            try container.publishPart(file, checksum: part.checksum, of: identity.device, under: epoch)
            byteCount += file.count
        }
        return byteCount
    }

    /// Announces what was published a short time ago, also by a process that ended before it could. Mostly nothing is to do.
    private func announceRecent() throws {
        guard container.answersFromListing, let newest = try store.newestOwnSegment(),
            clock.milliseconds().milliseconds(since: newest.publishedMilliseconds).magnitude
                < Self.announcingMilliseconds
        else { return }
        try container.announce(identity.device)
    }

    // MARK: Gathering

    /// Joins several waiting segments into one. The outbox has the joined segment before the container does, so the
    /// same file is published even after a crash.
    private func gather(_ waiting: [OutboxSize]) throws {
        if waiting.count < 2 { return }
        // A segment that a crash left published and not forgotten stays as it is: the head may mention the segment.
        let head = try? container.readHead(of: identity.device)  // an unreadable head says nothing
        // A segment with large values stays as it is, too: its parts are its own.
        let unpublished = waiting.filter { $0.first > head?.position.sequence ?? 0 && !$0.hasParts }
        for group in Gathering.groups(unpublished, maximumBytes: retention.gatherBytes) { try join(group) }
    }

    private func join(_ group: [OutboxSize]) throws {
        guard group.count > 1 else { return }
        var changesets: [Changeset] = []
        var headers: [SegmentHeader] = []
        for size in group {
            guard let entry = try store.outboxEntry(after: size.first - 1) else { return }
            let (header, part) = try SegmentDecoder.decode(
                entry.bytes, container: container.id, device: identity.device)
            headers.append(header)
            changesets += part
        }
        let segment: Segment
        do {
            segment = try SegmentEncoder.encode(
                changesets, container: container.id, previous: headers.first?.previous, tail: headers.last?.chainEnd)
        } catch {
            guard [.limitExceeded, .invalidArgument].contains(error.code) else { throw error }
            // Each segment was within the limits and in the order of times; together they are not. Tries halves.
            try join(Array(group.prefix(group.count / 2)))
            return try join(Array(group.dropFirst(group.count / 2)))
        }
        try store.gatherInOutbox(
            OutboxEntry(
                first: segment.firstSequence, last: segment.lastSequence,
                changes: group.reduce(0) { $0 + $1.changes }, checksum: segment.checksum, bytes: segment.bytes))
    }

    // MARK: The head

    /// Writes the head if its content is outdated, or so old that this device might be taken for silent.
    /// - Parameters:
    ///   - reading: the store's present knowledge.
    ///   - others: other devices' heads. If a head lists this device as retired, a new head contradicts.
    func refreshHead(_ reading: StoreSummary, others: [DeviceID: Head] = [:]) throws {
        if hold != nil { return }
        let present = try? container.readHead(of: identity.device)  // a damaged or foreign head is written anew
        if let present, try isCurrent(present, reading),
            !DeviceActivity.isRetired(identity.device, written: present.writtenMilliseconds, heads: others)
        {
            return try announceRecent()
        }
        try writeHead(reading)
        try announceRecent()
    }

    private func isCurrent(_ head: Head, _ reading: StoreSummary) throws -> Bool {
        let vector = reading.vector
        let own = vector[identity.device]
        let age = clock.milliseconds().milliseconds(since: head.writtenMilliseconds)
        return try (defersAcknowledgements || head.acknowledgements == acknowledgements(vector))
            && equalBytes(head.deviceName, identity.deviceName) && head.position.sequence >= own.sequence
            && (defersAcknowledgements || head.position.sequence > own.sequence || head.digests == digests(reading))
            && age.magnitude < retention.heartbeatMilliseconds.magnitude
            && head.logStart == reading.logStart && head.retired == retired(reading)
            && head.missing == missing(reading) && tellsMembership(head, reading)
    }

    /// True if a head tells what this device knows of the membership of a sealed container.
    private func tellsMembership(_ head: Head, _ reading: StoreSummary) throws -> Bool {
        guard let epoch = try container.sealingEpoch() else { return true }
        let present = try sealedPart(reading, nil, under: epoch)
        return head.sealed?.knowledge == present?.knowledge
            && (defersAcknowledgements || head.sealed?.chainEnds == present?.chainEnds)
            && head.sealed?.oldestEpoch == present?.oldestEpoch
    }

    /// What a head of a sealed container says beside.
    private func sealedPart(
        _ reading: StoreSummary, _ segment: OwnSegment?, under epoch: EpochID
    ) throws -> Head.SealedPart? {
        guard let seal = container.seal else { return nil }
        let others = acknowledgements(reading.vector)
        let chainEnds = reading.checksums.filter { others[$0.key] != nil }.mapValues(\.high).filter { $0.value != 0 }
        // The head itself is sealed under the present epoch.
        let snapshots = Compactor.notes(in: reading).ownSnapshots.compactMap(\.epoch)
        let contents = try reading.hasDocuments ? store.contentEpochs().map(container.number).filter { $0 > 0 } : []
        let oldest = [reading.oldestSegmentEpoch, snapshots.min(), contents.min(), container.number(of: epoch)]
        return Head.SealedPart(
            lastSegmentHash: segment?.sealedName?.hash ?? 0, chainEnds: chainEnds,
            oldestEpoch: oldest.compactMap { $0 }.min() ?? 0, knowledge: seal.knowledge)
    }

    private func digests(_ reading: StoreSummary) -> [UInt32: UInt64] {
        TableDigests.published(reading.tables, atMost: Head.maximumDigests)
    }

    private func missing(_ reading: StoreSummary) throws -> [ObjectID] {
        reading.isMissingObjects ? try store.missingObjects(atMost: Head.maximumMissing) : []
    }

    private func acknowledgements(_ vector: VersionVector) -> [DeviceID: LogPosition] {
        vector.positions.filter { $0.key != identity.device }
    }

    /// The devices retired in this store.
    private func retired(_ reading: StoreSummary) -> [DeviceID: Int64] {
        let pairs = reading.devices.filter { $0.id != identity.device }.compactMap { record in
            record.retiredMilliseconds.map { (record.id, $0) }
        }
        return Dictionary(uniqueKeysWithValues: pairs.prefix(Head.maximumRetired))
    }

    /// Writes the head.
    /// - Parameter published: the segment just published; `nil`: the position comes from the store.
    func writeHead(_ reading: StoreSummary, published: OwnSegment? = nil) throws {
        let vector = reading.vector
        let own = vector[identity.device]
        var position = own
        if let published { position = LogPosition(sequence: published.last, time: published.time) }
        let segment = try published ?? store.newestOwnSegment().flatMap { $0.last == own.sequence ? $0 : nil }
        let checksum = segment?.checksum ?? reading.checksums[identity.device]
        var head = Head(
            container: container.id, device: identity.device, deviceName: identity.deviceName, position: position,
            lastSegmentFirst: segment?.first ?? 0, lastSegmentChecksum: checksum ?? Checksum(high: 0, low: 0),
            acknowledgements: acknowledgements(vector), writtenMilliseconds: clock.milliseconds(),
            softwareVersion: FerryVersion.current,
            // Digests cover everything packed: while segments wait in the outbox, no device could compare them.
            digests: position.sequence == own.sequence ? digests(reading) : [:])
        head.logStart = reading.logStart
        head.retired = retired(reading)
        head.predecessor = reading.formerDevices.first.map { Head.Predecessor($0) }
        // While segments wait, some changes of the former device may not be sent again yet.
        if position.sequence != own.sequence { head.predecessor?.end = nil }
        head.missing = try missing(reading)
        let epoch = try container.sealingEpoch()
        if let epoch { head.sealed = try sealedPart(reading, segment, under: epoch) }
        try container.writeHead(head, under: epoch)
    }
}

/// Decides which waiting segments are joined: a pure function of their sizes.
enum Gathering {
    /// The maximum number of operations in a joined segment: a reader holds a whole segment in memory.
    static let maximumChanges = Store.maximumNotes

    /// Consecutive entries in groups within the bounds; an entry too large stays alone.
    static func groups(_ entries: [OutboxSize], maximumBytes: Int) -> [[OutboxSize]] {
        var groups: [[OutboxSize]] = []
        var (bytes, changes) = (0, 0)
        for entry in entries {
            let isNext = groups.last?.last.map { $0.last + 1 == entry.first } ?? false
            let changesets = groups.last?.first.map { entry.last - $0.first + 1 } ?? 0
            if isNext, bytes + entry.bytes <= maximumBytes, changes + entry.changes <= maximumChanges,
                changesets <= UInt64(SegmentLimits.changesets)
            {
                groups[groups.count - 1].append(entry)
                (bytes, changes) = (bytes + entry.bytes, changes + entry.changes)
            } else {
                groups.append([entry])
                (bytes, changes) = (entry.bytes, entry.changes)
            }
        }
        return groups
    }
}

/// The version of this Ferry.
package enum FerryVersion {
    package static let current = "0.1.0"
}
