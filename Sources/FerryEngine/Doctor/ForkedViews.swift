import FerryContainer
import FerryCore
import FerryStore

/// Finds logs of which another member replayed different changes under the same number, in a sealed container.
///
/// A segment is signed by its author and names its predecessor. Two ends of a log under the same number mean: the author wrote the log
/// twice, and the provider shows each device a different log. Heads tell the ends (Docs/Format.md, "Heads in sealed containers").
struct ForkedViews {
    struct View: Equatable {
        /// The author of the log.
        var author: DeviceID
        /// The member that replayed a different end.
        var reader: DeviceID
        /// The number of the last changeset, on both devices.
        var sequence: UInt64
    }

    /// In the order of authors, then readers.
    let all: [View]

    /// - Parameters:
    ///   - heads: the other members' heads.
    ///   - known: this device's knowledge.
    ///   - healed: logs known to have several branches, with different ways to heal.
    init(_ heads: [DeviceID: Head], _ known: StoreSummary, except healed: Set<DeviceID>) {
        var found: [View] = []
        for (author, checksum) in known.checksums
        where !healed.contains(author) && !known.forkedLogs.contains(author) {
            let sequence = known.vector[author].sequence
            for (reader, head) in heads where reader != author {
                guard let end = head.sealed?.chainEnds[author], end != checksum.high,
                    head.acknowledgements[author]?.sequence == sequence
                else { continue }
                found.append(View(author: author, reader: reader, sequence: sequence))
            }
        }
        all = found.sorted { ($0.author, $0.reader) < ($1.author, $1.reader) }
    }
}
