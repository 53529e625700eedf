import FerryCore
import FerrySQL

/// Applies the foreign key actions of local tables after travelling rows changed, as SQLite would after the app's own
/// changes (Docs/Merging.md, "Local tables that refer to travelling tables").
///
/// Called at the end of a transaction of Ferry's, with foreign keys off. The actions depend only on the rows before and
/// after the transaction. If the app's schema refuses an action, a dangling row remains and is reported
/// (`DanglingRows`): a replay is never refused.
struct LocalTableUpkeep {
    let access: StoreAccess
    private var connection: SQLConnection { access.connection }

    init(_ access: StoreAccess) { self.access = access }

    /// - Returns: the tables with possibly changed rows.
    func settle() throws -> [String] {
        defer { access.departures.clear() }
        if access.departures.isEmpty { return [] }
        var all: [ChangedParentKeys] = []
        for number in access.departures.rows.keys.sorted() {
            let table = access.registry[number]
            for key in table.localParentKeys {
                let keys = try ChangedParentKeys(access, table, key, number: all.count)
                if try keys.places().isEmpty { try keys.drop() } else { all.append(keys) }
            }
        }
        let work = try all.compactMap { keys -> Work? in
            let deeds = try keys.key.references.flatMap { LocalForeignKeyAction.all(keys, $0) }.filter {
                try $0.concernsAny()
            }
            return try deeds.isEmpty ? nil : Work(deeds: deeds, places: keys.places())
        }
        if !work.isEmpty {
            // Rows of travelling tables are handled without triggers.
            try enforced { try carryOut(work.map { $0.deeds { !$0.reference.keyless.isEmpty } }) }
            try AppTriggerSandbox(access).run(.kept) {
                try enforced { try carryOut(work.map { $0.deeds { $0.reference.keyless.isEmpty } }) }
            }
        }
        try DanglingRows(access).note(all)
        for keys in all { try keys.drop() }
        return work.isEmpty ? [] : access.registry.referringLocalTables
    }

    private struct Work {
        var deeds: [LocalForeignKeyAction]
        var places: [Int64]

        /// The selected actions.
        func deeds(_ isWanted: (LocalForeignKeyAction) -> Bool) -> Work {
            Work(deeds: deeds.filter(isWanted), places: places)
        }
    }

    /// Runs `body` with foreign keys enforced, so SQLite handles rows referring to deleted local rows.
    private func enforced(_ body: () throws -> Void) throws {
        try connection.setForeignKeysEnforced(true)
        try body()
        try connection.setForeignKeysEnforced(false)
    }

    /// An action refused by the schema so far.
    private struct Remainder {
        var deed: LocalForeignKeyAction
        var place: Int64
    }

    private func carryOut(_ all: [Work]) throws {
        let work = all.filter { !$0.deeds.isEmpty }
        if work.isEmpty { return }
        let broken = try countBroken()
        var left: [Remainder] = []
        for one in work { try carryOut(one, one.places[...], &left, broken) }
        try carryOut(&left, broken)
        // Row by row, for refused actions nothing else makes room for.
        for one in left {
            let tolerant = one.deed.tolerant
            _ = try attempt(broken) { try tolerant.carryOut(one.place, one.place, isAll: false) }
        }
        left = left.compactMap { one in one.deed.alternative.map { Remainder(deed: $0, place: one.place) } }
        try carryOut(&left, broken)
    }

    /// Counts the local rows without a parent row in a local table.
    private func countBroken() throws -> Int {
        try access.registry.localForeignKeyChains.reduce(0) { try $0 + connection.count($1.countSQL) }
    }

    /// Runs all actions for many former keys at once, and for halves of them if the schema refuses.
    private func carryOut(_ work: Work, _ places: ArraySlice<Int64>, _ left: inout [Remainder], _ broken: Int) throws {
        guard let first = places.first, let last = places.last else { return }
        let isAll = places.count == work.places.count
        if try attempt(broken, { for deed in work.deeds { try deed.carryOut(first, last, isAll: isAll) } }) { return }
        if places.count > 1 {
            let middle = places.startIndex + places.count / 2
            try carryOut(work, places[..<middle], &left, broken)
            try carryOut(work, places[middle...], &left, broken)
            return
        }
        for deed in work.deeds where try !attempt(broken, { try deed.carryOut(first, last, isAll: isAll) }) {
            left.append(Remainder(deed: deed, place: first))
        }
    }

    /// Retries refused actions as long as some succeed: a further row may be gone by now.
    private func carryOut(_ left: inout [Remainder], _ broken: Int) throws {
        var count = left.count + 1
        while left.count < count {
            count = left.count
            left = try left.filter { one in
                try !attempt(broken) { try one.deed.carryOut(one.place, one.place, isAll: false) }
            }
        }
    }

    private struct Broken: Error {}

    /// - Parameter broken: the number of local rows allowed to refer to nothing in local tables.
    /// - Returns: false if the schema or the app's triggers refused; nothing is changed then.
    private func attempt(_ broken: Int, _ body: () throws -> Void) throws -> Bool {
        do {
            try connection.savepoint {
                // As within a single statement: only the final violations count.
                try connection.executeScript("PRAGMA defer_foreign_keys = ON")
                try body()
                if try connection.hasBrokenForeignKeys() || countBroken() > broken { throw Broken() }
            }
        } catch is Broken {
            return try allow(false)
        } catch let error as FerryError where error.isOfStatement && connection.isInTransaction {
            return try allow(false)
        }
        return try allow(true)
    }

    private func allow(_ result: Bool) throws -> Bool {
        try connection.executeScript("PRAGMA defer_foreign_keys = OFF")
        return result
    }
}
