import FerryCore

/// Examines what the heads of the other devices say: whether they agree with this device, and what `status` tells of their logs.
struct AgreementExamination {
    let replica: Replica

    func run(_ report: inout DoctorReport) throws {
        let status = try replica.status()
        let labels = DeviceLabels(
            [(status.device.id, status.device.name)] + status.devices.map { ($0.id, $0.name) })
        for device in status.devices {
            let name = labels[device.id]
            if device.standing == .differs {
                let difference = status.difference(from: device, named: name, subject: "It")
                report.add(
                    .init(
                        difference.isOfSchemas ? .warning : .fault, name, difference.problems.joined(separator: " "),
                        advice: difference.explanation))
            }
            reportProblem(of: device, name, &report)
        }
        reportWaitingContents(status, &report)
    }

    /// Adds why a log cannot be read further, where no file or head was found guilty.
    private func reportProblem(of device: StatusReport.Peer, _ name: String, _ report: inout DoctorReport) {
        // `ContainerExamination` tells of a log with two ends, under the name of the device that read the other one.
        guard let problem = device.problem, let code = device.problemCode,
            code != FerryError.Code.deviceForked.rawValue
        else { return }
        let subjects = [name, device.name, device.id]
        let isTold = report.findings.contains { $0.severity != .note && subjects.contains($0.subject) }
        if isTold { return }
        let passes = StatusReport.Concern.passes(FerryError.Code(rawValue: code))
        report.add(
            .init(
                passes ? .warning : .fault, name, problem,
                advice: passes
                    ? "Wait until its files are here; let a folder's syncer finish here and on that device."
                    : "All others go on meanwhile. Look at its file, and run `ferry doctor` on that device.",
                file: device.problemFile, since: device.problemSinceMilliseconds))
    }

    /// Adds contents that this device cannot fetch, where no pack was found guilty.
    private func reportWaitingContents(_ status: StatusReport, _ report: inout DoctorReport) {
        guard let documents = status.documents, documents.waiting > 0, let code = documents.code,
            [.limitExceeded, .contentNotHere].contains(FerryError.Code(rawValue: code))
        else { return }
        report.add(
            .init(
                .warning, "documents",
                "\(DoctorReport.count(documents.waiting, "content")) still to come: \(documents.obstacle).",
                advice: code == FerryError.Code.limitExceeded.rawValue
                    ? "Make room on this device, and run `ferry sync`."
                    : "Run `ferry sync` on the device that wrote them. `ferry documents list --state waiting` names the documents.",
                since: documents.sinceMilliseconds))
    }
}
