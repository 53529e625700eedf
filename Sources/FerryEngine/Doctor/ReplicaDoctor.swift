import FerryContainer
import FerryCore
import FerryStore

extension Replica {
    /// Examines the database and every file of the container, and says what is wrong and what to do. Changes that wait are
    /// packed; nothing else is changed.
    ///
    /// - Parameter isRepairing: mend what can be mended without a risk, and say of each whether it is.
    /// - Throws: `busy`, `notTracked`, `database`; what is wrong with the container is a finding.
    public func examine(isRepairing: Bool = false) throws -> DoctorReport {
        let start = environment.clock.milliseconds()
        var report = try findings()
        if isRepairing, report.findings.contains(where: \.canBeRepaired) {
            let before = report.findings
            try repair(report)
            // What is not found any more is mended.
            report = try findings()
            for var finding in before where !report.findings.contains(where: { $0.isSame(as: finding) }) {
                finding.isRepaired = true
                report.findings.append(finding)
            }
        }
        report.sort()
        report.seconds = Double(environment.clock.milliseconds() - start) / 1000
        return report
    }

    private func findings() throws -> DoctorReport {
        var report = DoctorReport()
        try StoreExamination(replica: self).run(&report)
        do {
            try ContainerExamination(replica: self, container: try openContainer()).run(&report)
        } catch let error as FerryError where Self.isOfTheContainer(error.code) {
            report.add(
                .fault, "folder", error.message,
                advice: "Nothing is lost: what is written here waits. Bring the folder back, and run `ferry sync`.",
                file: error.path)
        }
        return report
    }

    private func repair(_ report: DoctorReport) throws {
        _ = try sync()
    }
}

extension DoctorReport.Finding {
    fileprivate func isSame(as other: Self) -> Bool { subject == other.subject && problem == other.problem }
}
