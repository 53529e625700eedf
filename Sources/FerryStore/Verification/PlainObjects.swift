import FerryCore
import FerryMerge
import FerryReferenceModel
import FerrySQL
import FerrySchema

/// A fast path of verification: compares most objects one by one as they are read, and gives the model only the objects for which
/// the rules decide something. So a store of a million rows needs no more memory than its exceptional rows do.
///
/// An object is *plain* if the state marks it as simply shown and alive, and no exceptional object concerns it (`ModelRegion`).
/// SQLite itself has said that every row keeps the constraints, that no two rows have equal keys, and that foreign keys lead to
/// rows. So the rules show a plain object as it is.
///
/// The fast path knows "sound" only. At the first difference it is over, and the general path tells all of them.
struct PlainObjects {
    private let access: StoreAccess
    private let model: VerificationModel
    private let tables: [StoredTable]
    private var region: ModelRegion
    /// The region's objects by table.
    private var members: [[ObjectID: StoredState.Object]]
    private var referredKeys: [String: [ObjectID: FieldValue]] = [:]
    /// The region's revision at the last search through a table, by table.
    private var searched: [Int]
    /// The numbers of rows by table.
    private var rowCounts: [Int] = []
    private let progress: VerificationProgress?

    /// - Parameter progress: is told the objects that are compared.
    init(_ access: StoreAccess, _ model: VerificationModel, _ progress: VerificationProgress?) throws {
        self.access = access
        self.model = model
        self.progress = progress
        tables = try StoredTable.all(access, model.schema, model.rows.equality)
        region = ModelRegion(model.schema, ModelPolicies(access.registry), asking: model.copy)
        members = tables.map { _ in [:] }
        searched = tables.map { _ in 0 }
    }

    /// Compares everything, and adds the tables to the report.
    /// - Returns: why the general path must look, too; `nil` if everything is sound.
    mutating func compare(_ report: inout VerificationReport) throws -> FastPathDecline? {
        for place in tables.indices {
            if let decline = try classify(place) { return decline }
        }
        try addListedObjects()
        var outcomes: [ModelOutcome] = []
        var hasNews = false
        // What the model finds objects to claim may concern others.
        repeat {
            guard try fillRegion(), region.isBounded else { return .anomalies }
            let claims = ClaimList()
            (model.rows.claims, model.rows.referredKeys) = (claims, referredKeys)
            outcomes = try model.rows.outcomes(of: regionTables.flatMap { $0.objects.map(\.plain) })
            hasNews = region.add(claims.claims)
        } while hasNews
        var findings = VerificationReport()
        let comparison = try RowComparison(
            access, StoredState(regionTables), .init(here: outcomes), model.schema, model.rows.equality)
        comparison.compareObjects(&findings)
        try progress?.begin(of: tables.map(\.table), access.connection)
        for (place, table) in tables.enumerated() {
            for object in members[place].values where try !hasOwnID(object, table) { return .difference }
            guard let summary = try comparePlain(place, comparison, &findings) else { return .difference }
            report.tables.append(summary)
        }
        return findings.differences.isEmpty ? nil : .difference
    }

    // MARK: The region

    /// The region's objects as a state of their own, each table's in the order of IDs.
    private var regionTables: [StoredState.Table] {
        zip(tables, members).map { stored, members in
            var table = StoredState.Table(table: stored.table)
            table.objects = members.sorted { $0.key < $1.key }.map(\.value)
            return table
        }
    }

    /// Finds a table's exceptional objects by their states alone.
    private mutating func classify(_ place: Int) throws -> FastPathDecline? {
        let stored = tables[place]
        let isReferredUnchecked = model.schema.tables.contains { table in
            table.columns.contains { $0.isUnchecked && $0.reference == stored.place }
        }
        let local = stored.table.localColumns.map(\.id)
        var exceptional: [ObjectID] = []
        var referred: [ObjectID: FieldValue] = [:]
        var shown = 0
        try stored.forEachEntryWithoutRow { entry in
            if let key = entry.referredKey { referred[entry.id] = key }
            guard entry.isKnown else { return }
            if entry.shown.hasRow { shown += 1 }
            switch entry.shown {
            case .row:
                let hasShadow = entry.kept.map { kept in local.contains { kept.fields[$0] != nil } } ?? false
                // A reference to such a key may claim the integer itself.
                let given = isReferredUnchecked ? entry.given ?? entry.kept?.key ?? entry.key.first : nil
                let isUnusual = if case .integer(let key)? = given { key <= 0 } else { false }
                if !entry.registers.isAlive || hasShadow || isUnusual { exceptional.append(entry.id) }
            case .none: if entry.registers.isAlive { exceptional.append(entry.id) }
            case .anomalousRow, .hidden, .joined: exceptional.append(entry.id)
            }
        }
        referredKeys[model.schema.tables[stored.place].name] = referred
        rowCounts.append(try stored.rowCount())
        // A row that Ferry was not told of, a row that is gone, or two objects with one row.
        if try shown != rowCounts[place] || !hasDistinctKeys(stored) { return .difference }
        for id in exceptional { try add(id, place, as: .exceptional) }
        return nil
    }

    /// Objects of other tables have IDs that follow from their keys.
    private func hasDistinctKeys(_ stored: StoredTable) throws -> Bool {
        guard stored.table.isMapped else { return true }
        return try access.connection.count(
            """
            SELECT count(k0) = count(DISTINCT k0) FROM \(stored.table.objectTable)
            """) == 1
    }

    /// Whatever the store lists as anomalous, the model computes.
    private mutating func addListedObjects() throws {
        var listed: Set<RowToken> = []
        try access.anomalies.forEach(hasChecks: false) { token, _, _ in listed.insert(token) }
        try access.unified.forEachMember { member, representative in
            listed.insert(member)
            if let representative { listed.insert(RowToken(table: member.table, id: representative)) }
        }
        let places = Dictionary(uniqueKeysWithValues: tables.enumerated().map { ($1.table.id, $0) })
        for token in listed {
            guard let place = places[token.table], members[place][token.id] == nil else { continue }
            try add(token.id, place, as: .exceptional)
        }
    }

    private mutating func add(_ id: ObjectID, _ place: Int, as role: ModelRegion.Role) throws {
        guard let entry = try tables[place].entry(of: id), entry.isKnown else { return }
        try add(tables[place].object(entry), place, as: role)
    }

    private mutating func add(_ object: StoredState.Object, _ place: Int, as role: ModelRegion.Role) throws {
        members[place][object.plain.id] = object
        try region.add(object.plain, as: role)
    }

    /// How often all tables are looked at: a chain of references within a table takes a turn for each reference.
    private static let maximumTurns = 12

    /// Adds objects until no further object has a role.
    /// - Returns: false if that takes too long.
    private mutating func fillRegion() throws -> Bool {
        for _ in 0..<Self.maximumTurns {
            var isFull = true
            for place in tables.indices {
                if try addMissing(place) { isFull = false }
                let revision = region.revisions[tables[place].place]
                if revision == searched[place] { continue }
                searched[place] = revision
                if try addConcerned(place) { isFull = false }
            }
            if isFull { return true }
        }
        return false
    }

    /// Adds a table's objects that members refer to by their IDs.
    private mutating func addMissing(_ place: Int) throws -> Bool {
        let stored = tables[place]
        var hasNews = false
        for id in region.missing(in: stored.place) {
            guard let entry = try stored.entry(of: id), entry.isKnown else {
                region.giveUp(id, of: stored.place)
                continue
            }
            let object = try stored.object(entry)
            try add(object, place, as: region.role(of: object.plain) ?? .context)
            hasNews = true
        }
        return hasNews
    }

    /// Adds a table's objects that have a role by their values.
    private mutating func addConcerned(_ place: Int) throws -> Bool {
        let stored = tables[place]
        var found: [(StoredState.Object, ModelRegion.Role)] = []
        try stored.forEachEntry { entry in
            let known = region.role(ofMember: entry.id, of: stored.place)
            guard entry.isKnown, known != .exceptional else { return }
            if let candidate = stored.candidate(entry) {
                guard let role = try region.role(of: candidate), role != known else { return }
                found.append((try stored.object(entry), role))
            } else {
                let object = try stored.object(entry)
                guard let role = try region.role(of: object.plain), role != known else { return }
                found.append((object, role))
            }
        }
        for (object, role) in found { try add(object, place, as: role) }
        return !found.isEmpty
    }

    // MARK: Plain objects

    /// Compares a table's objects outside the region, and the table's digests.
    /// - Returns: the table's numbers; `nil` at a difference.
    private func comparePlain(
        _ place: Int, _ comparison: RowComparison, _ findings: inout VerificationReport
    ) throws -> VerificationReport.Table? {
        let stored = tables[place]
        var plain = PlainComparison(stored, model)
        var digest = StateDigests.Change()
        var objects = 0
        var isSound = true
        try stored.forEachEntry { entry in
            guard isSound, entry.isKnown else { return }
            progress?.advance()
            if entry.shown != .none && entry.shown != .joined { objects += 1 }
            digest.add(StateDigests.Change(from: 0, to: entry.check))
            if region.role(ofMember: entry.id, of: stored.place) != nil {
                comparison.add(entry.id, stored.table, to: &digest)
            } else if comparison.isListed(entry.id, stored.table) {
                isSound = false
            } else if entry.shown == .row {
                isSound = try plain.isSound(entry)
            } else {
                let object = try stored.object(entry)
                isSound = try plain.isSoundDeletion(entry, object.plain) && hasOwnID(object, stored)
            }
        }
        comparison.compare(digest, stored.table, &findings)
        return isSound ? .init(name: stored.table.name, objects: objects, rows: rowCounts[place]) : nil
    }

    /// True if an object's ID is that of its key.
    private func hasOwnID(_ object: StoredState.Object, _ stored: StoredTable) throws -> Bool {
        guard object.plain.inserted != nil else { return true }
        return try model.identity.id(of: object.plain, in: model.schema.tables[stored.place]).map {
            $0 == object.plain.id
        } ?? true
    }
}

/// The model with all that it asks.
struct VerificationModel {
    let schema: ModelSchema
    let rows: RowModel
    let identity: ModelIdentity
    /// A copy of the schema, in which SQLite judges single rows.
    let copy: ScratchDatabase
}

/// Compares the plain objects of a table.
private struct PlainComparison {
    private let stored: StoredTable
    private let table: ModelSchema.Table
    private let identity: ModelIdentity
    private let checks: ObjectChecksums
    /// The columns of the key as positions among the local columns; empty for a mapped key.
    private let key: [Int]
    /// Local columns that must have a stamp to count: other objects' references by value lead to them.
    private let parents: [Int]
    /// Local columns whose values are references to rows by a foreign key.
    private let mapped: Set<Int>
    /// The object's own values by column, while it is compared.
    private var values: [FieldValue?]

    init(_ stored: StoredTable, _ verification: VerificationModel) {
        self.stored = stored
        identity = verification.identity
        table = verification.schema.tables[stored.place]
        checks = ObjectChecksums(stored.table)
        values = Array(repeating: nil, count: stored.table.columns.count)
        let (model, columns) = (table, stored.table.localColumns)
        func position(_ column: Int) -> Int? {
            columns.firstIndex { equalNames($0.name, model.columns[column].name) }
        }
        key = model.isMapped ? [] : model.key.compactMap(position)
        parents = verification.schema.tables.flatMap { child in
            child.foreignKeys.filter { $0.parent == stored.place && !$0.isMapped }.flatMap(\.parentColumns)
        }.compactMap(position)
        mapped = Set(model.foreignKeys.filter(\.isMapped).flatMap(\.columns).compactMap(position))
    }

    /// True if an object is what the rules and the checksum say of it.
    mutating func isSound(_ entry: StoredTable.Entry) throws -> Bool {
        guard var row = entry.row, entry.registers.isAlive else { return false }
        let columns = stored.table.localColumns
        for (position, target) in stored.references.enumerated() {
            guard let target, row[position] != .null else { continue }
            if let object = try target.object(row[position]) {
                row[position] = .reference(object)
            } else if mapped.contains(position) {
                return false
            }
        }
        for column in values.indices { values[column] = entry.kept?.fields[column] }
        for (position, column) in columns.enumerated() { values[column.id] = row[position] }
        func hasStamp(_ position: Int) -> Bool {
            row[position] == .null || entry.registers.stamp(of: columns[position].id) != nil
        }
        guard key.allSatisfy(hasStamp), parents.allSatisfy(hasStamp) else { return false }
        let values = values
        guard checks.check(entry.id, entry.registers, { $0 < values.count ? values[$0] : nil }) == entry.check else {
            return false
        }
        if key.count != table.key.count || key.isEmpty { return table.isMapped }
        let own = key.map { row[$0] }
        return try !own.contains(.null) && identity.id(ofKey: own, in: table) == entry.id
    }

    /// True if an object is dead, and has the values that a dead object keeps.
    func isSoundDeletion(_ entry: StoredTable.Entry, _ object: ModelObject) -> Bool {
        guard !entry.shown.hasRow, !entry.registers.isAlive, entry.check == 0 else { return false }
        if object.inserted == nil { return true }
        return stored.table.localColumns.allSatisfy { column in
            object.fields[foldedName(column.name)].map { $0.value != nil } ?? true
        }
    }
}
