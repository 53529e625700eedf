import FerryCore

extension Store {
    /// Checks whether the database is sound, by `PRAGMA integrity_check` and `PRAGMA foreign_key_check`. A deep check
    /// also computes all rows anew from the state and compares them. Changes nothing.
    ///
    /// Uses a single reading transaction. A deep check holds all objects in memory, about 3 kB for a small row.
    ///
    /// The store's connection provides the app's collations and functions. A table lacking a function is listed as
    /// unchecked, and the rest is checked.
    /// - Throws: `busy` if changes wait to be packed: a deep check would take them for damage. `Replica.verify` packs
    ///   them first. `notTracked`.
    package func verify(deep: Bool = false) throws -> VerificationReport {
        let start = clock.milliseconds()
        var report = try readAccess { try StoreVerification($0).run(deep: deep) }
        report.computeRemedies()
        report.durationMilliseconds = clock.milliseconds() - start
        return report
    }
}
