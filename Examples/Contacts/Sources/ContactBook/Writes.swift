import Ferry
import Foundation
import GRDB

// snippet import
func importContacts(_ drafts: [ContactDraft], into pool: DatabasePool, batchSize: Int = 500) throws {
    for start in stride(from: 0, to: drafts.count, by: batchSize) {
        try pool.write { database in
            for draft in drafts[start..<min(start + batchSize, drafts.count)] { try draft.insert(database) }
        }
    }
}
// end

// snippet delete
func deleteContacts(in group: Int64, from pool: DatabasePool) throws -> Int {
    try pool.write { try Contact.filter(Column("groupID") == group).deleteAll($0) }
}
// end

// snippet objects
func setCity(_ city: String, of contact: Int64, in pool: DatabasePool) async throws {
    try await pool.write { database in
        guard var known = try Contact.fetchOne(database, key: contact) else { return }
        try known.updateChanges(database) { $0.city = city }
    }
}

func objects(of contacts: [Int64], in store: Store) throws -> [ObjectID?] {
    try store.objectIDs(of: contacts.map { [.integer($0)] }, in: "contact")
}

func contact(_ object: ObjectID, in store: Store, _ pool: DatabasePool) throws -> Contact? {
    guard case .integer(let id)? = try store.key(of: object, in: "contact")?.first else { return nil }
    return try pool.read { try Contact.fetchOne($0, key: id) }
}
// end

// snippet stores
func openContacts(at path: String, calls: String) throws -> DatabasePool {
    try DatabaseQueue(path: calls).write { database in
        try database.execute(
            sql: """
                CREATE TABLE IF NOT EXISTS call(
                    id INTEGER PRIMARY KEY, contactID INTEGER NOT NULL, seconds INTEGER NOT NULL);
                CREATE INDEX IF NOT EXISTS call_contact ON call(contactID, seconds);
                """)
    }
    var configuration = Configuration()
    configuration.prepareDatabase { database in
        try database.execute(sql: "ATTACH DATABASE ? AS calls", arguments: [calls])
    }
    return try openContacts(at: path, configuration: configuration)
}

func mostCalled(_ count: Int, _ database: Database) throws -> [String] {
    try String.fetchAll(
        database,
        sql: """
            SELECT lastName FROM (
                SELECT contactID, SUM(seconds) AS total FROM calls.call GROUP BY contactID
                ORDER BY total DESC, contactID LIMIT ?)
            JOIN contact ON contact.id = contactID ORDER BY total DESC, contactID
            """,
        arguments: [count])
}
// end

// snippet log
func logging(_ report: @escaping @Sendable (_ sql: String, _ seconds: TimeInterval) -> Void) -> Configuration {
    var configuration = Configuration()
    configuration.prepareDatabase { database in
        database.trace(options: .profile) { event in
            if case .profile(let statement, let seconds) = event { report(statement.sql, seconds) }
        }
    }
    return configuration
}
// end
