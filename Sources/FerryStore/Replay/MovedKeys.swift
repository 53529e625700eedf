import FerryCore
import FerryMerge

/// Follows objects that their authors moved to or from an integer of 0 or below.
///
/// A row stands under such an integer only if the integer is its author's (`GivenKeys`). Otherwise SQLite would take a
/// reference to the row for the integer, and the claims of the rules would not.
struct MovedKeys {
    let access: StoreAccess

    init(_ access: StoreAccess) { self.access = access }

    /// Frees integers that objects no longer have. The rules write rows and references anew.
    /// - Parameter moved: the objects, with merged states.
    /// - Returns: the objects the rules must check.
    func follow(_ moved: [RowToken]) throws -> [TouchedObject] {
        var touched: [TouchedObject] = []
        for token in moved {
            let table = access.registry[token.table]
            if !table.isLocal || access.waiting.contains(table.id) { continue }
            touched += try GivenKeys(access).claimants(of: token)
            touched += try leave(token, table)
        }
        return touched
    }

    /// Frees an object's local integer of 0 or below, if the integer is not its author's.
    private func leave(_ token: RowToken, _ table: TrackedTable) throws -> [TouchedObject] {
        let states = access.objects(of: table.id)
        var state = try states.load(token.id)
        guard let key = state.key.first, GivenKeys.isPlain(key), key != state.givenKey,
            !KeyReservations.isStandIn(key, for: token.id)
        else { return [] }
        var touched = try detach(from: token, table, key)
        state = try states.load(token.id)
        var object = TouchedObject(
            table: table.id, object: token.id, columns: table.columns.map(\.id), isDeleted: true, needsRules: true,
            key: state.key)
        if state.shown.hasRow { try RowRemoval(access).remove(&object, &state, table) { _ in false } }
        if state.shown.hasRow { return touched }
        // The rules insert the row again, under the author's integer or another.
        object.needsRules = true
        object.key = [key]
        state.key = []
        state.kept.key = state.givenKey
        try states.save(state)
        touched.append(object)
        return touched
    }

    /// Notes for all rows that refer to an object by an integer that they mean the object.
    private func detach(from object: RowToken, _ table: TrackedTable, _ key: FieldValue) throws -> [TouchedObject] {
        var touched: [TouchedObject] = []
        for place in table.referringColumns {
            let child = access.registry[place.table]
            for row in try GivenKeys(access).rows(of: child, place.column, holding: key) {
                guard let owner = try ReferenceTranslator(access).object(child, row) else { continue }
                let states = access.objects(of: child.id)
                var state = try states.load(owner)
                // A shadow value means something else: an integer without a row, or another object of a unified row.
                if state.kept.fields[place.column] == nil {
                    state.kept.fields[place.column] = .reference(object.id)
                    try states.save(state)
                }
                touched.append(
                    TouchedObject(
                        table: child.id, object: owner, columns: [place.column], isDeleted: false, needsRules: true,
                        key: row))
            }
        }
        return touched
    }
}
