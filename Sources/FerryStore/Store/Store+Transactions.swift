import FerryCore
import GRDB

/// Several accesses in a single transaction.
extension Store {
    /// Runs `body` with all its accesses to the store in a single transaction. If `body` throws, everything is rolled
    /// back. No foreign access comes in between. For work with no effects outside of the store before the end.
    package func atomically<Result>(_ body: () throws -> Result) throws -> Result {
        do {
            return try Self.translating(path) {
                try writer.writeWithoutTransaction { database in
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

    /// The writer's connection, also inside `atomically`.
    func onWriter<Result>(_ body: (Database) throws -> Result) rethrows -> Result {
        if isWhole.withLock({ $0 }) { return try writer.unsafeReentrantWrite(body) }
        return try writer.writeWithoutTransaction(body)
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
