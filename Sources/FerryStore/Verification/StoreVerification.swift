import FerryCore

extension Store {
    /// Looks whether the database is sound: by `PRAGMA integrity_check` and `PRAGMA foreign_key_check` and, where it is
    /// asked to look deep, by computing all rows anew from the state and comparing. Nothing is changed.
    ///
    /// One reading transaction. A deep look holds all objects in memory, about 3 kB a small row.
    /// - Throws: `busy` where changes wait to be packed, which a deep look would take for damage: `Replica.verify`
    ///   packs them first. `notTracked`. `database` where the schema needs functions or collations of the app's own.
    public func verify(deep: Bool = false) throws -> VerificationReport {
        let start = clock.milliseconds()
        var report = try readAccess { access in
            var report = VerificationReport()
            report.integrity = try access.connection.rows("PRAGMA integrity_check").map { $0[0].text }
                .filter { $0 != "ok" }
            // What cannot be read cannot be compared.
            guard report.integrity.isEmpty else { return report }
            report.foreignKeys = try access.brokenForeignKeys()
            report.plainReferences = try access.plainReferences()
            if deep { try compare(access, &report) }
            return report
        }
        report.seconds = Double(clock.milliseconds() - start) / 1000
        return report
    }

    private func compare(_ access: StoreAccess, _ report: inout VerificationReport) throws {
        if try access.connection.count("SELECT EXISTS(SELECT 1 FROM ferry_pending)") != 0 {
            throw FerryError(
                .busy,
                "Changes wait that Ferry has not packed yet, so rows cannot be compared with the state. Try again when "
                    + "no other program is writing.")
        }
        let stored = try StoredState(access)
        var identities: [String: TableIdentity] = [:]
        for table in access.registry.tables.values where table.isLocal {
            identities[foldedName(table.name)] = table.identity
        }
        let schema = try PlainSchema(
            access.connection, identities: identities, undeclaredReferences: access.references(),
            plainReferences: PlainReferenceList(access.connection).applied())
        let rows = try PlainRows(schema, policies: PlainPolicies(access.registry))
        let outcomes = try rows.outcomes(of: stored.tables.flatMap { $0.objects.map(\.plain) })
        report.deep = true
        try RowComparison(access, stored, outcomes).compare(&report)
    }
}

extension PlainPolicies {
    /// The policies that a registry holds.
    init(_ registry: Registry) {
        for table in registry.tables.values {
            if table.deletionWins { deleteWins.insert(foldedName(table.name)) }
            for index in table.uniqueIndexes where index.hidesLosers { hideLoser.insert(foldedName(index.name)) }
        }
    }
}
