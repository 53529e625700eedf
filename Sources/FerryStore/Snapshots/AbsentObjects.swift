import FerryCore
import FerryMerge
import FerrySQL
import FerrySchema

/// Objects in the store but not in a snapshot: deleted and collected on remote devices, or unknown to the snapshot
/// (`ferry_absent`). Gathered while chunks are merged, and handled at the end.
struct AbsentObjects {
    private let access: StoreAccess
    private let standing: SnapshotCoverage
    private var connection: SQLConnection { access.connection }

    init(_ access: StoreAccess, _ standing: SnapshotCoverage) {
        self.access = access
        self.standing = standing
    }

    /// Records the store's objects between the table's last chunk and the end of this chunk, without objects in the
    /// chunk.
    func note(besides chunk: SnapshotChunk, _ progress: ImportProgress) throws {
        guard let table = access.registry.table(named: chunk.table, chunk.identity), let end = chunk.objects.last?.id
        else { return }
        // An object without an insertion was written to after its collection, and no device there can show the object.
        let present = Set(chunk.objects.lazy.filter { $0.inserted != nil }.map(\.id))
        let partial = Set(chunk.objects.lazy.filter { $0.inserted == nil }.map(\.id))
        try note(
            table, after: progress.last[ImportProgress.key(chunk.table, chunk.identity)].flatMap { ObjectID($0) },
            through: end, except: present,
            partial: partial)
    }

    /// Records the store's objects behind each table's last chunk.
    func recordRest(_ progress: ImportProgress) throws {
        for table in access.registry.parentsFirst {
            let last = progress.last[ImportProgress.key(table.name, table.identity)].flatMap {
                ObjectID($0)
            }
            try note(table, after: last, through: nil, except: [])
        }
    }

    private func note(
        _ table: TrackedTable, after start: ObjectID?, through end: ObjectID?, except present: Set<ObjectID>,
        partial: Set<ObjectID> = []
    ) throws {
        var conditions = ["state IS NOT NULL"]
        var bounds: [FieldValue] = []
        if let start {
            conditions.append("object > ?")
            bounds.append(.blob(start.bytes[...]))
        }
        if let end {
            conditions.append("object <= ?")
            bounds.append(.blob(end.bytes[...]))
        }
        var found: [ObjectID] = []
        try connection.forEachRow(
            """
            SELECT object, state FROM \(table.objectTable)
            WHERE \(conditions.joined(separator: " AND ")) ORDER BY object
            """, bounds
        ) { row in
            guard let id: ObjectID = row.id(0), !present.contains(id) else { return }
            let inserted = try StateCodec.decodeInsertion(row.bytes(1)) { try access.devices.device($0) }
            if inserted == nil, partial.contains(id) { return }
            // A later insertion is simply unknown there.
            if let inserted, !standing.isKnownToSnapshot(inserted) { return }
            found.append(id)
        }
        let list = AbsentList(connection)
        for id in found { try list.add(RowToken(table: table.id, id: id)) }
    }
}
