import FerryCore

/// What `Replica.examine` found. Its JSON keys are fixed: scripts rely on them.
public struct DoctorReport: Codable, Equatable, Sendable {
    /// One thing that is not as it should be.
    public struct Finding: Codable, Equatable, Sendable {
        /// How bad it is. Later versions may tell more.
        public enum Severity: String, Codable, Sendable {
            /// Something is broken and will not mend itself.
            case fault
            /// It may mend itself, or somebody should look at it some day.
            case warning
            /// Worth knowing; nothing need be done.
            case note
        }

        public var severity: Severity
        /// What it is about: `database`, `folder`, or a device's name.
        public var subject: String
        /// What is wrong, in a sentence.
        public var problem: String
        /// What to do about it, in a sentence.
        public var advice: String
        /// The file that it is about, where it is about one.
        public var file: String?
        /// Whether a repair mends it.
        public var canBeRepaired = false
        /// Whether this repair has mended it.
        public var isRepaired = false
        /// Since when it is so, where that is known; milliseconds since the Unix epoch.
        public var sinceMilliseconds: Int64?
    }

    /// What was looked at, in words: `12,000 objects in 5 tables`.
    public var examined: [String] = []
    /// The worst first.
    public var findings: [Finding] = []
    /// How long it took.
    public var seconds: Double = 0

    public init() {}

    /// Whether nothing is broken that was not repaired.
    public var isHealthy: Bool { !findings.contains { $0.severity == .fault && !$0.isRepaired } }

    mutating func add(
        _ severity: Finding.Severity, _ subject: String, _ problem: String, advice: String, file: String? = nil,
        canBeRepaired: Bool = false, since: Int64? = nil
    ) {
        findings.append(
            Finding(
                severity: severity, subject: subject, problem: problem, advice: advice, file: file,
                canBeRepaired: canBeRepaired, sinceMilliseconds: since))
    }

    /// `1 segment`, `2 segments`.
    static func count(_ number: Int, _ noun: String) -> String { "\(number) \(noun)\(number == 1 ? "" : "s")" }

    mutating func sort() {
        let order: [Finding.Severity] = [.fault, .warning, .note]
        // A stable order: that of the findings among equals.
        findings = order.flatMap { severity in findings.filter { $0.severity == severity } }
    }
}
