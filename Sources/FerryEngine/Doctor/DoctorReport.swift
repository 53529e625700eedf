import FerryCore

/// The result of `Replica.examine`. The JSON keys are fixed: scripts rely on them.
package struct DoctorReport: Codable, Equatable, Sendable {
    /// A problem or a note.
    package struct Finding: Codable, Equatable, Sendable {
        /// The severity of a finding. Later versions may add cases.
        package enum Severity: String, Codable, Sendable {
            /// Something is broken and will not recover by itself.
            case fault
            /// The problem may go away by itself, or somebody should have a look some day.
            case warning
            /// Worth knowing; needs no action.
            case note
        }

        package var severity: Severity
        /// The subject: `database`, `folder`, `documents`, `mirror`, or a device's name.
        package var subject: String
        /// The problem, in a sentence.
        package var problem: String
        /// The remedy, in a sentence.
        package var advice: String
        /// The file concerned, if any.
        package var file: String?
        /// True if a repair removes the problem.
        package var canBeRepaired = false
        /// True if this repair has removed the problem.
        package var isRepaired = false
        /// Since when the problem exists, in milliseconds since the Unix epoch; `nil` if unknown.
        package var sinceMilliseconds: Int64?

        package init(
            _ severity: Severity, _ subject: String, _ problem: String, advice: String, file: String? = nil,
            canBeRepaired: Bool = false, since sinceMilliseconds: Int64? = nil
        ) {
            self.severity = severity
            self.subject = subject
            self.problem = problem
            self.advice = advice
            self.file = file
            self.canBeRepaired = canBeRepaired
            self.sinceMilliseconds = sinceMilliseconds
        }
    }

    /// The examined things, in words: `12,000 rows in 5 tables`.
    package var examined: [String] = []
    /// The findings, the worst first.
    package var findings: [Finding] = []
    /// The duration.
    package var durationMilliseconds: Int64 = 0

    package init() {}

    /// True if every fault was repaired.
    package var isHealthy: Bool { !findings.contains { $0.severity == .fault && !$0.isRepaired } }

    package mutating func add(_ finding: Finding) { findings.append(finding) }

    /// `1 segment`, `2 segments`.
    package static func count(_ number: Int, _ noun: String) -> String { "\(number) \(noun)\(number == 1 ? "" : "s")" }

    package mutating func sort() {
        let order: [Finding.Severity] = [.fault, .warning, .note]
        // Within a severity, findings keep their order.
        findings = order.flatMap { severity in findings.filter { $0.severity == severity } }
    }
}
