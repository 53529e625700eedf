import FerryCore
import FerryMerge

/// Determines the stamps devices know after replaying logs up to given positions.
struct StampCoverage {
    private let positions: VersionVector
    private let sequences: VersionVector

    /// - Parameters:
    ///   - positions: the positions replayed by the devices.
    ///   - sequences: the positions replayed here.
    init(_ positions: VersionVector, replayed sequences: VersionVector) {
        self.positions = positions
        self.sequences = sequences
    }

    func covers(_ stamp: Stamp) -> Bool {
        let position = positions[stamp.device]
        // Pre-existing rows share a time. Only the log's position decides how many of them are known.
        if !stamp.time.isKnown { return sequences[stamp.device].sequence <= position.sequence }
        return stamp.time <= position.time
    }

    func covers(_ registers: ObjectRegisters) -> Bool {
        registers.fields.allSatisfy { $0.map(covers) ?? true }
            && ([registers.inserted, registers.deleted].compactMap { $0 } + registers.earlierDeletions)
                .allSatisfy(covers)
    }
}
