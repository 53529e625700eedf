import FerryCore

/// The unseen writes accepted as changes of a table: rows differed from the state, and no trigger had recorded the
/// writes.
public struct UnseenChanges: Codable, Equatable, Sendable {
    public var table: String
    /// Rows with new values.
    public var changed = 0
    /// Rows unknown to the state.
    public var inserted = 0
    /// Missing rows.
    public var deleted = 0
    /// Rows missing together with all rows of the table: no deletions elsewhere.
    public var left = 0

    var areAny: Bool { changed + inserted + deleted + left > 0 }
}

extension Store {
    /// Compares every row with the state, and packs the differences as changes of this device. For writes without a
    /// trigger (`sqlite3_blob_write`, a restored page, an edited schema) and for findings of `verify`.
    ///
    /// If the state identifies the written column, the change is as of now. Otherwise all columns of the row travel,
    /// each at the time just after its former value, so they overwrite no later remote write.
    /// - Returns: the accepted changes, for tables with any difference.
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
