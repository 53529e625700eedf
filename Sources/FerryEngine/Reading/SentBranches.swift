import FerryContainer
import FerryCore
import FerryLog

/// Branches of a former ID's log whose authors have said once more, under other IDs, all that a reader lacks of them
/// (`Successors.endsSentAgain`).
///
/// Of a branch some files may be gone for good, and who has read another one cannot go on. What is there behind the gap tells
/// whose it is: each segment names the one before it, from the end that the branch's author has told.
struct SentBranches {
    /// The most files that are read for it.
    private static let maximumFiles = 32

    let container: Container
    let ends: Set<LogEnd>

    /// Whether all that is told of a log behind a position is of these branches: each file, and what its last head speaks of.
    /// Another copy's files may be on their way where one is not.
    /// - Throws: `inputOutput` and the like; files that cannot be read are of no branch that is known.
    func hold(_ device: DeviceID, after position: UInt64, _ head: Head) throws -> Bool {
        if ends.isEmpty { return false }
        let files = try container.segmentFiles(of: device, after: position)
        guard files.count <= Self.maximumFiles else { return false }
        var ends = ends
        var names: Set<SegmentName> = []
        // From the end; of what was rolled up, the larger one first.
        for file in files.sorted(by: { ($0.name.last, $1.name.first) > ($1.name.last, $0.name.first) }) {
            guard let bytes = try container.readSegment(file, of: device),
                let (header, _) = try? SegmentDecoder.decodeSchemas(  // others name a damaged one
                    bytes, container: container.id, device: device),
                ends.contains(LogEnd(sequence: header.lastSequence, checksum: header.chainEnd))
            else { return false }
            if let previous = header.previous {
                ends.insert(LogEnd(sequence: header.firstSequence - 1, checksum: previous))
            }
            names.insert(file.name)
        }
        if head.position.sequence <= position { return true }
        // Its file may be gone; a segment of one changeset is called by the next one as by the head.
        return head.lastSegment.map(names.contains) ?? false
            || ends.contains(LogEnd(sequence: head.position.sequence, checksum: head.lastSegmentChecksum))
    }
}
