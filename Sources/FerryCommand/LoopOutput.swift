import Ferry
import Synchronization

/// Where the events of a loop go, as lines for people or objects for scripts (`ferry watch`, `ferry carry --watch`). The loop goes on where
/// the output is closed or full: the work of the loop needs no output.
///
/// Called on the loop's thread; a lock guards the state all the same.
final class LoopOutput: Sendable {
    /// The line of an event without further facts.
    struct Event: Encodable {
        var event: String
        var database: String?
        var error: FailureReport.Detail?
    }

    /// A report with the keys `event` and `database`.
    struct ReportEvent<Report: Encodable>: Encodable {
        let event: String
        let database: String?
        let report: Report

        private enum CodingKeys: String, CodingKey { case event, database }

        func encode(to encoder: any Encoder) throws {
            try report.encode(to: encoder)
            var container = encoder.container(keyedBy: CodingKeys.self)
            try container.encode(event, forKey: .event)
            try container.encodeIfPresent(database, forKey: .database)
        }
    }

    let console: Console
    /// The database of the events; `nil` for a loop without a database.
    private let database: String?
    /// True once a failure to write was told.
    private let isTold = Mutex(false)

    init(_ console: Console, database: String? = nil) {
        self.console = console
        self.database = database
    }

    /// Tells an event by `body`. A failure is told once, on standard error.
    func tell(_ body: () throws -> Void) {
        do {
            try body()
        } catch {
            let wasTold = isTold.withLock { isTold in
                defer { isTold = true }
                return isTold
            }
            if !wasTold { console.warn("\(FerryError(from: error)) The work goes on without it.") }
        }
    }

    func emit(_ event: String) throws { try console.emit(Event(event: event, database: database)) }

    func emit(_ event: String, _ report: some Encodable) throws {
        try console.emit(ReportEvent(event: event, database: database, report: report))
    }

    func emit(failed error: FerryError) throws {
        try console.emit(Event(event: "failed", database: database, error: FailureReport(error).error))
    }

    /// Warns with the present time.
    func warn(_ text: String) { console.warn(text, at: ReplicaEnvironment.live.clock.milliseconds()) }

    /// The time of the event, for people.
    var time: String { console.style.dim(Wording.time(ReplicaEnvironment.live.clock.milliseconds())) }
}
