import Ferry
import Foundation
import GRDB

// snippet subquery
func lines(withAddressAt domain: String, _ database: Database) throws -> [ContactLine] {
    let contacts = Email.filter(Column("domain") == domain).select(Column("contactID"))
    return try ContactLine.filter(contacts.contains(Column("id"))).order(Column("id")).fetchAll(database)
}
// end

// snippet in
func emails(_ addresses: [String], _ database: Database) throws -> [Email] {
    try Email.filter(addresses.contains(Column("address"))).order(Column("id")).fetchAll(database)
}
// end

// snippet terms
func contacts(in city: String, nameContaining text: String, _ database: Database) throws -> [Contact] {
    try Contact
        .filter(Column("city") == city)
        .filter(Column("sortName").like("%\(canonical(text))%"))
        .order(Column("id"))
        .fetchAll(database)
}
// end

// snippet canonical
func canonical(_ text: String) -> String {
    text.folding(options: [.caseInsensitive, .diacriticInsensitive, .widthInsensitive], locale: nil)
}

func canonicalName(firstName: String, lastName: String) -> String {
    canonical("\(lastName) \(firstName)")
}

func lines(withPrefix prefix: String, _ database: Database) throws -> [ContactLine] {
    let prefix = canonical(prefix)
    return
        try ContactLine
        .filter(Column("sortName") >= prefix && Column("sortName") < prefix + "\u{10FFFF}")
        .order(Column("sortName"), Column("id"))
        .fetchAll(database)
}
// end

// snippet mend
@Sendable func mendCanonicalNames(_ database: Database, _ changes: ReplayedChanges) throws {
    guard let written = changes[table: "contact"]?.written else { return }
    let request =
        changes.isTruncated ? Contact.all() : Contact.filter(keys: written.map { $0[0].databaseValue })
    for contact in try request.fetchAll(database) {
        var mended = contact
        mended.rename()
        try mended.updateChanges(database, from: contact)
    }
}
// end
