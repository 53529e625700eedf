import ArgumentParser
import Ferry

/// `ferry status --check`: the concerns for a monitor, and the exit status for them.
struct StatusCheck {
    let report: StatusReport

    init(_ report: StatusReport) { self.report = report }

    /// The status of the worst concern.
    var status: ExitStatus {
        switch report.concerns.first?.kind {
        case nil: .success
        case .differs, .damage, .needsApp: .badData
        case .noAccess: .noPermission
        case .unreachable, .failing: .unavailable
        case .late, .waiting: .tryAgain
        }
    }

    /// The status in the form for scripts, with the concerns.
    private struct Report: Encodable {
        let status: StatusReport

        private enum CodingKeys: String, CodingKey { case concerns }

        func encode(to encoder: any Encoder) throws {
            try status.encode(to: encoder)
            var container = encoder.container(keyedBy: CodingKeys.self)
            try container.encode(status.concerns, forKey: .concerns)
        }
    }

    func tell(_ console: Console) throws {
        if console.isJSON {
            try console.emit(Report(status: report))
        } else if report.concerns.isEmpty {
            try console.say("Nothing needs a look.")
        } else {
            for concern in report.concerns { try console.answer(line(concern)) }
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
