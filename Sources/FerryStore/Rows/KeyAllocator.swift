import FerryCore
import FerrySQL
import FerrySchema

/// Chooses the local keys of rows that come from other devices. Get it from `StoreAccess.keys(of:)`, so that its statement is
/// prepared once.
final class KeyAllocator {
    private let table: TrackedTable
    private unowned let access: StoreAccess
    private let connection: SQLConnection
    private lazy var probe = LazyStatement(
        "SELECT 1 FROM \(table.quotedName) WHERE \(table.keyCondition(first: 1))", connection)

    init(_ table: TrackedTable, _ access: StoreAccess) {
        self.table = table
        self.access = access
        connection = access.connection
    }

    /// Allocates the local key for an object of a mapped table getting a row: the author's key if free, or the highest
    /// integer plus 1. If an app's row has the largest integer possible, uses an integer in a gap.
    /// - Returns: `nil` if the key is taken and SQLite cannot choose a new key, because the key is no integer.
    func allocateKey(wish: FieldValue?) throws -> FieldValue? {
        // Nothing but an integer is a rowid. The author's key may have another type.
        let wish = table.keyIsRowID ? wish?.integerKey : wish
        if let wish, wish != .null, try isFree(wish) { return wish }
        guard isIntegerKey(wish) else { return nil }
        let issued =
            table.isAutoincrement
            ? try connection.count("SELECT seq FROM sqlite_sequence WHERE name = ?", .text(table.localName)) : 0
        let highest = try max(highestKey(), Int64(issued))
        return .integer(try highest < .max ? highest + 1 : keyInGap())
    }

    /// An unused integer after the largest integer is taken. Takes the highest key below a power of two, plus 1, for
    /// the largest power of two with room. As for any key, no row and no state has the integer.
    private func keyInGap() throws -> Int64 {
        for bits in stride(from: 62, through: 1, by: -1) {
            let limit = Int64(1) << Int64(bits)
            let next = try highestKey(below: limit) + 1
            if next < limit { return next }
        }
        throw FerryError(
            .limitExceeded,
            "No integer key is free for another row of \(table.localName). Give its rows smaller keys, and sync again.")
    }

    /// The highest integer key of any row or state; 0 if all keys are below 0.
    /// - Parameter limit: only keys below the limit count.
    func highestKey(below limit: Int64? = nil) throws -> Int64 {
        let (ofRows, ofStates) =
            limit == nil ? ("", "k0 IS NOT NULL") : (" WHERE \(table.keyList) < ?1", "k0 < ?1")
        return Int64(
            try connection.count(
                "SELECT max(coalesce((SELECT max(\(table.keyList)) FROM \(table.quotedName)\(ofRows)), 0), "
                    + "coalesce((SELECT max(k0) FROM \(table.objectTable) WHERE \(ofStates)), 0))",
                values: limit.map { [.integer($0)] } ?? []))
    }

    private func isFree(_ key: FieldValue) throws -> Bool {
        if let holder = try access.objects(of: table.id).object(forKey: key), try !letsGo(holder, of: key) {
            return false
        }
        // An app's value for “none” must not become the key of a row unnoticed.
        if table.hasUncheckedReferences, !KeyReservations.isReservable(key, in: table),
            try KeyReservations(access).isInUse(key, of: table)
        {
            return false
        }
        let statement = try probe.prepared()
        defer { statement.rewind() }
        statement.bind(key, 1)
        return try !statement.step()
    }

    /// Releases a key reserved for rows that are gone.
    private func letsGo(_ holder: ObjectID, of key: FieldValue) throws -> Bool {
        guard table.hasUncheckedReferences else { return false }
        var state = try access.objects(of: table.id).load(holder)
        if try state.shown.hasRow || KeyReservations(access).isInUse(key, of: table) { return false }
        state.key = []
        try access.objects(of: table.id).save(state)
        return true
    }

    private func isIntegerKey(_ wish: FieldValue?) -> Bool {
        switch wish {
        case nil, .null, .integer: true
        default: false
        }
    }
}
