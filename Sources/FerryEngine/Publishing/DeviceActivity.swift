import FerryContainer
import FerryCore
import FerryStore

/// Decides which other devices count: a pure function of the store's records and of heads.
///
/// - An *active* device's head changes now and then: the container keeps everything that the device has not replayed.
/// - A *retired* device, or a device silent for `RetentionSettings.silentAfterMilliseconds`, holds nothing back. After
///   its return, the device gets removed changes from a snapshot.
struct DeviceActivity {
    typealias State = StatusReport.Peer.Activity

    struct Peer {
        var record: DeviceRecord
        /// The device's head; `nil` if unreadable.
        var head: Head?
        var state: State

        /// How far the device has replayed the log of `device`; for its own log, how far the log goes.
        func position(of device: DeviceID) -> LogPosition {
            if device == record.id { return head?.position ?? .none }
            return head?.acknowledgements[device] ?? .none
        }
    }

    let own: DeviceID
    /// All other devices, in the order of their IDs.
    let peers: [Peer]
    /// True: no deletion is forgotten for now.
    var remembersDeletions = false

    /// - Parameters:
    ///   - records: the store's records, with `notes` included.
    ///   - heads: the readable heads.
    init(
        own: DeviceID, records: [DeviceRecord], heads: [DeviceID: Head], now: Int64, _ settings: RetentionSettings
    ) {
        self.own = own
        // Devices known only from contexts and stamps are not expected to appear.
        let present = records.filter { $0.id != own && ($0.heardMilliseconds != nil || heads[$0.id] != nil) }
        // Sorts positions, because records are large.
        peers = present.indices.sorted { present[$0].id < present[$1].id }.map { place in
            let record = present[place]
            let head = heads[record.id]
            var state = State.active
            if Self.isSilent(record, now, settings) { state = .silent }
            if Self.retirement(record, head, told: record.retiredMilliseconds) != nil { state = .retired }
            return Peer(record: record, head: head, state: state)
        }
    }

    /// True if a device was heard, and long ago.
    static func isSilent(_ record: DeviceRecord, _ now: Int64, _ settings: RetentionSettings) -> Bool {
        record.heardMilliseconds.map { now.milliseconds(since: $0) > settings.silentAfterMilliseconds } ?? false
    }

    /// Returns the retirement if still valid: no newer head of the device is known.
    private static func retirement(_ record: DeviceRecord, _ head: Head?, told: Int64?) -> Int64? {
        guard let told else { return nil }
        let written = max(record.writtenMilliseconds ?? .min, head?.writtenMilliseconds ?? .min)
        return written > told ? nil : told
    }

    // MARK: What to remember

    /// The container's devices at a time.
    struct Sight {
        var heads: [DeviceID: Head]
        /// The devices with a directory.
        var devices: [DeviceID]
        /// In milliseconds since the Unix epoch.
        var now: Int64
    }

    /// The records to change after a look at the container. A head unlike the last recorded head was seen now; last
    /// seen is recorded at most once in `heardGranularityMilliseconds`.
    /// - Parameter records: the store's records.
    static func notes(
        own: DeviceID, records: [DeviceRecord], _ sight: Sight, _ settings: RetentionSettings
    ) -> [DeviceRecord] {
        let heads = sight.heads
        var told: [DeviceID: Int64] = [:]
        for head in heads.values where !head.retired.isEmpty { told.merge(head.retired) { max($0, $1) } }
        let known = Set(records.lazy.map(\.id))
        let strangers = sight.devices.filter { $0 != own && !known.contains($0) }
            .map { DeviceRecord(id: $0, name: heads[$0]?.deviceName ?? "") }
        func noted(_ record: DeviceRecord) -> DeviceRecord? {
            noting(sight, in: record, told: told[record.id], settings)
        }
        let news = records.compactMap { $0.id == own ? nil : noted($0) } + strangers.map { noted($0) ?? $0 }
        return news.sorted { $0.id < $1.id }
    }

    /// Returns a record updated by a look at its device; `nil` without news.
    /// - Parameter told: the time of the device's head when other devices retired the device.
    private static func noting(
        _ sight: Sight, in former: DeviceRecord, told: Int64?, _ settings: RetentionSettings
    ) -> DeviceRecord? {
        let (head, now) = (sight.heads[former.id], sight.now)
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
        } else if record.heardMilliseconds == nil, sight.devices.contains(former.id) {
            record.heardMilliseconds = now
        }
        // A clock set back must not keep a device active for years.
        if let heard = record.heardMilliseconds, heard > latest { record.heardMilliseconds = now }
        return record == former ? nil : record
    }

    private static func note(
        _ head: Head, in record: inout DeviceRecord, isNeeded: Bool, _ now: Int64, _ settings: RetentionSettings
    ) {
        guard let written = record.writtenMilliseconds, let heard = record.heardMilliseconds else {
            // The age of this head is unknown.
            record.heardMilliseconds = max(min(now, head.writtenMilliseconds), 0)
            record.writtenMilliseconds = head.writtenMilliseconds
            return
        }
        if head.writtenMilliseconds == written { return }
        if !isNeeded, now.milliseconds(since: heard) < settings.heardGranularityMilliseconds { return }
        record.heardMilliseconds = now
        record.writtenMilliseconds = head.writtenMilliseconds
    }

    /// True if another device takes this device for retired although this device is active: the next head here corrects
    /// this.
    static func isRetired(_ own: DeviceID, written: Int64, heads: [DeviceID: Head]) -> Bool {
        heads.values.contains { head in head.retired[own].map { $0 >= written } ?? false }
    }

    // MARK: What all devices have

    var active: [Peer] { peers.filter { $0.state == .active } }

    /// How far every active device has replayed this device's log; the whole log without any active device.
    /// - Parameters:
    ///   - end: the number of the last changeset.
    ///   - times: known times of changesets, by number. A device with another time at such a number, or with a number
    ///     beyond `end`, has read changesets of a copy of this database.
    func acknowledged(
        of end: UInt64, times: [UInt64: HybridTime] = [:], without device: DeviceID? = nil
    ) -> UInt64 {
        var least: UInt64?
        // Reads peers in place: copying a head retains everything in the head, and every look needs this for all
        // devices.
        for place in peers.indices where peers[place].state == .active && peers[place].record.id != device {
            let position = peers[place].head?.acknowledgements[own] ?? .none
            let isOwn = position.sequence <= end && times[position.sequence].map { $0 == position.time } ?? true
            least = min(least ?? position.sequence, isOwn ? position.sequence : 0)
        }
        return least ?? end
    }

    /// Returns the lowest acknowledgement of a log among active devices with readable heads, without the log's author.
    /// - Parameter end: the result if all devices have as much.
    func acknowledged(of device: DeviceID, before end: UInt64) -> UInt64 {
        var least = end
        for place in peers.indices where peers[place].state == .active && peers[place].record.id != device {
            guard let head = peers[place].head else { continue }
            least = min(least, head.acknowledgements[device]?.sequence ?? 0)
        }
        return least
    }

    /// What every counted device has replayed, this device included: deletions below need no tombstones.
    ///
    /// Counted are active devices, and devices that could still replay every log from their positions. A device left
    /// behind by the beginning of a log gets a snapshot first.
    /// - Parameters:
    ///   - vector: the changesets that this store has replayed.
    ///   - logStart: the first changeset of this device's log in the container.
    ///   - late: for each device with backdated changes, a sequence; below this sequence nothing is stable.
    ///   - shared: the part of a position that this device shares, where a log is forked.
    /// - Returns: `nil` if unknown: a counted device's head is unreadable, or announces changes of its own not replayed
    ///   here. Also `nil` while no deletion is forgotten (`remembersDeletions`).
    func stableVector(
        _ vector: VersionVector, logStart: UInt64, late: [DeviceID: UInt64],
        shared: (DeviceID, LogPosition) throws -> LogPosition
    ) rethrows -> VersionVector? {
        if remembersDeletions { return nil }
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

    /// The same without forked logs and backdated changes.
    func stableVector(_ vector: VersionVector, logStart: UInt64) -> VersionVector? {
        stableVector(vector, logStart: logStart, late: [:], shared: { $1 })
    }

    /// True if a device that holds nothing back must start from a snapshot after its return.
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
