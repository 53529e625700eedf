import FerryCore

/// Lets the app's own triggers run while Ferry writes rows: as temporary copies (`TriggerCopies`) that can neither refuse what
/// another device wrote nor touch rows that travel.
///
/// What a trigger derives in a table that does not travel (a full-text index, a local cache) must happen on every device. What
/// it derives in a table that travels was captured where the change was made and comes by itself: done twice it would be
/// doubled, or sent back and forth. What it refuses was allowed where the change was made, and every device must come to the
/// same rows.
struct AppTriggers {
    let access: StoreAccess
    private var connection: SQLConnection { access.connection }

    init(_ access: StoreAccess) { self.access = access }

    /// Runs `body`, which writes rows, with copies of the app's triggers where there are any. Triggers of the database itself,
    /// Ferry's too, stay off.
    /// - Parameter refusals: what becomes of RAISE in them.
    func run<Result>(_ refusals: TriggerText.Refusals = .leftOut, _ body: () throws -> Result) throws -> Result {
        guard access.registry.appHasTriggers, access.triggerCopies == nil else { return try body() }
        let copies = try TriggerCopies(access, refusals)
        try connection.execute("UPDATE ferry_replay SET active = 1")
        access.triggerCopies = copies
        defer { access.triggerCopies = nil }
        let result = try body()
        access.triggerCopies = nil
        try connection.execute("UPDATE ferry_replay SET active = 0")
        connection.finalizeStatements()
        try copies.drop()
        return result
    }
}
