import Ferry
import Foundation
import GRDB

// snippet line
struct ContactLine: Codable, Hashable, FetchableRecord, TableRecord, Sendable {
    var id: Int64
    var firstName: String
    var lastName: String
    var initial: String

    static let databaseTableName = "contact"
    static var databaseSelection: [any SQLSelectable] {
        let initial = SQL("upper(substr(sortName, 1, 1))").sqlExpression
        return [Column("id"), Column("firstName"), Column("lastName"), initial.forKey("initial")]
    }
}

func lines(_ database: Database) throws -> [ContactLine] {
    try ContactLine.order(Column("sortName"), Column("id")).fetchAll(database)
}
// end

// snippet list
func contactList(_ pool: DatabasePool, cache: URL? = nil) throws -> LiveResults<ContactLine> {
    try LiveResults(in: pool, sections: .column("initial"), options: LiveOptions(cache: cache)) { _ in
        ContactLine.order(Column("sortName"), Column("id"))
    }
}

func firstPage(_ list: LiveResults<ContactLine>) async throws -> (sections: [LiveSection], lines: [ContactLine?]) {
    for try await delivery in list.deliveries {
        return (delivery.sections, try await delivery.records(in: 0..<50))
    }
    return ([], [])
}
// end

// snippet count
func countBorn(after year: Int, _ database: Database) throws -> Int {
    try Contact.filter(Column("birthYear") > year).fetchCount(database)
}

func hasContacts(bornAfter year: Int, _ database: Database) throws -> Bool {
    try !Contact.filter(Column("birthYear") > year).isEmpty(database)
}
// end

// snippet aggregates
struct GroupAges: Decodable, Hashable, FetchableRecord {
    var groupID: Int64
    var contacts: Int
    var oldest: Int
    var youngest: Int
}

func ages(_ database: Database) throws -> [GroupAges] {
    try GroupAges.fetchAll(
        database,
        sql: """
            SELECT groupID, COUNT(*) AS contacts, MIN(birthYear) AS oldest, MAX(birthYear) AS youngest
            FROM contact WHERE groupID IS NOT NULL GROUP BY groupID ORDER BY groupID
            """)
}
// end

// snippet cards
func cards(from offset: Int, count: Int, _ database: Database) throws -> [ContactCard] {
    try Contact
        .including(all: Contact.phones.order(Column("id")))
        .including(all: Contact.emails.order(Column("id")))
        .order(Column("sortName"), Column("id"))
        .limit(count, offset: offset)
        .asRequest(of: ContactCard.self)
        .fetchAll(database)
}
// end
