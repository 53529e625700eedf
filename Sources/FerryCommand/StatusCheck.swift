import ArgumentParser
import Ferry
import FerryMirror

/// `ferry status --check`: the concerns for a monitor, and the exit status for them.
struct StatusCheck {
    let report: StatusReport
    /// The worst first.
    let concerns: [StatusReport.Concern]

    init(_ report: StatusReport, _ mirrors: [MirrorRecord], of database: String) {
        self.report = report
        concerns = StatusReport.Concern.inOrder(
            report.concerns
                + mirrors.compactMap { mirror in
                    let message =
                        mirror.held > 0
                        ? MirrorPage.held(mirror.held, mirror, database).message : mirror.problem?.error().message
                    return message.map {
                        .init(kind: .mirrorRests, message: $0, sinceMilliseconds: mirror.sinceMilliseconds)
                    }
                }
                + mirrors.flatMap { mirror in
                    mirror.standing.stuck.filter(\.needsLook).sentences(in: mirror.directory).map {
                        .init(kind: .mirrorRests, message: $0)
                    }
                })
    }

    /// The status of the worst concern.
    var status: ExitStatus {
        switch concerns.first?.kind {
        case nil: .success
        case .differs, .damage, .needsApp: .badData
        case .noAccess: .noPermission
        case .unreachable, .failing, .mirrorRests: .unavailable
        case .late, .waiting: .tryAgain
        }
    }

    /// The status in the form for scripts, with the concerns.
    private struct Report: Encodable {
        let status: StatusReport
        let concerns: [StatusReport.Concern]

        private enum CodingKeys: String, CodingKey { case concerns }

        func encode(to encoder: any Encoder) throws {
            try status.encode(to: encoder)
            var container = encoder.container(keyedBy: CodingKeys.self)
            try container.encode(concerns, forKey: .concerns)
        }
    }

    func tell(_ console: Console) throws {
        if console.isJSON {
            try console.emit(Report(status: report, concerns: concerns))
        } else if concerns.isEmpty {
            try console.say("Nothing needs a look.")
        } else {
            for concern in concerns { try console.answer(line(concern)) }
        }
        if status != .success { throw ExitCode(status.rawValue) }
    }

    private func line(_ concern: StatusReport.Concern) -> String {
        let now = ReplicaEnvironment.live.clock.milliseconds()
        return Wording.oneLine(
            "\(concern.kind.rawValue): \(concern.message)"
                + Wording.waiting(sinceMilliseconds: concern.sinceMilliseconds, now: now), limit: 500)
    }
}
