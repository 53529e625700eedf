import Ferry
import Foundation
import GRDB

/// What each technique replaces: the same result, the way that comes to mind first.
enum Naive {
    /// A contact with its picture, whether that is shown or not.
    struct Pictured: Decodable, Hashable, FetchableRecord, Sendable {
        var contact: Contact
        var picture: Picture?
    }

    static func all(_ database: Database) throws -> [Pictured] {
        let rows = try Row.fetchCursor(
            database,
            sql: """
                SELECT contact.*, picture.* FROM contact LEFT JOIN picture ON picture.contactID = contact.id
                ORDER BY sortName, id
                """,
            adapter: ScopeAdapter([
                "contact": RangeRowAdapter(0..<7), "picture": RangeRowAdapter(7..<9),
            ]))
        return try Array(rows.map { try Pictured(row: $0) })
    }

    /// How many there are under each letter.
    static func sections(_ contacts: [Pictured]) -> [String: Int] {
        Dictionary(grouping: contacts) { $0.contact.sortName.prefix(1).uppercased() }.mapValues(\.count)
    }

    static func countBorn(after year: Int, _ database: Database) throws -> Int {
        try Contact.filter(Column("birthYear") > year).fetchAll(database).count
    }

    static func hasContacts(bornAfter year: Int, _ database: Database) throws -> Bool {
        try Contact.filter(Column("birthYear") > year).fetchCount(database) > 0
    }

    static func ages(_ database: Database) throws -> [GroupAges] {
        let contacts = try Contact.filter(Column("groupID") != nil).fetchAll(database)
        return Dictionary(grouping: contacts) { $0.groupID ?? 0 }.map { group, members in
            let years = members.map(\.birthYear)
            return GroupAges(
                groupID: group, contacts: members.count, oldest: years.min() ?? 0, youngest: years.max() ?? 0)
        }.sorted { $0.groupID < $1.groupID }
    }

    static func cards(from offset: Int, count: Int, _ database: Database) throws -> [ContactCard] {
        let contacts = try Contact.order(Column("sortName"), Column("id")).limit(count, offset: offset)
            .fetchAll(database)
        return try contacts.map { contact in
            let own = Column("contactID") == contact.id
            return ContactCard(
                contact: contact, phones: try Phone.filter(own).order(Column("id")).fetchAll(database),
                emails: try Email.filter(own).order(Column("id")).fetchAll(database))
        }
    }

    static func lines(withAddressAt domain: String, _ database: Database) throws -> [ContactLine] {
        let contacts = Set(try Email.filter(Column("domain") == domain).fetchAll(database).map(\.contactID))
        return try contacts.sorted().compactMap { try ContactLine.fetchOne(database, key: $0) }
    }

    static func emails(_ addresses: [String], _ database: Database) throws -> [Email] {
        try Email.filter(addresses.map { Column("address") == $0 }.joined(operator: .or)).order(Column("id"))
            .fetchAll(database)
    }

    static func contacts(in city: String, nameContaining text: String, _ database: Database) throws -> [Contact] {
        try Contact.filter(Column("sortName").like("%\(canonical(text))%")).filter(Column("city") == city)
            .order(Column("id")).fetchAll(database)
    }

    static func email(_ address: String, _ database: Database) throws -> Email? {
        try Email.fetchOne(database, sql: "SELECT * FROM email NOT INDEXED WHERE address = ?", arguments: [address])
    }

    static func lines(withPrefix prefix: String, _ database: Database) throws -> [ContactLine] {
        let folding: String.CompareOptions = [.caseInsensitive, .diacriticInsensitive, .anchored]
        return try ContactBook.lines(database).filter { $0.lastName.range(of: prefix, options: folding) != nil }
    }

    static func contacts(withWord prefix: String, _ database: Database) throws -> [Int64] {
        let prefix = canonical(prefix)
        return try Int64.fetchAll(
            database, sql: "SELECT id FROM contact WHERE sortName LIKE ? OR sortName LIKE ? ORDER BY id",
            arguments: ["\(prefix)%", "% \(prefix)%"])
    }

    static func groupCounts(_ database: Database) throws -> [Int64: Int] {
        let rows = try Row.fetchCursor(
            database, sql: "SELECT groupID, COUNT(*) FROM contact WHERE groupID IS NOT NULL GROUP BY groupID")
        return try Dictionary(uniqueKeysWithValues: rows.map { ($0[0], $0[1]) })
    }

    static func importContacts(_ drafts: [ContactDraft], into pool: DatabasePool) throws {
        for draft in drafts {
            let id = try pool.write { try draft.contact.inserted($0).id ?? 0 }
            try pool.write { try Picture(contactID: id, data: draft.picture).insert($0) }
            for number in draft.numbers {
                try pool.write { try Phone(id: nil, contactID: id, number: number).insert($0) }
            }
            for address in draft.addresses {
                try pool.write { try Email(id: nil, contactID: id, address: address).insert($0) }
            }
        }
    }

    static func deleteContacts(in group: Int64, from pool: DatabasePool) throws -> Int {
        let contacts = try pool.read { try Contact.filter(Column("groupID") == group).fetchAll($0) }
        for contact in contacts { _ = try pool.write { try contact.delete($0) } }
        return contacts.count
    }

    static func objects(of contacts: [Int64], in store: Store) throws -> [ObjectID?] {
        try contacts.map { try store.objectIDs(of: [[.integer($0)]], in: "contact")[0] }
    }

    /// From the two databases, each for itself.
    static func mostCalled(_ count: Int, _ calls: DatabaseQueue, _ contacts: DatabasePool) throws -> [String] {
        let all = try calls.read { try Call.fetchAll($0) }
        let seconds = Dictionary(all.map { ($0.contactID, $0.seconds) }, uniquingKeysWith: +)
        let most = seconds.sorted { ($1.value, $0.key) < ($0.value, $1.key) }
        return try contacts.read { database in
            var names: [String] = []
            for (contact, _) in most where names.count < count {
                if let known = try Contact.fetchOne(database, key: contact) { names.append(known.lastName) }
            }
            return names
        }
    }
}
