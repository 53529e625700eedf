import FerryCore

/// An app's trigger left out of replay by this process, for lack of a function or a table.
package struct LeftOutTrigger: Codable, Equatable, Sendable {
    package var name: String
    /// The table or view with the trigger.
    package var table: String
    /// SQLite's message: `no such function: fold`.
    package var reason: String

    /// The problem, in a sentence.
    package var problem: String {
        "The trigger “\(name)” on \(table) does not run for what other devices wrote: \(reason)."
    }

    /// The remedy, in a sentence.
    package static let advice =
        "The rows are right, and what a trigger keeps up beside them is not. Sync from the app's own process, which has what "
        + "its triggers need; or mend the trigger by SQL and make anew what it keeps up."
}

extension LeftOutTrigger {
    /// Tries each of the app's triggers; nothing is changed but what is temporary.
    static func all(_ access: StoreAccess) throws -> [LeftOutTrigger] {
        guard access.registry.appHasTriggers, access.triggerCopies == nil else { return [] }
        // A tried statement would fire the originals too.
        return try access.connection.withoutTriggers {
            try access.connection.savepoint {
                let copies = try TriggerCopies(access, .leftOut)
                try copies.drop()
                return copies.leftOut
            }
        }
    }
}
