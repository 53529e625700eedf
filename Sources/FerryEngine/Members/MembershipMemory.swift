import FerryContainer
import FerryCore
import FerryMembers
import FerrySeal
import FerryStore

/// A replica's memory of the container's membership, between passes. Safe to use from any thread.
///
/// Invariant: the memory has the records of the store, as of `count`. The store has no more records than these and
/// later records by other processes.
final class MembershipMemory: Sendable {
    private struct State {
        var membership: Membership?
        /// The number of the store's records in the memory.
        var count = 0
        /// The directories at the last look.
        var directories: [DeviceID]?
        /// The accepted logs covered by snapshots at a scan, the number of records at the time, and the time.
        var covered: (accepted: [DeviceID: LogEnding], count: Int, milliseconds: Int64)?
        /// The number of records at which nothing was due any more.
        var settledCount: Int?
        /// The digests of records in other heads that were looked for already.
        var digestsLookedFor: Set<[UInt8]> = []
        /// Claims by words, waiting for a person.
        var claims: [Claim] = []
        var lateClaims = 0
        /// Damaged files of records at the last look, without those that this device mended. By the devices of their directories.
        var damagedRecords: [DeviceID: FerryError] = [:]
        /// Logs shown differently to other members, at the last thorough sync with any change.
        var forkedViews: [DeviceID: FerryError] = [:]
        /// Admitted copies without a report so far.
        var copies: Set<DeviceID> = []
    }

    private let state = Locked(State())
    /// The names in directories that look unchanged.
    let listings = MemberListings()

    /// The membership in the store's present state.
    /// - Parameters:
    ///   - load: loads the keys of the device.
    ///   - records: reads the store's records after the first so many.
    func current(
        _ genesis: RecordHash, of device: DeviceID, count: Int, load: () throws -> KeyFile,
        records: (Int) throws -> [StoredRecord]
    ) throws -> Membership {
        let known = state.withLock { state -> (Membership, Int)? in
            guard let membership = state.membership, membership.genesis == genesis, membership.device == device
            else { return nil }
            return (membership, state.count)
        }
        if let known, known.1 == count { return known.0 }
        var membership: Membership
        var start = 0
        if let known, known.1 < count {
            (membership, start) = known
        } else {
            let file = try load()
            guard file.genesis == genesis.bytes else {
                throw FerryError(
                    .keyMissing, "The key of this database is for another membership of the container.", device: device)
            }
            membership = Membership(keys: file.keys, genesis: genesis, highestEpoch: file.highestEpoch)
        }
        let stored = try records(start)
        try membership.insert(
            stored.map { try MemberRecord(decoding: $0.bytes, container: membership.container) }, areVerified: true)
        keep(membership, count: start + stored.count)
        return membership
    }

    func keep(_ membership: Membership, count: Int) {
        state.withLock { state in
            state.membership = membership
            state.count = count
        }
    }

    func forget() { state.withLock { $0 = State() } }

    /// The remembered membership of a device. Under the device's lock, and after a call of `current`, the memory is
    /// complete, because everybody who adds records holds the lock.
    func present(_ genesis: RecordHash, of device: DeviceID) -> Membership? {
        state.withLock { state in
            state.membership.flatMap { $0.genesis == genesis && $0.device == device ? $0 : nil }
        }
    }

    // MARK: Duties

    /// True if this device did all duties at this number of records. Without a scan nothing is due then.
    func isSettled(at count: Int) -> Bool { state.withLock { $0.settledCount == count } }

    func noteSettled(at count: Int) { state.withLock { $0.settledCount = count } }

    /// True if snapshots had all this at a look a little while ago, with as many records.
    func areCovered(_ accepted: [DeviceID: LogEnding], at count: Int, _ now: Int64) -> Bool {
        state.withLock { state in
            guard let covered = state.covered, covered.count == count, covered.accepted == accepted else {
                return false
            }
            return UnchangedLogs.holds(covered.milliseconds...covered.milliseconds, at: now)
        }
    }

    func noteCovered(_ accepted: [DeviceID: LogEnding], at count: Int, _ now: Int64) {
        state.withLock { $0.covered = (accepted, count, now) }
    }

    // MARK: Looks

    /// True if the directories are those of the last look.
    func hasLooked(at directories: [DeviceID]) -> Bool { state.withLock { $0.directories == directories } }

    func noteLook(at look: MemberReader.Look) {
        state.withLock { state in
            // A stranger's claim or record may still be on the way: then the next pass scans again.
            // So may the rest of a record.
            state.directories = look.strangers.isEmpty && look.unread.isEmpty ? look.directories : nil
            state.claims = look.claims.filter { $0.way == .words }
        }
    }

    /// True if a head announces unknown records that nobody has looked for.
    func isNews(_ digests: Set<[UInt8]>) -> Bool {
        state.withLock { !digests.subtracting($0.digestsLookedFor).isEmpty }
    }

    /// Notes the digests in the heads, after the look for their records has ended well.
    func noteLook(for digests: Set<[UInt8]>) { state.withLock { $0.digestsLookedFor = digests } }

    /// Logs shown differently to other members. The search compares all heads with each other, so not every sync makes
    /// it.
    var forkedViews: [DeviceID: FerryError] {
        get { state.withLock { $0.forkedViews } }
        set { state.withLock { $0.forkedViews = newValue } }
    }

    /// The claims by words from the last scan.
    var claims: [Claim] { state.withLock { $0.claims } }

    /// The number of requests by a code of this device that are too old to count.
    var lateClaims: Int {
        get { state.withLock { $0.lateClaims } }
        set { state.withLock { $0.lateClaims = newValue } }
    }

    /// Damaged files of records: the first of each device.
    var damagedRecords: [DeviceID: FerryError] { state.withLock { $0.damagedRecords } }

    func note(damaged files: [MemberReader.Damaged], _ roster: Roster) {
        // Anybody may put files into directories of nobody.
        let known = files.filter { !roster.isUnknown($0.device) }.map { ($0.device, $0.stall) }
        state.withLock { $0.damagedRecords = Dictionary(known) { first, _ in first } }
    }

    // MARK: Copies

    /// Keeps admitted copies for the next report.
    func note(copies: [DeviceID]) { state.withLock { $0.copies.formUnion(copies) } }

    /// The copies admitted since the last report.
    func takeCopies() -> Set<DeviceID> {
        state.withLock { state in
            defer { state.copies = [] }
            return state.copies
        }
    }
}
