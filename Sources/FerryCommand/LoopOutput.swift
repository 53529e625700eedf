import Ferry
import Synchronization

/// Where the events of a loop go, as lines for people or objects for scripts (`ferry watch`, `ferry carry --watch`). The loop ends once the
/// output is closed or full.
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

    private struct State {
        var failure: FerryError?
        var giveUp: (@Sendable () -> Void)?
    }

    let console: Console
    /// The database of the events; `nil` for a loop without a database.
    private let database: String?
    private let state = Mutex(State())

    init(_ console: Console, database: String? = nil) {
        self.console = console
        self.database = database
    }

    /// The action when the output is closed or full.
    func stopWhenNobodyListens(_ giveUp: @escaping @Sendable () -> Void) {
        state.withLock { $0.giveUp = giveUp }
    }

    /// Why the output could not be written.
    var failure: FerryError? { state.withLock { $0.failure } }

    /// Tells an event by `body`.
    func tell(_ body: () throws -> Void) {
        do {
            try body()
        } catch {
            state.withLock { $0.failure = FerryError(from: error) }
            state.withLock { $0.giveUp }?()
        }
    }

    func emit(_ event: String) throws { try console.emit(Event(event: event, database: database)) }

    func emit(_ event: String, _ report: some Encodable) throws {
        try console.emit(ReportEvent(event: event, database: database, report: report))
    }

    func emit(failed error: FerryError) throws {
        try console.emit(Event(event: "failed", database: database, error: FailureReport(error).error))
    }

    /// - Parameter prefix: stands before the warning.
    func warn(_ error: FerryError, before prefix: String = "") {
        console.warn(prefix + error.description, at: ReplicaEnvironment.live.clock.milliseconds())
    }

    /// The time of the event, for people.
    var time: String { console.style.dim(Wording.time(ReplicaEnvironment.live.clock.milliseconds())) }
}
