import FerryCore
import FerryEngine

/// Examines the mirrors of a database on this device, for `ferry doctor`. Looks whether each directory is there and is this database's, and
/// tells the remains of the last pass. Changes nothing.
package struct MirrorExamination {
    private let mirrors: Mirrors

    package init(_ replica: Replica) { mirrors = Mirrors(replica) }

    /// Adds the findings to a report.
    package func run(_ report: inout DoctorReport) throws {
        let list = try mirrors.list()
        if list.isEmpty { return }
        report.examined.append(list.count == 1 ? "1 mirror" : "\(list.count) mirrors")
        for mirror in list {
            for finding in findings(of: mirror) { report.add(finding) }
        }
        report.sort()
    }

    private func findings(of mirror: MirrorRecord) -> [DoctorReport.Finding] {
        let subject = "mirror"
        do {
            _ = try mirrors.open(mirror)
        } catch {
            let error = (error as? FerryError) ?? FerryError(.inputOutput, "\(error)", path: mirror.directory)
            return [
                .init(
                    .warning, subject, error.message,
                    advice: "Bring the directory back, or end the mirror by `ferry documents … mirror … --stop`.",
                    file: mirror.directory, since: mirror.sinceMilliseconds)
            ]
        }
        var found: [DoctorReport.Finding] = []
        if mirror.held > 0 {
            found.append(
                .init(
                    .warning, subject, "It rests: \(mirror.held) files are gone, more than half. Nothing was deleted.",
                    advice:
                        "`ferry documents … mirror … --confirm-deletions` deletes the documents, `--bring-back` writes "
                        + "the files again.",
                    file: mirror.directory, since: mirror.sinceMilliseconds))
        } else if let problem = mirror.problem?.error() {
            found.append(
                .init(
                    .warning, subject, problem.message, advice: "The next pass tries again.", file: mirror.directory,
                    since: mirror.sinceMilliseconds))
        }
        let standing = mirror.standing
        if standing.blocked > 0 {
            found.append(
                .init(
                    .warning, subject, standing.named.sentence(of: standing.blocked, in: mirror.directory),
                    advice: "`ferry documents … mirror` names the documents.", file: mirror.directory))
        }
        for sentence in standing.stuck.sentences(in: mirror.directory) {
            found.append(
                .init(
                    .warning, subject, sentence, advice: "`ferry documents … mirror` lists the names.",
                    file: mirror.directory))
        }
        if standing.absent > 0 {
            let documents = DoctorReport.count(standing.absent, "document")
            found.append(
                .init(
                    .note, subject,
                    "The bytes of \(documents) are not on this device yet, so nothing is written for them.",
                    advice: "`ferry documents … list --state waiting` says why.", file: mirror.directory))
        }
        return found
    }
}
