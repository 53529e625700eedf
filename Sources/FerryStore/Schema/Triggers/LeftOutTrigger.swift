import FerryCore

/// A trigger of the app's that a replay by this process leaves out: the trigger needs a function or a table that is not there.
public struct LeftOutTrigger: Codable, Equatable, Sendable {
    public var name: String
    /// The table or view that the trigger is on.
    public var table: String
    /// What SQLite says: `no such function: fold`.
    public var reason: String

    /// What is wrong, in a sentence.
    public var problem: String {
        "The trigger “\(name)” on \(table) does not run for what other devices wrote: \(reason)."
    }

    /// What to do about such triggers, in a sentence.
    public static let advice =
        "The rows are right, and what a trigger keeps up beside them is not. Sync from the app's own process, which has what "
        + "its triggers need; or mend the trigger by SQL and make anew what it keeps up."
}

extension Store {
    /// The app's triggers that a replay by this process leaves out. Tries each one; nothing is changed but what is temporary.
    public func leftOutTriggers() throws -> [LeftOutTrigger] {
        try readAccess { access in
            guard access.registry.appHasTriggers, access.triggerCopies == nil else { return [] }
            // A statement that is tried would meet the originals too.
            return try access.connection.withoutTriggers {
                try access.connection.savepoint {
                    let copies = try TriggerCopies(access, .leftOut)
                    try copies.drop()
                    return copies.leftOut
                }
            }
        }
    }
}
