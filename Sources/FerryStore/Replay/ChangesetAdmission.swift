import FerryCore
import FerrySchema

/// Checks whether a changeset's content is possible on any device. Every changeset is checked before replay.
///
/// A checksum proves a file unchanged, but not an honest writer, nor even Ferry as the writer. Content no version of
/// Ferry writes stops its author's log, and nothing else. Tables missing from this database's schema are no objection:
/// an older or newer schema is equally valid.
struct ChangesetAdmission {
    /// Maximum lead of a write over this device's clock: four thousand years.
    ///
    /// A clock years ahead is accepted and reported (`clockAhead`). A later write to the same row needs an even later
    /// time. So the last time in the format must stay out of reach.
    static let maximumLeadMilliseconds: Int64 = 4000 * 366 * 24 * 3_600_000

    /// The latest accepted time.
    private let latest: HybridTime

    init(_ clock: any WallClock) {
        let (sum, overflows) = clock.milliseconds().addingReportingOverflow(Self.maximumLeadMilliseconds)
        latest = min(HybridTime(milliseconds: overflows ? .max : sum), .latest)
    }

    /// - Returns: the objection to a changeset; `nil` for an admissible changeset.
    func objection(to changeset: Changeset) -> FerryError? {
        if changeset.time > latest { return Self.error(changeset, impossibleTime) }
        for changes in changeset.tables {
            if let reason = Self.objection(to: changes) ?? objection(toOperationsOf: changes) {
                return Self.error(changeset, reason)
            }
        }
        return nil
    }

    /// The objection to a part of a snapshot; `nil` for an admissible part.
    func objection(to chunk: SnapshotChunk) -> FerryError? {
        let layout = TableChanges(
            name: chunk.table, identity: chunk.identity, columns: chunk.columns.map(\.name))
        let isLate = chunk.cells.contains { $0.stamp.time > latest } || chunk.objects.contains(where: isLate)
        let reason =
            Self.objection(to: layout) ?? (isLate ? impossibleTime : nil)
            ?? chunk.objects.lazy.compactMap { Self.objection(toKey: $0.key, chunk.identity, chunk.table) }.first
        return reason.map { FerryError(.damagedFile, "A snapshot cannot be right: \($0).") }
    }

    private func isLate(_ object: SnapshotChunk.Object) -> Bool {
        ([object.inserted, object.deleted].compactMap { $0 } + object.earlierDeletions).contains { $0.time > latest }
    }

    private static func error(_ changeset: Changeset, _ reason: String) -> FerryError {
        FerryError(
            .damagedFile,
            "Its changeset \(changeset.sequence) cannot be right: \(reason). Other devices and tables go on. Look who writes "
                + "to the folder; retire the device if it will not be mended.",
            device: changeset.device, sequence: changeset.sequence)
    }

    // MARK: Tables and columns

    private static func objection(to changes: TableChanges) -> String? {
        let name = changes.name
        if name.isEmpty || Self.hasNul(name) { return "it names a table as no table can be named" }
        let ownIdentity = ownIdentities[name] ?? DocumentTables.identities[name]
        if foldedName(name).hasPrefix("sqlite_") || OwnNames.stays(name) {
            return "it names the table \(name), which cannot travel"
        }
        if let ownIdentity, changes.identity.folded != ownIdentity {
            return "it identifies rows of Ferry's table \(name) in another way than any Ferry does"
        }
        switch changes.identity {
        case .surrogate: break
        case .surrogateBy(let column):
            if column.isEmpty || Self.hasNul(column) {
                return "it identifies rows of the table \(name) by a column that no table can have"
            }
        case .key(let columns), .declared(let columns):
            if columns.isEmpty || columns.contains(where: Self.hasNul)
                || Set(columns.map(foldedName)).count < columns.count
            {
                return "it identifies rows of the table \(name) by columns that no table can have"
            }
        }
        return changes.columns.contains(where: Self.hasNul)
            ? "it names a column of the table \(name) as no column can be named" : nil
    }

    /// True for a name that SQLite cannot have. Asked for each name of each changeset, so bytes are searched.
    private static func hasNul(_ name: String) -> Bool { name.utf8.contains(0) }

    private static let ownIdentities: [String: TableIdentity] = [
        PolicyList.table: .key(["target"]), "ferry_kv_value": .key(["key"]),
        "ferry_kv_member": .key(["set", "member"]),
        "ferry_kv_counter": .key(["counter", "device"]),
    ]

    // MARK: Operations

    private func objection(toOperationsOf changes: TableChanges) -> String? {
        for operation in changes.operations {
            if operation.time > latest { return impossibleTime }
            if let reason = Self.objection(toKey: operation.key, changes.identity, changes.name) { return reason }
        }
        return nil
    }

    private static func objection(toKey key: FieldValue?, _ identity: TableIdentity, _ table: String) -> String? {
        switch (key, identity) {
        case (nil, _): nil
        case (.reference, _), (.null, _): "the key of a row in the table \(table) is none"
        case (_, .key): "a row of the table \(table) has a key beside its columns"
        default: nil
        }
    }

    private var impossibleTime: String {
        "it says that it was made thousands of years from now, so a clock is wrong there or the file was forged"
    }
}
