import FerryCore
import FerrySQL
import FerrySchema
import GRDB
import GRDBSQLite

/// Several accesses in a single transaction.
extension Store {
    /// Runs `body` with all its accesses to the store in a single transaction. If `body` throws, everything is rolled
    /// back. No foreign access comes in between. For work with no effects outside of the store before the end.
    package func atomically<Result>(_ body: () throws -> Result) throws -> Result {
        do {
            return try Self.translating(path) {
                try onWriter { database in
                    let connection = try connection(database)
                    defer { if kept == nil { connection.finalizeStatements() } }
                    try beAsFerry(connection)
                    isWhole.withLock { $0 = true }
                    var result: Result?
                    let work = Swift.Result {
                        try durably(connection) {
                            try database.inTransaction(.immediate) {
                                result = try connection.guardingFile(body)
                                return .commit
                            }
                        }
                    }
                    isWhole.withLock { $0 = false }
                    try beAsTheApp(connection)
                    try work.get()
                    guard let result else { throw FerryError(.internalInconsistency, "A write returned nothing.") }
                    return result
                }
            }
        } catch {
            forgetWhatWasRead()
            throw error
        }
    }

    /// Runs `body` for its result, and rolls back its accesses. Only inside `atomically`.
    package func tentatively<Result>(_ body: () throws -> Result) throws -> Result {
        func run(_ script: String) throws {
            try onWriter { database in
                let connection = try connection(database)
                try connection.executeScript(script)
                if kept == nil { connection.finalizeStatements() }
            }
        }
        try run("SAVEPOINT ferry_tentative")
        let work = Swift.Result { try body() }
        // If the disk fails, SQLite rolls back the whole transaction on its own, including savepoints.
        if case .success = work { try run("ROLLBACK TO ferry_tentative; RELEASE ferry_tentative") }
        forgetWhatWasRead()
        return try work.get()
    }

    /// Runs `body` on the writer's connection, also inside `atomically`. Every access of the store comes through here.
    /// - Throws: `database` where the connection is closed, `invalidArgument` inside a transaction that is not the store's.
    func onWriter<Result>(_ body: (Database) throws -> Result) throws -> Result {
        // GRDB ends the process where `writeWithoutTransaction` meets an access on the same thread.
        try writer.unsafeReentrantWrite { database in
            if database.sqliteConnection == nil { throw Self.closed(path) }
            if database.isInsideTransaction, !isWhole.withLock({ $0 }) || isInAppsFunction.withLock({ $0 }) {
                throw FerryError(
                    .invalidArgument,
                    "Ferry was called inside a transaction of the same database: in a `write` or `read` of the app's, or in one of the app's "
                        + "functions that a pass calls. Call Ferry before the transaction or after its end.", path: path
                )
            }
            do {
                return try waitingForOthers(database) { try body(database) }
            } catch let error as FerryError {
                throw try hasLeft(error, database) ?? error
            }
        }
    }

    /// How long an access waits for another program on a connection of an app that does not wait at all, which is GRDB's default.
    private static var busyMilliseconds: Int32 { 5_000 }

    /// Runs an access of Ferry's that waits while another program writes. The app's own accesses stay as the app configured them.
    private func waitingForOthers<Result>(_ database: Database, _ body: () throws -> Result) rethrows -> Result {
        guard case .immediateError = database.configuration.busyMode, !database.isInsideTransaction else {
            return try body()
        }
        sqlite3_busy_timeout(database.sqliteConnection, Self.busyMilliseconds)
        defer { sqlite3_busy_timeout(database.sqliteConnection, 0) }
        return try body()
    }

    /// The error to tell where a table of Ferry's is missing because the database left its container; `nil` for any other error.
    private func hasLeft(_ error: FerryError, _ database: Database) throws -> FerryError? {
        guard let refusal = error.cause as? SQLiteRefusal, OwnRemains.missingTable(refusal) != nil else { return nil }
        let connection = try connection(database)
        defer { if kept == nil { connection.finalizeStatements() } }
        let remains = try OwnRemains(connection)
        guard remains.missing.contains(OwnNames.meta), try !remains.areThere else { return nil }
        return FerryError(
            .notTracked,
            "The database left its container. Nothing is kept in step any more, and nothing was changed. Open it with a container "
                + "first.", path: path.isEmpty ? nil : path, cause: error)
    }

    /// Makes sure that the store can be used on this thread now. Called before this process takes a lock that another thread may hold while
    /// it waits for the connection.
    /// - Throws: as `onWriter`.
    package func checkAccess() throws { try onWriter { _ in } }

    /// The app's hook as a pass calls it. The hook calls the store only by mistake.
    var hookOfPasses: ReplayHook? {
        guard let hook = willCommitReplay else { return nil }
        return { database, changes in
            self.isInAppsFunction.withLock { $0 = true }
            defer { self.isInAppsFunction.withLock { $0 = false } }
            try hook(database, changes)
        }
    }

    /// The app closed the connection.
    static func closed(_ path: String) -> FerryError {
        FerryError(.database, "The database is closed.", path: path.isEmpty ? nil : path)
    }

    func forgetWhatWasRead() {
        registries.forgetAll()
        kept?.access = nil
        lastVector.forget()
        lastReading.forget()
        lastCounting.forget()
        lastMissing.forget()
        lastContentEpochs.forget()
    }
}
