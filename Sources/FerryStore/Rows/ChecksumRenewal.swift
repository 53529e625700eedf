import FerryCore
import FerrySchema

/// Computes the checksums of a table's objects anew from their rows.
struct ChecksumRenewal {
    let access: StoreAccess
    let table: TrackedTable

    init(_ access: StoreAccess, _ table: TrackedTable) {
        self.access = access
        self.table = table
    }

    /// Renews all checksums, after columns were dropped or the table was made anew: digests must stay comparable with
    /// peers.
    func renewAll() throws {
        var ids: [ObjectID] = []
        try access.connection.forEachRow("SELECT object FROM \(table.objectTable)") { row in
            if let id: ObjectID = row.id(0) { ids.append(id) }
        }
        try renew(ids)
    }

    func renew(_ ids: some Sequence<ObjectID>) throws {
        let objects = access.objects(of: table.id)
        let translator = ReferenceTranslator(access)
        for id in ids {
            var state = try objects.load(id)
            guard state.isStored else { continue }
            var row: ColumnValues = [:]
            if table.isLocal, state.shown.hasRow, let read = try access.reader(of: table.id).read(state.key) {
                row = try translator.values(read, table)
            }
            let former = state.check
            objects.renewCheck(of: &state, row: row)
            if state.check != former { try objects.save(state) }
        }
    }
}
