import FerryContainer
import FerryCore
import FerryStore

/// Compares this device's state and rows with a peer's, by the peer's head: a pure function of both.
struct PeerStanding: Equatable {
    typealias Kind = StatusReport.Peer.Standing

    var kind: Kind
    /// Number of changesets, of any device, that only the peer has replayed, and that only this device has replayed.
    var behind = 0
    var ahead = 0
    /// The comparison of tables, made after both have replayed the same changes.
    var tables = TableComparison()
    /// True if both have replayed the same changes, apart from superseded logs, and hold different states.
    private(set) var isContradicted = false

    /// Larger numbers are reported as this number: a head may claim anything.
    private static let most = 1 << 40

    private static func sum(_ count: Int, _ further: UInt64) -> Int { min(count + Int(min(further, 1 << 40)), most) }

    /// Compares this device with a head.
    /// - Parameters:
    ///   - vector: the changesets that this device has replayed.
    ///   - tables: this device's digests at this point.
    ///   - hasNotes: true if pending changes are not packed yet; they will be a changeset.
    ///   - superseded: devices with successors. If two copies published under the same ID, readers stop at different
    ///     ends of their logs. Successors sent the changes again, so equal digests decide.
    init(
        _ vector: VersionVector, _ tables: [TableDigests], hasNotes: Bool, superseded: Set<DeviceID> = [],
        _ head: Head
    ) {
        var theirs = VersionVector(head.acknowledgements)
        theirs.advance(head.device, to: head.position)
        var differences: Set<DeviceID> = []
        for device in Set(vector.positions.keys).union(theirs.positions.keys) {
            let (here, there) = (vector[device].sequence, theirs[device].sequence)
            if here != there { differences.insert(device) }
            if here < there { behind = Self.sum(behind, there - here) } else { ahead = Self.sum(ahead, here - there) }
        }
        if hasNotes { ahead += 1 }
        let comparison = TableComparison(tables, head.digests)
        let isSameLog = !hasNotes && differences.isSubset(of: superseded)
        isContradicted = isSameLog && !comparison.states.isEmpty
        if isSameLog, comparison.isTold, comparison.differing.isEmpty { (behind, ahead) = (0, 0) }
        switch (behind > 0, ahead > 0) {
        case (true, true): kind = .apart
        case (true, false): kind = .behind
        case (false, true): kind = .ahead
        case (false, false):
            self.tables = comparison
            kind =
                !comparison.differing.isEmpty
                ? .differs : !comparison.waiting.isEmpty ? .waits : comparison.isProven ? .inStep : .unproven
        }
    }
}

/// Compares the digests of two devices that have replayed the same changes. Tables are told by the exact keys of their names.
struct TableComparison: Equatable {
    /// The tables with different states.
    private(set) var states: Set<String> = []
    /// The tables with different rows.
    private(set) var rows: Set<String> = []
    /// The tables with different schemas.
    private(set) var schemas: Set<String> = []
    /// The tables whose rows have a different meaning by each schema: columns, defaults or references differ.
    private(set) var meanings: Set<String> = []
    /// The tables with waiting rows on either device: their rows are not compared.
    private(set) var waiting: Set<String> = []
    /// The tables of which the peer's rows went without a deletion.
    private(set) var left: Set<String> = []
    /// True if any table is compared together with its rows.
    private(set) var isTold = false

    /// Compares nothing.
    init() {}

    /// Compares digests.
    /// - Parameters:
    ///   - tables: this device's digests.
    ///   - theirs: the digests in the peer's head.
    init(_ tables: [TableDigests], _ theirs: [UInt32: UInt64]) {
        let own = TableDigests.published(tables)
        let tellsRows =
            own[TableDigests.mark] == TableDigests.version && theirs[TableDigests.mark] == TableDigests.version
        for table in tables {
            let name = exactKey(table.name)
            if let state = theirs[table.stateToken] {
                isTold = isTold || tellsRows
                if state != table.state { states.insert(name) }
            }
            if theirs[table.leftToken] != nil { left.insert(name) }
            // A table on a single device is not compared.
            guard tellsRows, let shape = table.shape, let theirShape = theirs[table.shapeToken] else { continue }
            if table.waiting > 0 || theirs[table.waitingToken] != nil {
                waiting.insert(name)
            } else if theirs[table.rowsToken] != table.rows {
                rows.insert(name)
            }
            if shape != theirShape { schemas.insert(name) }
            if !TableDigests.mean(shape, theirShape) { meanings.insert(name) }
        }
    }

    /// The tables that differ between the devices.
    var differing: Set<String> { states.union(rows) }

    /// True if digests prove that everything is equal.
    var isProven: Bool { isTold && differing.isEmpty && meanings.isEmpty }
}
