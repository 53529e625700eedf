import FerryCore
import FerrySQL

/// Tables this process cannot write to, for lack of a collation or function of the app's process
/// (Docs/Architecture/replay.md, "Tables that wait for the app").
///
/// Remote writes to such a table are merged into the state. The rows follow with a pass of a fully equipped process.
package struct WaitingTables: Equatable {
    /// The part missing from SQLite, by the table's number.
    package private(set) var reasons: [Int: String] = [:]
    /// Waiting tables with waiting logs: their changes cannot be merged without the rows.
    package private(set) var refusing: [Int: String] = [:]
    /// True if pending changes of these and connected tables wait too.
    package var holdsNotes = false

    package init() {}

    /// - Parameter numbers: tables waiting now or before.
    package init(_ numbers: [Int]) { reasons = Dictionary(uniqueKeysWithValues: numbers.map { ($0, "") }) }

    package var isEmpty: Bool { reasons.isEmpty }

    package func contains(_ table: Int) -> Bool { reasons[table] != nil }

    /// Finds the given tables this process cannot write to now.
    package static func find(
        among numbers: some Sequence<Int>, _ registry: Registry, _ connection: SQLConnection
    ) throws -> Self {
        var found = WaitingTables()
        for number in Set(numbers).sorted() {
            guard let table = registry.tables[number], table.isLocal,
                let reason = try connection.missingPart(of: "INSERT INTO \(table.quotedName) DEFAULT VALUES")
            else { continue }
            found.reasons[number] = reason
            let reading = "SELECT 1 FROM \(table.quotedName) WHERE \(table.keyCondition(first: 1))"
            if try table.hasColumnPolicies || connection.missingPart(of: reading) != nil {
                found.refusing[number] = reason
            }
        }
        return found
    }

    /// These tables and all tables connected by references: the fates of their rows may depend on each other.
    package func connected(_ registry: Registry) -> Set<Int> {
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

    /// The reason rows of a table wait: the part missing for the table, or an empty name and the waiting tables.
    package func causes(_ table: Int, _ registry: Registry) -> [String] {
        if let missing = reasons[table] { return [missing] }
        return [""] + reasons.keys.sorted().map { registry[$0].name }
    }
}

/// The store's memory of waiting tables (`ferry_meta`, `waitingTables`).
package struct WaitingMark: Codable, Equatable {
    /// The part missing in the last pass, by the table's number.
    package var tables: [String: String]
    /// True if pending changes could not be packed without the missing part.
    package var holdsNotes: Bool

    package init(_ waiting: WaitingTables) {
        tables = Dictionary(uniqueKeysWithValues: waiting.reasons.map { ("\($0.key)", $0.value) })
        holdsNotes = waiting.holdsNotes
    }

    package var numbers: [Int] { tables.keys.compactMap { Int($0) }.sorted() }

    package static func load(_ meta: MetaTable) throws -> WaitingMark? { try meta.json(.waitingTables) }

    package func save(_ meta: MetaTable) throws { try meta.set(.waitingTables, json: self) }

    /// The tables still waiting in this process.
    package func present(_ registry: Registry, _ connection: SQLConnection) throws -> WaitingTables {
        var present = try WaitingTables.find(among: numbers, registry, connection)
        present.holdsNotes = holdsNotes && !present.isEmpty
        return present
    }
}

extension SQLConnection {
    /// The part missing from SQLite for a statement of Ferry's: a collation or function of the app's process. `nil` if
    /// nothing is missing. Parts used only by the app's triggers do not count.
    package func missingPart(of sql: String) throws -> String? {
        try withoutTriggers {
            do {
                _ = try makeStatement(sql)
            } catch let error as FerryError where error.code == .missingFunction {
                return lastMessage
            } catch let error as FerryError where error.code == .database {
                // Any further error of a row shows at the write.
            }
            return nil
        }
    }
}
