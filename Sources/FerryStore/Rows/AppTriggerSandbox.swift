import FerryCore
import FerrySQL
import FerrySchema

/// Runs the app's own triggers while Ferry writes rows, as temporary copies (`TriggerCopies`). A copy can neither
/// refuse a remote change nor write to travelling tables.
///
/// A trigger's effect on a local table (a full-text index, a local cache) must happen on every device. An effect on a
/// travelling table was captured on the device of the change and arrives on its own. Done twice, the effect would be
/// doubled, or sent back and forth.
///
/// A change refused by a trigger here was allowed on its own device, and every device must come to the same rows.
struct AppTriggerSandbox {
    let access: StoreAccess
    private var connection: SQLConnection { access.connection }

    init(_ access: StoreAccess) { self.access = access }

    /// Runs `body`, which writes rows, with copies of the app's triggers if there are any. The database's own triggers,
    /// including Ferry's, stay off.
    /// - Parameter refusals: the treatment of RAISE in the copies.
    func run<Result>(_ refusals: TriggerText.Refusals = .leftOut, _ body: () throws -> Result) throws -> Result {
        guard access.registry.appHasTriggers, access.triggerCopies == nil else { return try body() }
        let copies = try TriggerCopies(access, refusals)
        try connection.execute("UPDATE ferry_replay SET active = 1")
        access.obligations.triggerCopies = copies
        defer { access.obligations.triggerCopies = nil }
        let result = try body()
        access.obligations.triggerCopies = nil
        try connection.execute("UPDATE ferry_replay SET active = 0")
        connection.finalizeStatements()
        try copies.drop()
        return result
    }
}
