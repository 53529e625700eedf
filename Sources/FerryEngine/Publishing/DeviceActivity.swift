import FerryContainer
import FerryCore
import FerryStore

/// Which of the other devices count: a pure function of what the store remembers and what heads say.
///
/// A device is *active* while its heads change now and then: what it has not replayed yet is kept for it. One that was
/// retired, or of which nothing was heard for `RetentionSettings.silentAfterMilliseconds`, holds nothing back; what is
/// collected meanwhile it gets from a snapshot when it returns.
struct DeviceActivity {
    enum State: String, Sendable {
        case active, silent, retired
    }

    struct Peer {
        var record: DeviceRecord
        /// Its head, where it could be read.
        var head: Head?
        var state: State

        /// How far it has replayed a device's log; of its own, how far that goes.
        func position(of device: DeviceID) -> LogPosition {
            if device == record.id { return head?.position ?? .none }
            return head?.acknowledgements[device] ?? .none
        }
    }

    let own: DeviceID
    /// All other devices, in the order of their IDs.
    let peers: [Peer]

    /// - Parameters:
    ///   - records: as the store has them, `notes` included.
    ///   - heads: those that could be read.
    init(
        own: DeviceID, records: [DeviceRecord], heads: [DeviceID: Head], now: Int64, _ settings: RetentionSettings
    ) {
        self.own = own
        // Of a device that only contexts and stamps name nothing is to be expected.
        let present = records.filter { $0.id != own && ($0.heardMilliseconds != nil || heads[$0.id] != nil) }
        // Places are sorted, because records are large.
        peers = present.indices.sorted { present[$0].id < present[$1].id }.map { place in
            let record = present[place]
            let head = heads[record.id]
            var state = State.active
            if let heard = record.heardMilliseconds, now.milliseconds(since: heard) > settings.silentAfterMilliseconds {
                state = .silent
            }
            if Self.retirement(record, head, told: record.retiredMilliseconds) != nil { state = .retired }
            return Peer(record: record, head: head, state: state)
        }
    }

    /// The retirement that still holds: one that was made when the device had the head that it has now, or a later one.
    private static func retirement(_ record: DeviceRecord, _ head: Head?, told: Int64?) -> Int64? {
        guard let told else { return nil }
        let written = max(record.writtenMilliseconds ?? .min, head?.writtenMilliseconds ?? .min)
        return written > told ? nil : told
    }

    // MARK: What to remember

    /// What the store has to note after a look at the container: the records that change. A head that differs from the
    /// last one noted was heard now; that is noted at most once in `heardGranularityMilliseconds`.
    /// - Parameters:
    ///   - records: as the store has them.
    ///   - devices: those that have a directory in the container.
    static func notes(
        own: DeviceID, records: [DeviceRecord], heads: [DeviceID: Head], devices: [DeviceID], now: Int64,
        _ settings: RetentionSettings
    ) -> [DeviceRecord] {
        var told: [DeviceID: Int64] = [:]
        for head in heads.values where !head.retired.isEmpty { told.merge(head.retired) { max($0, $1) } }
        let known = Set(records.lazy.map(\.id))
        let strangers = devices.filter { $0 != own && !known.contains($0) }
            .map { DeviceRecord(id: $0, name: heads[$0]?.deviceName ?? "") }
        func noted(_ record: DeviceRecord) -> DeviceRecord? {
            noting(
                heads[record.id], in: record, told: told[record.id], isThere: { devices.contains(record.id) }, now,
                settings)
        }
        let news = records.compactMap { $0.id == own ? nil : noted($0) } + strangers.map { noted($0) ?? $0 }
        return news.sorted { $0.id < $1.id }
    }

    /// A record with what a look shows of its device; `nil` where that is nothing new.
    /// - Parameters:
    ///   - told: when the head was written that the device had when others retired it.
    ///   - isThere: whether it has a directory.
    private static func noting(
        _ head: Head?, in former: DeviceRecord, told: Int64?, isThere: () -> Bool, _ now: Int64,
        _ settings: RetentionSettings
    ) -> DeviceRecord? {
        let latest = now + settings.heardGranularityMilliseconds
        if let head, let heard = former.heardMilliseconds, heard <= latest, told == nil,
            former.retiredMilliseconds == nil, former.writtenMilliseconds == head.writtenMilliseconds
        {
            return nil
        }
        var record = former
        let retirements = [former.retiredMilliseconds, told].compactMap { $0 }
        record.retiredMilliseconds = retirement(former, head, told: retirements.max())
        if let head {
            let isRetirementNews = record.retiredMilliseconds != former.retiredMilliseconds || !retirements.isEmpty
            note(head, in: &record, isNeeded: isRetirementNews, now, settings)
        } else if record.heardMilliseconds == nil, isThere() {
            record.heardMilliseconds = now
        }
        // A clock that was set back must not keep a device active for years.
        if let heard = record.heardMilliseconds, heard > latest { record.heardMilliseconds = now }
        return record == former ? nil : record
    }

    private static func note(
        _ head: Head, in record: inout DeviceRecord, isNeeded: Bool, _ now: Int64, _ settings: RetentionSettings
    ) {
        guard let written = record.writtenMilliseconds, let heard = record.heardMilliseconds else {
            // Nobody can say how long this head has been lying there.
            record.heardMilliseconds = max(min(now, head.writtenMilliseconds), 0)
            record.writtenMilliseconds = head.writtenMilliseconds
            return
        }
        if head.writtenMilliseconds == written { return }
        if !isNeeded, now.milliseconds(since: heard) < settings.heardGranularityMilliseconds { return }
        record.heardMilliseconds = now
        record.writtenMilliseconds = head.writtenMilliseconds
    }

    /// Whether some device holds this one for retired though it is not: its next head says so.
    static func isRetired(_ own: DeviceID, written: Int64, heads: [DeviceID: Head]) -> Bool {
        heads.values.contains { head in head.retired[own].map { $0 >= written } ?? false }
    }

    // MARK: What everybody has

    var active: [Peer] { peers.filter { $0.state == .active } }

    /// How far every active device has replayed this one's log, all of it where there is no other.
    /// - Parameters:
    ///   - end: the number of the last changeset.
    ///   - times: of changesets, by their numbers, as far as they are known. Who acknowledges another one under such a number, or
    ///     more than there is, has read what a copy of this database published.
    func acknowledged(
        of end: UInt64, times: [UInt64: HybridTime] = [:], without device: DeviceID? = nil
    ) -> UInt64 {
        var least: UInt64?
        // In place: a copy of a head is a copy of all that it refers to, and every look asks this of all devices.
        for place in peers.indices where peers[place].state == .active && peers[place].record.id != device {
            let position = peers[place].head?.acknowledgements[own] ?? .none
            let isOwn = position.sequence <= end && times[position.sequence].map { $0 == position.time } ?? true
            least = min(least ?? position.sequence, isOwn ? position.sequence : 0)
        }
        return least ?? end
    }

    /// What every device that counts has replayed, this one included: deletions that it covers need no tombstones.
    ///
    /// Counted are the active devices, and of the others those that could still replay all of every log where they
    /// stopped: one that the beginning of some log has left behind gets a snapshot first.
    /// - Parameters:
    ///   - vector: what this store has replayed.
    ///   - logStart: where this device's own log begins in the container.
    /// - Returns: `nil` where it cannot be told: an active device's head cannot be read, or speaks of changes of its own
    ///   that are not replayed here.
    func stableVector(
        _ vector: VersionVector, logStart: UInt64, late: [DeviceID: UInt64],
        shared: (DeviceID, LogPosition) throws -> LogPosition
    ) rethrows -> VersionVector? {
        let counted = peers.filter { $0.state == .active || !isLeftBehind($0, logStart: logStart) }
        for peer in counted {
            guard let head = peer.head, head.position.sequence <= vector[peer.record.id].sequence else { return nil }
        }
        var stable: [DeviceID: LogPosition] = [:]
        for (device, position) in vector.positions {
            let least = try counted.reduce(position) { least, peer in
                if least.sequence == 0 { return .none }
                let other = try shared(device, peer.position(of: device))
                return LogPosition(
                    sequence: min(least.sequence, other.sequence), time: min(least.time, other.time))
            }
            stable[device] = least.sequence < late[device] ?? 0 ? LogPosition.none : least
        }
        return VersionVector(stable)
    }

    /// The same where each log is one, and says nothing twice.
    func stableVector(_ vector: VersionVector, logStart: UInt64) -> VersionVector? {
        stableVector(vector, logStart: logStart, late: [:], shared: { $1 })
    }

    /// Whether a device that does not hold anything back has to start from a snapshot when it returns.
    func isLeftBehind(_ peer: Peer, logStart: UInt64) -> Bool {
        if peer.state == .active { return false }
        var starts = Dictionary(
            peers.compactMap { other in other.head.map { (other.record.id, $0.logStart) } },
            uniquingKeysWith: { first, _ in first })
        starts[own] = logStart
        return starts.contains { device, start in
            device != peer.record.id && start > peer.position(of: device).sequence + 1
        }
    }
}
