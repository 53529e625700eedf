import FerryContainer
import FerryCore
import FerryStore

/// How this device's state and rows compare with another one's, as its head tells: a pure function of both.
struct PeerStanding: Equatable {
    enum Kind: String {
        /// Both have replayed the same changes, and the digests of their states and rows agree.
        case inStep
        /// The other device has replayed changes that this one has not.
        case behind
        /// This device has changes that the other one has not replayed.
        case ahead
        /// Both of that.
        case apart
        /// Both have replayed the same changes and hold the same state, and rows wait on one of them for a process with something of
        /// the app's.
        case waits
        /// Both have replayed the same changes and hold different states, or show different rows.
        case differs
        /// Both have replayed the same changes; the other one does not tell all digests, or has a table by another schema, so that
        /// they prove nothing.
        case unproven
    }

    var kind: Kind
    /// Changesets of any device that the other one has replayed and this one has not, and the reverse.
    var behind = 0
    var ahead = 0
    /// What both prove of their tables; compared where both have replayed the same.
    var tables = TableComparison()
    /// Whether both have replayed the same changes, but for logs that were superseded, and hold different states.
    private(set) var isContradicted = false

    /// More than that is said as that: a head may claim anything.
    private static let most = 1 << 40

    private static func sum(_ count: Int, _ further: UInt64) -> Int { min(count + Int(min(further, 1 << 40)), most) }

    /// - Parameters:
    ///   - vector: what this device has replayed, and what it proves of its tables at that point.
    ///   - hasNotes: whether changes wait that are not packed yet; they will be a changeset.
    ///   - superseded: devices that go on under other IDs. Where two copies published under one ID, their logs are read
    ///     to different ends; what they said came once more from their successors, so equal digests decide.
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

/// What two devices that have replayed the same prove of their tables, held against each other.
struct TableComparison: Equatable {
    /// The tables in which the states differ.
    private(set) var states: Set<String> = []
    /// The tables in which the rows differ.
    private(set) var rows: Set<String> = []
    /// The tables whose schemas differ.
    private(set) var schemas: Set<String> = []
    /// Those of them whose rows mean something else by each schema: columns, defaults or references differ.
    private(set) var meanings: Set<String> = []
    /// The tables of which rows wait on one of the devices: their rows are not compared.
    private(set) var waiting: Set<String> = []
    /// Whether any table is compared, and its rows with it.
    private(set) var isTold = false

    /// Compares nothing.
    init() {}

    /// - Parameters:
    ///   - tables: of this device.
    ///   - theirs: what the other one's head tells.
    init(_ tables: [TableDigests], _ theirs: [UInt32: UInt64]) {
        let own = TableDigests.published(tables)
        let tellsRows =
            own[TableDigests.mark] == TableDigests.version && theirs[TableDigests.mark] == TableDigests.version
        for table in tables {
            if let state = theirs[table.stateToken] {
                isTold = isTold || tellsRows
                if state != table.state { states.insert(table.name) }
            }
            // A table that only one of them has is not compared.
            guard tellsRows, let shape = table.shape, let theirShape = theirs[table.shapeToken] else { continue }
            if table.waiting > 0 || theirs[table.waitingToken] != nil {
                waiting.insert(table.name)
            } else if theirs[table.rowsToken] != table.rows {
                rows.insert(table.name)
            }
            if shape != theirShape { schemas.insert(table.name) }
            if !TableDigests.mean(shape, theirShape) { meanings.insert(table.name) }
        }
    }

    /// The tables that are not the same on both devices.
    var differing: Set<String> { states.union(rows) }

    /// Whether digests prove that all is the same.
    var isProven: Bool { isTold && differing.isEmpty && meanings.isEmpty }
}
