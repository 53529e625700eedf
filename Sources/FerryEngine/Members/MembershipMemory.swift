import FerryContainer
import FerryCore
import FerryMembers
import FerrySeal
import FerryStore

/// A replica's memory of its container's membership, between passes. Safe to use from any thread.
///
/// Invariant: what is remembered has the records of the store, as of `count`; the store has nothing that is not here but what
/// another process added since.
final class MembershipMemory: Sendable {
    private struct State {
        var membership: Membership?
        /// The number of the store's records that are in it.
        var count = 0
        /// The directories at the last look.
        var directories: [DeviceID]?
        /// What was accepted of logs and lay in snapshots at a look, the number of records then, and when.
        var covered: (accepted: [DeviceID: LogEnding], count: Int, milliseconds: Int64)?
        /// The number of records at which nothing was due any more.
        var settledCount: Int?
        /// The digests of records in other heads for which was looked already.
        var digestsLookedFor: Set<[UInt8]> = []
        /// Claims by words that wait for a person.
        var claims: [Claim] = []
        /// Logs that other members were shown otherwise, at the last thorough sync that found anything changed.
        var forkedViews: [DeviceID: FerryError] = [:]
        /// Copies that came in and that no report has told.
        var copies: Set<DeviceID> = []
    }

    private let state = Locked(State())
    /// What lies in directories that look unchanged.
    let listings = MemberListings()

    /// The membership as the store has it.
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

    /// What is remembered of a device's membership: the whole truth while this process has the device's lock and has asked `current`
    /// since, because whoever adds records has the lock.
    func present(_ genesis: RecordHash, of device: DeviceID) -> Membership? {
        state.withLock { state in
            state.membership.flatMap { $0.genesis == genesis && $0.device == device ? $0 : nil }
        }
    }

    // MARK: Duties

    /// True if this device did what was due for as many records, so that nothing is due without a look.
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
            // A stranger's claim or record may still be on its way: then the next pass looks again.
            state.directories = look.strangers == 0 ? look.directories : nil
            state.claims = look.claims.filter { $0.way == .words }
        }
    }

    /// True if a head tells of other records for the first time.
    func isNews(_ digests: Set<[UInt8]>) -> Bool {
        state.withLock { state in
            let news = digests.subtracting(state.digestsLookedFor)
            state.digestsLookedFor = digests
            return !news.isEmpty
        }
    }

    /// Logs that other members were shown otherwise: a look compares all heads with each other, which not every sync does.
    var forkedViews: [DeviceID: FerryError] {
        get { state.withLock { $0.forkedViews } }
        set { state.withLock { $0.forkedViews = newValue } }
    }

    /// The claims by words that the last look found.
    var claims: [Claim] { state.withLock { $0.claims } }

    // MARK: Copies

    /// Keeps the copies that came in for the next report.
    func note(copies: [DeviceID]) { state.withLock { $0.copies.formUnion(copies) } }

    /// The copies that came in since the last report.
    func takeCopies() -> Set<DeviceID> {
        state.withLock { state in
            defer { state.copies = [] }
            return state.copies
        }
    }
}
