import FerryCore

/// Tables that this process cannot write to, because their schema uses a collation or a function that only an app's own process
/// has (Docs/Architecture/replay.md, "Tables that wait for the app").
///
/// What other devices write to such a table is merged into the state, and its rows follow once a process that has everything makes
/// a pass.
struct WaitingTables: Equatable {
    /// What SQLite lacks, by the table's number.
    private(set) var reasons: [Int: String] = [:]
    /// Those of them whose logs wait: what they say cannot be merged without the rows.
    private(set) var refusing: [Int: String] = [:]
    /// Whether the notes of these tables and of those connected with them wait too.
    var holdsNotes = false

    init() {}

    /// - Parameter numbers: of tables that wait, or waited.
    init(_ numbers: [Int]) { reasons = Dictionary(uniqueKeysWithValues: numbers.map { ($0, "") }) }

    var isEmpty: Bool { reasons.isEmpty }

    func contains(_ table: Int) -> Bool { reasons[table] != nil }

    /// Finds those of some tables that this process cannot write to now.
    static func find(
        among numbers: some Sequence<Int>, _ registry: Registry, _ connection: SQLConnection
    ) throws -> Self {
        var found = WaitingTables()
        for number in Set(numbers).sorted() {
            guard let table = registry.tables[number], table.isLocal,
                let reason = try connection.missingPart(of: "INSERT INTO \(quoted(table.name)) DEFAULT VALUES")
            else { continue }
            found.reasons[number] = reason
            let reading = "SELECT 1 FROM \(quoted(table.name)) WHERE \(table.keyCondition(first: 1))"
            if try table.hasColumnPolicies || connection.missingPart(of: reading) != nil {
                found.refusing[number] = reason
            }
        }
        return found
    }

    /// These tables and all that are connected with them by references: what becomes of their rows may depend on each other.
    func connected(_ registry: Registry) -> Set<Int> {
        var found = Set(reasons.keys)
        var next = Array(found)
        while let number = next.popLast() {
            let table = registry[number]
            let neighbours =
                table.foreignKeys.map(\.parent) + table.plainKeys.map(\.parent) + table.incoming.map(\.table)
                + registry.tables.values.filter { $0.plainKeys.contains { $0.parent == number } }.map(\.id)
            for other in neighbours where found.insert(other).inserted { next.append(other) }
        }
        return found
    }

    /// Why rows of a table wait, for people.
    func sentence(_ table: Int, _ registry: Registry) -> String {
        if let reason = reasons[table] { return "its table uses what only the app has: \(reason)" }
        let names = reasons.keys.sorted().map { registry[$0].name }.joined(separator: ", ")
        return "it depends on rows of \(names), which wait for the app"
    }
}

/// What a store remembers of tables that wait (`ferry_meta`, `waitingTables`).
struct WaitingMark: Codable, Equatable {
    /// What SQLite lacked in the last pass, by the table's number.
    var tables: [String: String]
    /// Whether notes could not be packed without it.
    var holdsNotes: Bool

    init(_ waiting: WaitingTables) {
        tables = Dictionary(uniqueKeysWithValues: waiting.reasons.map { ("\($0.key)", $0.value) })
        holdsNotes = waiting.holdsNotes
    }

    var numbers: [Int] { tables.keys.compactMap { Int($0) }.sorted() }

    static func load(_ meta: StoreMeta) throws -> WaitingMark? { try meta.json(.waitingTables) }

    func save(_ meta: StoreMeta) throws { try meta.set(.waitingTables, json: self) }

    /// Those of the tables that wait still in this process.
    func present(_ registry: Registry, _ connection: SQLConnection) throws -> WaitingTables {
        var present = try WaitingTables.find(among: numbers, registry, connection)
        present.holdsNotes = holdsNotes && !present.isEmpty
        return present
    }
}

extension SQLConnection {
    /// What SQLite lacks for a statement of Ferry's: a collation or a function that only an app's process has. `nil` where it lacks
    /// nothing of the kind. What only the app's triggers lack does not count.
    func missingPart(of sql: String) throws -> String? {
        try withoutTriggers {
            do {
                _ = try makeStatement(sql)
            } catch let error as FerryError where error.code == .missingFunction {
                return lastMessage
            } catch let error as FerryError where error.code == .database {
                // What a row lacks is told when one is written.
            }
            return nil
        }
    }
}
