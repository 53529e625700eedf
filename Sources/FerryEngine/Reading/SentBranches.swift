import FerryContainer
import FerryCore
import FerryLog

/// Branches of a former ID's log whose authors have sent again, under new IDs, everything that a reader lacks
/// (`Successors.endsSentAgain`).
///
/// Some files of a branch may be gone for good, and a reader of a different branch cannot continue. The files behind
/// the gap identify their branch: each segment names its predecessor, back from the end announced by the branch's
/// author.
struct SentBranches {
    /// Maximum number of files read.
    private static let maximumFiles = 32

    let container: Container
    let ends: Set<LogEnd>

    /// True if everything announced behind a position of a log belongs to these branches: each file, and the last
    /// head's position. Otherwise files of a different copy may be on their way.
    /// - Throws: `inputOutput` and the like. Unreadable files belong to no known branch.
    func hold(_ device: DeviceID, after position: UInt64, _ head: Head) throws -> Bool {
        if ends.isEmpty { return false }
        let files = try container.segmentFiles(of: device, after: position)
        guard files.count <= Self.maximumFiles else { return false }
        var ends = ends
        var names: Set<SegmentName> = []
        // From the end; a roll-up before the smaller segments in it.
        for file in files.sorted(by: { ($0.name.last, $1.name.first) > ($1.name.last, $0.name.first) }) {
            guard let (header, _) = try SegmentDecoder.decodedSchemas(file, of: device, container),
                ends.contains(LogEnd(sequence: header.lastSequence, checksum: header.chainEnd))
            else { return false }
            if let previous = header.previous {
                ends.insert(LogEnd(sequence: header.firstSequence - 1, checksum: previous))
            }
            names.insert(file.name)
        }
        if head.position.sequence <= position { return true }
        // The file may be gone. A segment with a single changeset has the same checksum in the next segment as in the
        // head.
        return head.lastSegment.map(names.contains) ?? false
            || ends.contains(LogEnd(sequence: head.position.sequence, checksum: head.lastSegmentChecksum))
    }
}
