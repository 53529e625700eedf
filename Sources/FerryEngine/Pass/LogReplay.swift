import FerryCore
import FerryStore

/// Replays the changesets from the logs of the remaining devices, so a faulty log stops alone.
///
/// 1. The whole batch is replayed in one transaction, or in slices while another program writes (`ReplaySlices`).
/// 2. If step 1 fails, local changes are packed alone: their failure is no log's fault.
/// 3. Then each device's part is tried in a separate transaction. Of a failing part, as much is replayed as possible.
struct LogReplay {
    private let store: Store
    private let device: DeviceID
    private let encode: SegmentEncoding
    private let others: OtherWriters?

    init(_ replica: Replica, beside others: OtherWriters? = nil) {
        self.others = others
        store = replica.store
        device = replica.identity.device
        encode = replica.segmentEncoding(for: replica.identity)
    }

    /// Replays a batch.
    /// - Parameter refused: receives the reason for each device whose log stops, with the file.
    /// - Throws: errors of this device and its database, with any content of the logs.
    func replay(_ batch: LogReader.Batch, _ refused: inout [DeviceID: FerryError]) throws -> [PassOutcome] {
        // Without news nothing is written: otherwise observers of the database would never come to rest.
        if try batch.changesets.isEmpty && !store.needsPass() { return [] }
        var outcomes: [PassOutcome] = []
        var found: [DeviceID: FerryError] = [:]
        var rest = batch.changesets[...]
        do {
            try replayInSlices(&rest, batch.checksums, &outcomes)
        } catch let error as FerryError where error.mayConcernOneLog(besides: device) && !rest.isEmpty {
            if try store.needsPass() { outcomes.append(try store.pass(replaying: [], encode: encode)) }
            for device in Set(rest.map(\.device)).sorted() {
                let own = rest.filter { $0.device == device }
                found[device] = try replayApart(own[...], batch.checksums[device], &outcomes)
            }
        }
        for outcome in outcomes { found.merge(outcome.refused) { $1 } }
        for (device, error) in found { refused[device] = Self.located(error, device, batch) }
        return outcomes
    }

    /// Replays changesets: all in one transaction, or in slices while another program writes.
    /// - Parameter rest: the changesets; afterwards those without a transaction.
    private func replayInSlices(
        _ rest: inout ArraySlice<Changeset>, _ checksums: [DeviceID: Checksum], _ outcomes: inout [PassOutcome]
    ) throws {
        var checksums = checksums
        repeat {
            let writers = try rest.count > 1 && others?.areWriting() == true ? others : nil
            if !outcomes.isEmpty { writers?.letIn() }
            let slice = writers?.slices.next(rest) ?? rest
            let unfinished = Set(rest[slice.endIndex...].map(\.device))
            let outcome = try store.pass(
                replaying: Array(slice), checksums: checksums.filter { !unfinished.contains($0.key) }, encode: encode)
            outcomes.append(outcome)
            writers?.slices.took(
                store.lockDuration.withLock { $0 }, operations: slice.reduce(0) { $0 + $1.operationCount })
            rest = rest[slice.endIndex...]
            if !outcome.refused.isEmpty {
                rest = rest.filter { outcome.refused[$0.device] == nil }[...]
                checksums = checksums.filter { outcome.refused[$0.key] == nil }
            }
        } while !rest.isEmpty
    }

    /// Replays as many changesets of a single device as possible.
    /// - Parameter checksum: the last segment's checksum, if the changesets end with this segment.
    /// - Returns: why the rest cannot be replayed; `nil` if everything was replayed.
    private func replayApart(
        _ changesets: ArraySlice<Changeset>, _ checksum: Checksum?, _ outcomes: inout [PassOutcome]
    ) throws -> FerryError? {
        guard let first = changesets.first else { return nil }
        do {
            let checksums = checksum.map { [first.device: $0] } ?? [:]
            let outcome = try store.pass(replaying: Array(changesets), checksums: checksums, encode: encode)
            outcomes.append(outcome)
            return outcome.refused[first.device]
        } catch let error as FerryError where error.mayConcernOneLog(besides: device) {
            let objection = Self.objection(error, to: first)
            // Changesets before the faulty changeset are replayed.
            let fault = changesets.firstIndex { $0.sequence == error.sequence } ?? changesets.startIndex
            let middle = fault > changesets.startIndex ? fault : changesets.startIndex + changesets.count / 2
            if changesets.count == 1 || error.sequence == first.sequence { return objection }
            if let reason = try replayApart(changesets[..<middle], nil, &outcomes) { return reason }
            return try replayApart(changesets[middle...], checksum, &outcomes)
        }
    }

    /// Words an error as the reason why a log stops.
    private static func objection(_ error: FerryError, to changeset: Changeset) -> FerryError {
        var objection = error
        if objection.device == nil {
            objection.code = .damagedFile
            objection.message =
                "Its changeset \(changeset.sequence) cannot be replayed: \(error.message) Other devices and tables go on. "
                + "Look who writes to the folder; retire the device if it will not be mended."
            objection.cause = error
        }
        objection.device = changeset.device
        if objection.sequence == nil { objection.sequence = changeset.sequence }
        return objection
    }

    /// Adds the path of the file behind a reason.
    static func located(_ error: FerryError, _ device: DeviceID, _ batch: LogReader.Batch) -> FerryError {
        guard error.path == nil, let sequence = error.sequence else { return error }
        var located = error
        located.path = batch.files[device]?.first { sequence <= $0.last }?.path
        return located
    }
}
