import CFerrySQLite
import FerryCore
import FerrySQL
import FerrySchema

/// Temporary copies of the app's triggers, run in place of the originals while Ferry writes rows. A copy lacks
///
/// - the steps writing to travelling tables: their effects arrive from the device of the change;
/// - RAISE during replay: the change was allowed on its own device;
/// - whatever would end the transaction (ROLLBACK) or leave half of a statement (FAIL).
///
/// A copy that cannot be compiled is left out: the text names a missing table, or a function of the app's process. If a
/// constraint or function refuses a step, the row is written without the step's trigger (`write`).
///
/// Temporary triggers run although `SQLITE_DBCONFIG_ENABLE_TRIGGER` is off, since SQLite 3.35:
/// https://www.sqlite.org/c3ref/c_dbconfig_defensive.html#sqlitedbconfigenabletrigger
final class TriggerCopies {
    /// True if a copy, or a table written by a copy, declares a conflict resolution. A statement's own OR clause would
    /// overrule the resolution.
    private(set) var resolvesConflicts = false
    /// The triggers without a possible copy.
    private(set) var leftOut: [LeftOutTrigger] = []
    private let connection: SQLConnection
    private var names: [String] = []
    private var numbers: [Occasion: [Int]] = [:]

    /// The temporary table with a flag per copy, by number: `runs`.
    private static let list = "ferry_copy"

    private struct Occasion: Hashable {
        /// In lower case.
        var table: String
        var event: RowEvent
    }

    init(_ access: StoreAccess, _ refusals: TriggerText.Refusals) throws {
        connection = access.connection
        let registry = access.registry
        let ending = try tables(like: "%on%conflict%rollback%").union(tables(like: "%on%conflict%fail%"))
        resolvesConflicts = try !tables(like: "%on%conflict%").isEmpty
        try connection.executeScript(
            "CREATE TEMP TABLE \(Self.list)(number INTEGER PRIMARY KEY, runs INTEGER NOT NULL)")
        // A view's INSTEAD OF trigger must exist before a statement writing to the view can be compiled.
        for (original, table, text) in try originals().sorted(by: { $0.text.time > $1.text.time }) {
            let number = names.count + 1
            let name = "ferry_copy_\(number)"
            let statement = text.copy(
                named: name, on: table, guarding: "(SELECT runs FROM \(Self.list) WHERE number = \(number))",
                .init(
                    refusals: refusals, omits: { registry.table(called: $0)?.isLocal ?? false },
                    aborting: { ending.contains(foldedName($0)) }))
            guard let statement, let probe = try probe(of: text, on: table) else { continue }
            if let reason = try make(statement, named: name, probe) {
                leftOut.append(LeftOutTrigger(name: original, table: table, reason: reason))
                continue
            }
            names.append(name)
            numbers[Occasion(table: foldedName(table), event: text.event), default: []].append(number)
            if text.steps.contains(where: { $0.resolution != nil }) { resolvesConflicts = true }
            try connection.execute("INSERT INTO temp.\(Self.list) VALUES (?, 1)", .integer(Int64(number)))
        }
        leftOut.sort { $0.name < $1.name }
    }

    /// Drops the copies.
    func drop() throws {
        for name in names { try connection.executeScript("DROP TRIGGER temp.\(name)") }
        try connection.executeScript("DROP TABLE temp.\(Self.list)")
    }

    /// True if any copy runs for an event on a table.
    func concern(_ table: TrackedTable, _ event: RowEvent) -> Bool { !numbers(table, event).isEmpty }

    private func numbers(_ table: TrackedTable, _ event: RowEvent) -> [Int] {
        numbers[Occasion(table: foldedName(table.localName), event: event)] ?? []
    }

    // MARK: Making copies

    private func tables(like pattern: String) throws -> Set<String> {
        Set(
            try connection.rows("SELECT name FROM sqlite_schema WHERE type = 'table' AND sql LIKE ?", .text(pattern))
                .compactMap { row in
                    if case .text(let name) = row[0] { foldedName(String(decoding: name, as: UTF8.self)) } else { nil }
                })
    }

    /// Returns the app's readable triggers by name, with the names of their tables or views.
    private func originals() throws -> [(name: String, table: String, text: TriggerText)] {
        var found: [(String, String, TriggerText)] = []
        try connection.forEachRow(
            "SELECT name, tbl_name, sql FROM sqlite_schema WHERE type = 'trigger' AND sql IS NOT NULL ORDER BY rowid"
        ) { row in
            if OwnNames.table(ofTrigger: row.string(0)) != nil { return }
            if let text = TriggerText(row.string(2)) { found.append((row.string(0), row.string(1), text)) }
        }
        return found
    }

    /// A statement that fires a trigger, compiled and never run. `nil` where no statement does; "" where no trial is
    /// needed.
    private func probe(of trigger: TriggerText, on table: String) throws -> String? {
        if trigger.time == "INSTEAD OF" { return "" }
        switch trigger.event {
        case .insert: return "INSERT INTO main.\(quoted(table)) DEFAULT VALUES"
        case .delete: return "DELETE FROM main.\(quoted(table))"
        case .update:
            let columns = try connection.rows(
                "SELECT name FROM pragma_table_xinfo(?) WHERE hidden = 0", .text(table)
            ).compactMap { row in
                if case .text(let name) = row[0] { String(decoding: name, as: UTF8.self) } else { nil }
            }
            let named = trigger.columns
            guard
                let column = columns.first(where: { name in named.isEmpty || named.contains { equalNames($0, name) } })
            else { return nil }
            return "UPDATE main.\(quoted(table)) SET \(quoted(column)) = NULL"
        }
    }

    /// Creates a copy, and drops the copy again if a statement firing the copy cannot be compiled.
    /// - Returns: `nil` on success, or SQLite's message.
    private func make(_ statement: String, named name: String, _ probe: String) throws -> String? {
        var isThere = false
        do {
            try connection.executeScript(statement)
            isThere = true
            if !probe.isEmpty { _ = try connection.makeStatement(probe) }
            return nil
        } catch let error as FerryError where error.isOfStatement {
            let reason = String(cString: sqlite3_errmsg(connection.handle))
            if isThere { try connection.executeScript("DROP TRIGGER temp.\(name)") }
            return reason
        }
    }

    // MARK: Writing

    /// Writes a row with all the event's triggers, except triggers that make the write fail. Writes nothing if the
    /// schema refuses the row itself.
    /// - Parameter once: writes the row.
    func write(
        _ table: TrackedTable, _ event: RowEvent, _ once: () throws -> RowWriter.Refusal?
    ) throws -> RowWriter.Refusal? {
        let all = numbers(table, event)
        if all.isEmpty { return try once() }
        if case .done = try attempt(once) { return nil }
        if let refusal = try refusal(table, event, once) { return refusal }
        var sound: [Int] = []
        for number in all where all.count > 1 {
            if case .done = try trial(sound + [number], of: all, once) { sound.append(number) }
        }
        try run(sound, of: all)
        let refusal = try once()
        try run(all, of: all)
        return refusal
    }

    /// Returns why the schema refuses a row, whatever triggers do; `nil` if the schema accepts the row. Writes nothing.
    func refusal(
        _ table: TrackedTable, _ event: RowEvent, _ once: () throws -> RowWriter.Refusal?
    ) throws -> RowWriter.Refusal? {
        switch try trial([], of: numbers(table, event), once) {
        case .done: return nil
        case .refused(let refusal): return refusal
        case .failed(let error): throw error
        }
    }

    /// Runs `body`.
    /// - Returns: the result of `body`, or false for a failure with a possible cause in a trigger.
    func isDone(_ body: () throws -> Bool) throws -> Bool {
        do {
            return try body()
        } catch let error as FerryError where mayBeOfTrigger(error) {
            return false
        }
    }

    private enum Attempt {
        case done
        case refused(RowWriter.Refusal)
        /// A failure with a possible cause in a trigger: a failing function, a damaged full-text index.
        case failed(FerryError)
    }

    private func attempt(_ once: () throws -> RowWriter.Refusal?) throws -> Attempt {
        do {
            return try once().map { .refused($0) } ?? .done
        } catch let error as FerryError where mayBeOfTrigger(error) {
            return .failed(error)
        }
    }

    private func mayBeOfTrigger(_ error: FerryError) -> Bool {
        // A virtual table module's data may be damaged in a sound database. Swift does not import this macro:
        // https://www.sqlite.org/rescode.html#corrupt_vtab
        let isOfModule = sqlite3_extended_errcode(connection.handle) == SQLITE_CORRUPT | (1 << 8)
        return connection.isInTransaction && (error.isOfStatement || isOfModule)
    }

    /// Writes the row with some of the triggers, and rolls the write back.
    private func trial(
        _ running: [Int], of all: [Int], _ once: () throws -> RowWriter.Refusal?
    ) throws -> Attempt {
        try run(running, of: all)
        try connection.execute("SAVEPOINT ferry_trial")
        let outcome = try attempt(once)
        try connection.executeScript("ROLLBACK TO ferry_trial; RELEASE ferry_trial")
        try run(all, of: all)
        return outcome
    }

    /// Enables some of an event's copies, and disables the rest.
    private func run(_ running: [Int], of all: [Int]) throws {
        for number in all {
            try connection.execute(
                "UPDATE temp.\(Self.list) SET runs = ? WHERE number = ?", .integer(running.contains(number) ? 1 : 0),
                .integer(Int64(number)))
        }
    }
}
