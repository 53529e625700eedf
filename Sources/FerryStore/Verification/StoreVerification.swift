import FerryCore
import FerryMerge
import FerryReferenceModel
import FerrySQL
import FerrySchema

/// Checks a database, by SQLite's own checks. A deep check also computes all rows anew from the state and compares
/// them.
struct StoreVerification {
    private let access: StoreAccess
    private let progress: VerificationProgress?

    /// - Parameter progress: is told the objects that a deep check has compared.
    init(_ access: StoreAccess, _ progress: VerificationProgress? = nil) {
        self.access = access
        self.progress = progress
    }

    func run(deep: Bool) throws -> VerificationReport {
        var report = VerificationReport()
        try checkIntegrity(&report)
        // Unreadable content cannot be compared.
        guard report.isReadable else { return report }
        try ForeignKeyCheck(access.connection).run(&report)
        report.plainReferences = try access.registry.plainReferences(access.connection)
        if deep { try compare(&report) }
        return report
    }

    /// Checks the whole file; if SQLite lacks a function of the app, checks each table separately.
    private func checkIntegrity(_ report: inout VerificationReport) throws {
        func check(_ argument: String) throws -> [String] {
            try access.connection.rows("PRAGMA integrity_check\(argument)").map { $0[0].text }.filter { $0 != "ok" }
        }
        do {
            report.integrity = try check("")
            return
        } catch let error as FerryError where error.code == .missingFunction {}
        let tables = try access.connection.rows(
            "SELECT name FROM pragma_table_list WHERE schema = 'main' AND type IN ('table', 'shadow') ORDER BY name")
        for table in tables.map({ $0[0].text }) {
            do {
                report.integrity += try check("(\(quoted(table)))")
            } catch let error as FerryError where error.code == .missingFunction {
                report.addUnchecked(table, access.connection.lastMessage)
            }
        }
    }

    private func compare(_ report: inout VerificationReport) throws {
        if try !PendingTable(access.connection).isEmpty {
            throw FerryError(
                .busy,
                "Changes wait that Ferry has not packed yet, so rows cannot be compared with the state. Try again when "
                    + "no other program is writing.")
        }
        var identities: [String: TableIdentity] = [:]
        for table in access.registry.tables.values where table.isLocal {
            identities[foldedName(table.name)] = table.identity
        }
        var declared = try ModelSchema(
            access.connection, identities: identities, names: TravellingNames(access.registry),
            undeclaredReferences: access.references(),
            plainReferences: PlainReferenceList(access.connection).applied())
        for place in declared.tables.indices {
            guard let table = access.registry.table(named: declared.tables[place].name), table.hasFormerCollations
            else { continue }
            declared.tables[place].formerCollations = table.identityCollations
        }
        let waiting = try WaitingTable.all(access.connection).map { table in
            (foldedName(access.registry.table(called: table.table)?.name ?? table.table), table.missing)
        }
        let scratch = try ScratchDatabase(declared, borrowing: access.connection)
        let tables = try GivenTables(
            declared, obstacles: scratch.obstacles,
            waiting: Dictionary(waiting.map { ($0.0, "rows wait for the app: \($0.1)") }) { $1 },
            hasCollation: scratch.hasCollation)
        let schema = tables.schema
        for (place, reason) in tables.reasons.sorted(by: { $0.key < $1.key }) {
            report.addUnchecked(schema.tables[place].spelling, reason)
        }
        let copy = try ScratchDatabase.whole(schema, borrowing: access.connection)
        let rows = RowModel(schema, policies: ModelPolicies(access.registry), asking: copy)
        let identity = ModelIdentity(equality: rows.equality, asking: try PlainMemory())
        let model = VerificationModel(schema: schema, rows: rows, identity: identity, copy: copy)
        if try isPlain(model, &report) { return }
        let stored = try StoredState(access, schema, rows.equality)
        rows.referredKeys = Dictionary(
            stored.tables.map { (foldedName($0.table.name), $0.referredKeys) }
        ) { first, _ in first }
        rows.claims = nil
        let objects = stored.tables.flatMap { $0.objects.map(\.plain) }
        let misnamed = try misnamed(stored, schema, identity)
        var given = try tables.reasons.isEmpty ? [:] : given(stored, schema)
        for object in misnamed where !object.table.hasReferencesInKey { given[object.position] = .hidden }
        let told = try rows.outcomes(of: objects, given: given)
        let held = try heldByKeylessRows(stored)
        let outcomes = try held.isEmpty ? told : rows.outcomes(of: objects, given: given.merging(held) { $1 })
        report.deep = true
        try RowComparison(access, stored, .init(here: outcomes, told: told), schema, rows.equality).compare(
            &report, without: Set(tables.reasons.keys.map { schema.tables[$0].name }))
        add(misnamed, to: &report)
        if let failure = rows.equality.failure { throw failure }
    }

    /// Compares on the fast path.
    /// - Returns: false if the general path must look, too. The report is as before then.
    private func isPlain(_ model: VerificationModel, _ report: inout VerificationReport) throws -> Bool {
        func decline(_ reason: FastPathDecline) -> Bool {
            access.fastPathLog.decline(.plainObjects, reason)
            return false
        }
        if !access.fastPaths.contains(.plainObjects) { return decline(.off) }
        if report.hasFindings || !report.unchecked.isEmpty { return decline(.difference) }
        // The general path computes such rows twice.
        if try !KeylessRows(access).hidden().isEmpty { return decline(.anomalies) }
        var found = report
        var objects = try PlainObjects(access, model, progress)
        if let reason = try objects.compare(&found) { return decline(reason) }
        if let failure = model.rows.equality.failure { throw failure }
        found.deep = true
        report = found
        access.fastPathLog.count(.plainObjects)
        return true
    }

    /// An object with the ID of another key. Its row is hidden, but for a table with references in the key.
    private struct Misnamed {
        /// The position among all objects.
        var position: Int
        var table: TrackedTable
        var object: StoredState.Object
    }

    private func misnamed(
        _ stored: StoredState, _ schema: ModelSchema, _ identity: ModelIdentity
    ) throws -> [Misnamed] {
        var misnamed: [Misnamed] = []
        var position = 0
        for table in stored.tables {
            let known = schema.place(of: table.table.name).map { schema.tables[$0] }
            for object in table.objects {
                if let known, !known.isGiven, try !identity.isOwn(object.plain, in: known) {
                    misnamed.append(Misnamed(position: position, table: table.table, object: object))
                }
                position += 1
            }
        }
        return misnamed
    }

    /// Adds the objects that are shown all the same.
    private func add(_ misnamed: [Misnamed], to report: inout VerificationReport) {
        for (object, table) in misnamed.map({ ($0.object, $0.table) })
        where object.plain.inserted != nil && (object.shown.hasRow || object.shown == .joined) {
            let key = object.key.isEmpty ? object.plain.id.description : RowComparison.text(object.key)
            report.add(
                .init(
                    table: table.name, key: key, kind: .identity,
                    problem: "is known under the ID of another key: changes of both may become one"))
        }
    }

    /// The objects that a row of this device alone keeps from being shown, by position among all objects.
    private func heldByKeylessRows(_ stored: StoredState) throws -> [Int: GivenOutcome] {
        let keyless = KeylessRows(access)
        let hidden = try Set(keyless.hidden().filter(keyless.isHeld))
        var held: [Int: GivenOutcome] = [:]
        if hidden.isEmpty { return held }
        var place = 0
        for table in stored.tables {
            for object in table.objects {
                if hidden.contains(RowToken(table: table.table.id, id: object.plain.id)) { held[place] = .hidden }
                place += 1
            }
        }
        return held
    }

    /// The state's outcomes for objects of tables that cannot be checked, by position among all objects.
    private func given(
        _ stored: StoredState, _ schema: ModelSchema
    ) throws -> [Int: GivenOutcome] {
        var joined: [RowToken: ObjectID] = [:]
        try access.unified.forEachMember { joined[$0] = $1 }
        var given: [Int: GivenOutcome] = [:]
        var place = 0
        for table in stored.tables {
            let isGiven = schema[table.table.name].isGiven
            for object in table.objects {
                if isGiven, object.shown == .hidden { given[place] = .hidden }
                let token = RowToken(table: table.table.id, id: object.plain.id)
                if isGiven, object.shown == .joined { given[place] = joined[token].map { .joined(to: $0) } ?? .hidden }
                place += 1
            }
        }
        return given
    }
}

extension ModelPolicies {
    /// The policies of a registry.
    init(_ registry: Registry) {
        self.init()
        for table in registry.tables.values {
            if table.deletionWins { deleteWins.insert(foldedName(table.name)) }
            for index in table.uniqueIndexes where index.hidesLosers { hideLoser.insert(foldedName(index.name)) }
        }
    }
}
