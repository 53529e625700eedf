import FerryCore

extension Store {
    /// Checks whether the database is sound, by `PRAGMA integrity_check` and `PRAGMA foreign_key_check`. A deep check
    /// also computes all rows anew from the state and compares them. Changes nothing.
    ///
    /// Uses a single reading transaction. A deep check holds in memory the objects for which the rules decide something. Where
    /// something is wrong, and where this process lacks a function of the app, a deep check holds all objects: about 3 kB for a
    /// small row.
    ///
    /// The store's connection provides the app's collations and functions. A table lacking a function is listed as
    /// unchecked, and the rest is checked.
    /// - Throws: `busy` if changes wait to be packed: a deep check would take them for damage. `Replica.verify` packs
    ///   them first. `notTracked`.
    /// - Parameter progress: is told now and then how many objects of how many are compared.
    package func verify(
        deep: Bool = false, progress: ((_ completed: Int, _ total: Int) -> Void)? = nil
    ) throws -> VerificationReport {
        let start = clock.milliseconds()
        var report = try readAccess { access in
            access.fastPaths = fastPaths
            let report = try StoreVerification(access, progress.map { VerificationProgress($0) }).run(deep: deep)
            let counts = access.fastPathLog.takeCounts()
            countedFastPaths.withLock { $0.add(counts) }
            return report
        }
        report.computeRemedies()
        report.durationMilliseconds = clock.milliseconds() - start
        return report
    }
}
