import FerryCore
import FerrySchema

/// Counts and positions of the store, for `ferry status` and for a device's head.
package struct StoreStatus: Sendable {
    package struct TableCount: Sendable {
        package var name: String
        package var identity: TableIdentity
        /// Number of living objects, including hidden objects; the objects of a unified row count once.
        package var objects: Int
        /// True if this database has the table.
        package var isLocal: Bool
    }

    package struct Device: Sendable {
        package var id: DeviceID
        package var name: String
        package var position: LogPosition
        package var isSelf: Bool
    }

    package struct Exceptional: Sendable {
        package var table: String
        package var kind: AnomalyKind
        /// The reason in English.
        package var reason: String
        /// The columns or expressions that the reason is about.
        package var columns: [String]
        package var count: Int
    }

    /// Dangling rows: rows of a local table referring to rows a replay removed.
    package struct Stranded: Sendable {
        package var table: String
        /// The parent table.
        package var parent: String
        package var rows: Int
    }

    package var tables: [TableCount]
    package var leftOut: [LeftOutTable]
    /// The tables of `leftOut` that travel on other devices, without anybody's choice.
    package var kept: [LeftOutTable]
    package var devices: [Device]
    /// Pending changes not packed yet, and segments waiting to be published.
    package var pendingNotes: Int
    package var outboxSegments: Int
    package var outboxChanges: Int
    package var hidden: Int
    package var exceptional: [Exceptional]
    package var stranded: [Stranded]
    /// Tables without triggers: an app made them, or made them anew, since the last pass. Writes to them were not noted.
    package var unseen: [String]
    /// Number of objects without a row because their table was dropped or emptied without deletions, by the exact key of the
    /// table's name.
    package var left: [String: Int]
    /// Number of unresolved conflicts.
    package var conflicts: Int
    /// The checksum of the last packed segment.
    package var lastChecksum: Checksum?
}

extension StoreStatus {
    /// Reads the store's status.
    /// - Parameter counting: true to count objects, at the cost of reading all objects that are not simply shown by a row.
    init(_ access: StoreAccess, counting: Bool) throws {
        let connection = access.connection
        let plan = try TrackingPlan(kept: connection, access.registry.schema)
        let counts = try counting ? ObjectCounts(connection) : nil
        var tables: [StoreStatus.TableCount] = []
        let staying = Set(plan.leftOut.map { foldedName($0.name) })
        for table in access.registry.tables.values.sorted(by: { textOrder(foldedText($0.name), foldedText($1.name)) }) {
            if isFerryName(table.name) { continue }
            // Waiting rows of a different generation are reported separately.
            if access.registry.isOfAnotherGeneration(table) { continue }
            // A table may stay here from now on, as after the loss of its parent.
            if table.isLocal, staying.contains(foldedName(table.localName)) { continue }
            tables.append(
                .init(
                    name: table.localName, identity: table.identity, objects: try counts?.present(in: table) ?? 0,
                    isLocal: table.isLocal))
        }
        var left: [String: Int] = [:]
        for table in access.registry.tables.values where table.isLocal {
            let count = try counts?.left(in: table) ?? 0
            if count > 0 { left[exactKey(table.localName)] = count }
        }
        var exceptional: [StoreStatus.Exceptional] = []
        for (table, reason, count) in try AnomalyTable.groups(connection) where reason.kind.isListed {
            exceptional.append(
                .init(
                    table: access.registry.tables[table]?.localName ?? "?", kind: reason.kind, reason: reason.sentence,
                    columns: reason.columns, count: count))
        }
        self.init(
            tables: tables, leftOut: plan.leftOut, kept: try Self.kept(plan, access), devices: try Self.devices(access),
            pendingNotes: try PendingTable(connection).countWritten(),
            outboxSegments: try Outbox(connection).count(),
            outboxChanges: try Outbox(connection).changeCount(),
            hidden: exceptional.filter(\.kind.isHidden).reduce(0) { $0 + $1.count }, exceptional: exceptional,
            stranded: try DanglingRows(access).counts().map {
                .init(table: $0.table, parent: $0.parent, rows: $0.rows)
            },
            unseen: try Self.unseenTables(plan, access), left: left,
            conflicts: try ConflictTable.unresolvedCount(connection),
            lastChecksum: try Self.lastChecksum(access))
    }

    private static func kept(_ plan: TrackingPlan, _ access: StoreAccess) throws -> [LeftOutTable] {
        let selection = try access.meta.string(.selection).map(SelectionText.parse)
        return plan.leftOut.filter { table in
            func isNamed(_ name: String) -> Bool { equalNames(name, table.name) }
            return access.registry.table(named: table.name) != nil
                && !(selection?.except.contains(where: isNamed) ?? false)
                && selection?.only?.contains(where: isNamed) ?? true
        }
    }

    private static func unseenTables(_ plan: TrackingPlan, _ access: StoreAccess) throws -> [String] {
        let triggered = try UnseenTables(access.connection).tablesWithTriggers()
        return plan.tracked.map(\.name).filter { name in
            if isFerryName(name) { return false }
            return access.registry.table(named: name).map { !triggered.contains($0.id) } ?? true
        }.map { access.registry.table(named: $0)?.localName ?? $0 }
    }

    private static func devices(_ access: StoreAccess) throws -> [StoreStatus.Device] {
        try DeviceTable(access.connection).entries().map {
            .init(id: $0.id, name: $0.name, position: $0.position, isSelf: $0.id == access.device)
        }
    }

    private static func lastChecksum(_ access: StoreAccess) throws -> Checksum? {
        try DeviceTable(access.connection).end(of: access.device)?.checksum
    }
}
