import FerryCore

/// What was taken as changes of one table, because rows were not what the state says and no trigger had noted that.
public struct UnseenChanges: Codable, Equatable, Sendable {
    public var table: String
    /// Rows with other values.
    public var changed = 0
    /// Rows that the state did not know.
    public var inserted = 0
    /// Rows that are gone.
    public var deleted = 0
    /// Rows that are gone with all others of the table: no deletions elsewhere.
    public var left = 0

    var areAny: Bool { changed + inserted + deleted + left > 0 }
}

extension Store {
    /// Compares every row with the state, and packs what differs as changes of this device: what was written without a
    /// trigger (`sqlite3_blob_write`, a page that was restored, a schema that was edited) and what `verify` complains of.
    ///
    /// Only where the state tells which column was written is that change as of now. Otherwise all columns of the row travel,
    /// each as written just after its former value, so that they overwrite nothing that others wrote since.
    /// - Returns: what was taken, of the tables in which something differed.
    public func takeUnseenWrites(seal: SegmentSealer) throws -> [UnseenChanges] {
        try passing(seal) { work in
            let coverage = try UnseenTables(work.access.connection).coverage()
            var taken: [UnseenChanges] = []
            for table in work.access.registry.parentsFirst where table.isLocal {
                guard let covered = coverage[table.id], covered.isShown else { continue }
                let findings = try UnseenWrites(work.access, table, covered: covered.columns).note()
                let changes = UnseenChanges(
                    table: table.name, changed: findings.changed, inserted: findings.inserted,
                    deleted: findings.deleted, left: findings.left)
                if changes.areAny { taken.append(changes) }
            }
            if taken.isEmpty { return [] }
            try pack(&work.access, &work.clock, &work.outcome, seal, &work.touched)
            return taken
        }
    }
}
