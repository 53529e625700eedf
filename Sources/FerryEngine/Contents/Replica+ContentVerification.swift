import FerryContainer
import FerryContent
import FerryCore
import FerryStore

/// The findings of `Replica.verifyContents`. The JSON keys are fixed.
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
    /// - Parameter isDeep: true: read every chunk, and prove the chunk by its ID.
    /// - Parameter progress: is told of the phase `examining`.
    package func verifyContents(isDeep: Bool, progress: ProgressHandler? = nil) throws -> ContentVerification {
        var report = ContentVerification()
        guard try store.hasDocumentTables() else { return report }
        let start = environment.clock.milliseconds()
        try store.updateChunkIndex()
        let container = try openContainerAfresh()
        let examination = try PackExamination(self, container, isDeep: isDeep)
        report.contents = try store.readContents { rows, _ in try rows.total().contents }
        let packs = try examination.packs()
        for pack in packs {
            progress?(SyncProgress(phase: .examining, completed: report.packs, total: packs.count))
            report.packs += 1
            report.bytes += pack.byteCount
            if let fault = try examination.fault(of: pack) {
                report.problems.append(
                    ContentVerification.Problem(
                        fault, pack.byteCount, file: container.packPath(pack.id, of: pack.device)))
            }
        }
        for content in isDeep ? try damagedContentsBesideDatabase() : [] {
            report.problems.append(
                ContentVerification.Problem(
                    code: FerryError.Code.damagedFile.rawValue, reason: try damageSentence(of: content),
                    file: shelf.path(ofDamaged: content)))
        }
        report.durationMilliseconds = environment.clock.milliseconds() - start
        return report
    }
}

extension Replica {
    /// Says which document's bytes are damaged beside the database.
    func damageSentence(of content: ContentID) throws -> String {
        let names = try store.readContents { rows, _ in try rows.documentNames(of: content) }
        let what = names.isEmpty ? "an attachment" : names.map { "“\($0)”" }.joined(separator: ", ")
        return "The bytes of \(what) beside the database are damaged."
    }
}

extension ContentVerification.Problem {
    init(_ fault: PackFault, _ byteCount: Int, file: String) {
        switch fault {
        case .missing: self.init(code: "missing", reason: "A pack is not in the container.", file: file)
        case .wrongLength(let length):
            self.init(
                code: "wrongLength", reason: "A pack has \(length) bytes in place of \(byteCount).", file: file)
        case .damaged(_, let error), .unreadable(let error):
            self.init(code: error.code.rawValue, reason: error.message, file: error.path ?? file)
        }
    }
}
