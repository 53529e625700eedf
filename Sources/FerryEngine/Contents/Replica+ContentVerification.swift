import FerryContainer
import FerryContent
import FerryCore
import FerryStore

/// What `Replica.verifyContents` found. The JSON keys are fixed.
package struct ContentVerification: Codable, Equatable, Sendable {
    package struct Problem: Codable, Equatable, Sendable {
        /// `missing`, `wrongLength`, or the code of a `FerryError`.
        package var code: String
        package var reason: String
        package var file: String
    }

    package var contents = 0
    package var packs = 0
    /// The bytes of all packs.
    package var bytes = 0
    package var problems: [Problem] = []
    package var durationMilliseconds: Int64 = 0
}

extension Replica {
    /// Holds packs in the container against their rows.
    /// - Parameter isDeep: true: read every chunk, and prove it by its ID.
    /// - Parameter progress: is told of the phase `examining`.
    package func verifyContents(isDeep: Bool, progress: ProgressHandler? = nil) throws -> ContentVerification {
        var report = ContentVerification()
        guard try store.hasDocumentTables() else { return report }
        let start = environment.clock.milliseconds()
        try store.updateChunkIndex()
        let container = try openContainerAfresh()
        let source = try ChunkSource(self, container)
        report.contents = try store.readContents { rows, _ in try rows.total().contents }
        var packs: [(id: PackID, device: DeviceID, byteCount: Int)] = []
        try store.readContents { rows, _ in try rows.forEachPack { packs.append(($0, $1, $2)) } }
        let epochs = try store.readContents { rows, _ in try rows.epochs() }
        for pack in packs {
            progress?(SyncProgress(phase: .examining, completed: report.packs, total: packs.count))
            report.packs += 1
            report.bytes += pack.byteCount
            if let problem = try problem(of: pack, container, isDeep ? source : nil, epochs) {
                report.problems.append(problem)
            }
        }
        report.durationMilliseconds = environment.clock.milliseconds() - start
        return report
    }

    private func problem(
        of pack: (id: PackID, device: DeviceID, byteCount: Int), _ container: Container, _ source: ChunkSource?,
        _ epochs: Set<EpochID>
    ) throws -> ContentVerification.Problem? {
        let file = container.packPath(pack.id, of: pack.device)
        do {
            if try shelf.openPending(pack.id) == nil {
                guard let length = try container.packByteCount(pack.id, of: pack.device) else {
                    return .init(code: "missing", reason: "A pack is not in the container.", file: file)
                }
                guard length == pack.byteCount else {
                    return .init(
                        code: "wrongLength", reason: "A pack has \(length) bytes in place of \(pack.byteCount).",
                        file: file)
                }
            }
            guard let source, let row = try store.readContents({ rows, _ in try rows.pack(pack.id) }) else {
                return nil
            }
            for entry in row.directory.entries { _ = try source.chunk(entry, in: row, among: epochs) }
            return nil
        } catch let error as FerryError where error.concernsOneFile {
            return .init(code: error.code.rawValue, reason: error.message, file: error.path ?? file)
        }
    }
}
