import FerryContainer
import FerryCore
import FerryStore

/// The rows that a database brings along when it joins: which of them are the container's, and what becomes of them.
struct JoiningRows {
    private let store: Store
    private let options: JoinOptions
    /// What the container has; `nil` where the database has no rows to hold against it.
    private let objects: ContainerObjects?
    private var here: ObjectSets = [:]
    /// Integer keys that rows on both sides have though nothing says that they are the same rows.
    private(set) var matchingKeys = 0
    /// Rows that were taken out because only this database had them.
    private(set) var removed = 0

    init(_ store: Store, _ container: Container, _ options: JoinOptions) throws {
        self.store = store
        self.options = options
        objects = try store.hasRows() ? ContainerObjects(container) : nil
    }

    /// Packs the rows, after those under the container's keys became its objects where that was asked for.
    mutating func pack(seal: SegmentSealer) throws -> PassOutcome {
        if let objects {
            if options.match == .keys {
                _ = try store.adopt(objects.holders)
            } else {
                let alive = objects.alive
                let keys = try store.integerKeys()
                for (table, holders) in objects.holders {
                    let there = holders.filter { alive[table]?.contains($0.value) ?? false }
                    matchingKeys += keys[table].map { keys in there.keys.filter(keys.contains).count } ?? 0
                }
            }
        }
        var here: ObjectSets = [:]
        let (outcome, removed) = try store.packOldRows(known: options.rows == .theirs ? objects?.all : nil) {
            changeset, previous in
            for changes in changeset.tables {
                here[foldedName(changes.name), default: []].formUnion(changes.operations.map(\.object))
            }
            return try seal(changeset, previous)
        }
        self.here = here
        self.removed = removed
        return outcome
    }

    /// How the rows stand to the container's, after both were merged.
    /// - Parameter status: as it is then.
    func counts(_ status: StoreStatus) throws -> [RowComparisonCount] {
        if let objects { return try store.compareRows(here: here, there: objects.alive) }
        return status.tables.map { table in
            var count = RowComparisonCount(table: table.name)
            count.onlyThere = table.objects
            return count
        }
    }

    /// Writes as of now what would be lost otherwise, or what is to win.
    /// - Returns: the number of changes, which wait to be packed.
    func writeAgain() throws -> Int {
        switch options.rows {
        case .merge: try store.reviveOldRowsLostToDeletions(here)
        case .mine: try store.reviveOldRowsLostToDeletions(here) + store.writeOldValuesAgain()
        case .theirs: 0
        }
    }
}
