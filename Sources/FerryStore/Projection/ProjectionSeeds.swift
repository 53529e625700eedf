import FerryCore
import FerryMerge
import FerrySQL
import FerrySchema

/// Finds the projection seeds among touched objects. Most objects need no rules: targets are shown, nothing refers to
/// the object and nothing waits for the object.
struct ProjectionSeeds {
    let access: StoreAccess
    private var connection: SQLConnection { access.connection }

    /// True if rows show the effect of statements, even for objects the rules must decide about. Replay leaves such
    /// rows unchanged.
    private let isAfterStatements: Bool
    private let lookups: RowLookups

    /// - Parameter lookups: the caller's lookups since rows were last written.
    init(_ access: StoreAccess, isAfterStatements: Bool = false, _ lookups: RowLookups? = nil) {
        self.access = access
        self.isAfterStatements = isAfterStatements
        self.lookups = lookups ?? RowLookups(access)
    }

    func seeds(_ touched: [TouchedObject]) throws -> [RowToken] {
        let anomalous = try anomalousTables()
        var seeds: [RowToken] = []
        var isSeed: Set<RowToken> = []
        var related: Set<Int> = []
        let references = ValueReferences(access)
        var orphans = OrphanSearch(access)
        var table: TrackedTable?
        var near: Set<Int> = []
        func add(_ token: RowToken) {
            if isSeed.insert(token).inserted { seeds.append(token) }
        }
        for object in touched {
            if table?.id != object.table {
                let next = access.registry[object.table]
                near = anomalous.intersection(Self.neighbours(of: next))
                table = next
            }
            guard let table, table.isLocal else { continue }
            let isRelated = !table.foreignKeys.isEmpty || !table.incoming.isEmpty
            if !object.needsRules, anomalous.isEmpty, !isRelated, table.uniqueIndexes.isEmpty { continue }
            let token = RowToken(table: object.table, id: object.object)
            if object.needsRules {
                add(token)
                for reference in try references.references(to: token, by: object.columns) { add(reference.child) }
            } else if object.isDeleted {
                if try lookups.children.hasChildren(table, key: object.key) { add(token) }
            } else {
                let places = table.foreignKeys.indices.filter { place in
                    table.foreignKeys[place].action != .none
                        && table.foreignKeys[place].columns.contains { object.columns.contains($0) }
                }
                if !places.isEmpty, try !lookups.targets.areThere(table, key: object.key, through: places) {
                    add(token)
                }
                if try claimsByGivenKeys(object, table) { add(token) }
            }
            if !object.needsRules || isAfterStatements {
                for orphan in try orphans.search(object, table) { add(orphan) }
            }
            // Nothing waits for anything.
            if try anomalous.isEmpty && !access.anomalyTokens.areAny(of: table.id) { continue }
            guard concernsOthers(object, table) else { continue }
            // Released values may concern anomalous objects nearby.
            related.formUnion(near)
            if try !near.isEmpty || isAwaited(object, table) { add(token) }
        }
        for number in related.sorted() {
            for token in try access.anomalies.objects(in: number, of: AnomalyKind.dependent) { add(token) }
        }
        return seeds
    }

    /// True if a row's claims contain a reference to a row with an author's key of 0 or below.
    private func claimsByGivenKeys(_ object: TouchedObject, _ table: TrackedTable) throws -> Bool {
        guard table.plainClaimColumns.contains(where: object.columns.contains) else { return false }
        let row = try access.reader(of: table.id).read(object.key) ?? [:]
        return try GivenKeys(access).areAny(in: ReferenceTranslator(access).values(row, table), table)
    }

    /// The tables whose anomalous objects may be concerned by released values: the table itself, its parents and its
    /// children.
    static func neighbours(of table: TrackedTable) -> [Int] {
        [table.id] + table.foreignKeys.map(\.parent) + table.incoming.map(\.table)
    }

    /// The tables with anomalous objects a released value may concern. Unified objects wait for nothing, and rivals are
    /// found by their claims.
    func anomalousTables() throws -> Set<Int> {
        try access.anomalies.tables(of: AnomalyKind.dependent)
    }

    /// True if an anomalous object refers to this object, has an equal claim, or has an equal parent key.
    private func isAwaited(_ object: TouchedObject, _ table: TrackedTable) throws -> Bool {
        let tokens = access.anomalyTokens
        guard try tokens.areAny(of: table.id) else { return false }
        func concerns(_ token: RowToken) throws -> Bool { try !tokens.objects(concernedBy: token).isEmpty }
        if try concerns(RowToken(table: table.id, id: object.object)) { return true }
        if object.isDeleted { return false }
        let row = try access.reader(of: table.id).read(object.key) ?? [:]
        let values = try ReferenceTranslator(access).values(row, table)
        return try ReferenceTokens(registry: access.registry).parentKeys(of: table, values).contains(where: concerns)
            || UniqueClaims(access).claims(table, values, of: .init(object.object, key: object.key.first))
                .map(\.token).contains(where: concerns)
    }

    /// True if a change can release or claim values a further object waits for.
    private func concernsOthers(_ object: TouchedObject, _ table: TrackedTable) -> Bool {
        if object.isDeleted || object.columns.count == table.columns.count { return true }
        let columns = Set(object.columns)
        if table.foreignKeys.contains(where: { !columns.isDisjoint(with: $0.columns) }) { return true }
        for index in table.uniqueIndexes {
            if index.needsEvaluation || index.terms.contains(where: { $0.column.map(columns.contains) ?? false }) {
                return true
            }
        }
        return false
    }
}

/// Lookups of targets and referring rows. Valid until any row is written.
final class RowLookups {
    var targets: TargetLookup
    var children: ChildLookup

    init(_ access: StoreAccess) {
        targets = TargetLookup(access)
        children = ChildLookup(access)
    }
}

/// Determines whether a row's targets have their own rows. Caches answers: many rows refer to the same few targets.
struct TargetLookup {
    private let access: StoreAccess
    private var known: [Int: [Int: [[FieldValue]: Bool]]] = [:]
    private var statements: [Int: [Int: LazyStatement]] = [:]
    /// The foreign key columns of each table.
    private var columns: [Int: [Int]] = [:]

    init(_ access: StoreAccess) { self.access = access }

    /// True if every target of a row exists, through the foreign keys at `places`.
    mutating func areThere(_ table: TrackedTable, key: [FieldValue], through places: [Int]) throws -> Bool {
        let row = try references(table, key: key)
        for place in places {
            let values = table.foreignKeys[place].columns.map { row[$0] ?? .null }
            if try !isThere(table, place, values) { return false }
        }
        return true
    }

    /// True if a target with these values exists; NULL needs none.
    mutating func isThere(_ table: TrackedTable, _ place: Int, _ values: [FieldValue]) throws -> Bool {
        if values.contains(.null) { return true }
        if let answer = known[table.id]?[place]?[values] { return answer }
        let statement = try statement(table, place)
        for (index, value) in values.enumerated() { statement.bind(value, Int32(index + 1)) }
        let answer = try statement.step()
        statement.rewind()
        known[table.id, default: [:]][place, default: [:]][values] = answer
        return answer
    }

    /// The values of a row's foreign key columns.
    private mutating func references(_ table: TrackedTable, key: [FieldValue]) throws -> ColumnValues {
        let columns = columns[table.id] ?? Set(table.foreignKeys.flatMap(\.columns)).sorted()
        self.columns[table.id] = columns
        return try access.reader(of: table.id).read(key, columns: columns) ?? [:]
    }

    private mutating func statement(_ table: TrackedTable, _ place: Int) throws -> SQLStatement {
        if let known = statements[table.id]?[place] { return try known.prepared() }
        let key = table.foreignKeys[place]
        let parent = access.registry[key.parent]
        let condition = access.registry.condition(onTargetOf: key)
        let made = LazyStatement("SELECT 1 FROM \(parent.quotedName) WHERE \(condition)", access.connection)
        statements[table.id, default: [:]][place] = made
        return try made.prepared()
    }
}
