import FerryCore
import FerryMerge

/// What of the state devices know that have replayed logs up to some positions.
struct StampCoverage {
    private let positions: VersionVector
    private let sequences: VersionVector

    /// - Parameters:
    ///   - positions: up to which they have replayed.
    ///   - sequences: what is replayed here.
    init(_ positions: VersionVector, replayed sequences: VersionVector) {
        self.positions = positions
        self.sequences = sequences
    }

    func covers(_ stamp: Stamp) -> Bool {
        let position = positions[stamp.device]
        // Rows from before a join have one time; only the log's position tells how many of them are there.
        if !stamp.time.isKnown { return sequences[stamp.device].sequence <= position.sequence }
        return stamp.time <= position.time
    }

    func covers(_ registers: ObjectRegisters) -> Bool {
        registers.fields.allSatisfy { $0.map(covers) ?? true }
            && ([registers.inserted, registers.deleted].compactMap { $0 } + registers.earlierDeletions)
                .allSatisfy(covers)
    }
}
