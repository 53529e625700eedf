import Ferry
import Foundation
import GRDB

/// One of the document's techniques, with what it replaces. Both have the same result.
public struct Technique: Sendable {
    public typealias Work = @Sendable (Bench) throws -> AnyHashable

    /// As the document's section and the table name it.
    public let name: String
    /// For what writes: how many contacts a database has that is made for it.
    public let scratch: Int?
    public let naive: Work
    public let wellDone: Work

    private init(_ name: String, scratch: Int? = nil, naive: @escaping Work, wellDone: @escaping Work) {
        (self.name, self.scratch, self.naive, self.wellDone) = (name, scratch, naive, wellDone)
    }

    private static func read(
        _ name: String, naive: @escaping @Sendable (Database) throws -> AnyHashable,
        wellDone: @escaping @Sendable (Database) throws -> AnyHashable
    ) -> Technique {
        Technique(name, naive: { try $0.pool.read(naive) }, wellDone: { try $0.pool.read(wellDone) })
    }

    public static let all: [Technique] = lists + searches + writes + objects

    private static let lists: [Technique] = [
        read("names without pictures") { database in
            try Naive.all(database).map { pictured in
                let contact = pictured.contact
                return ContactLine(
                    id: contact.id ?? 0, firstName: contact.firstName, lastName: contact.lastName,
                    initial: contact.sortName.prefix(1).uppercased())
            }
        } wellDone: {
            try lines($0)
        },
        read("count") {
            try Naive.countBorn(after: 1960, $0)
        } wellDone: {
            try countBorn(after: 1960, $0)
        },
        read("existence") {
            try Naive.hasContacts(bornAfter: 1960, $0)
        } wellDone: {
            try hasContacts(bornAfter: 1960, $0)
        },
        read("aggregates") {
            try Naive.ages($0)
        } wellDone: {
            try ages($0)
        },
        read("related rows, 500 contacts") {
            try Naive.cards(from: 100, count: 500, $0)
        } wellDone: {
            try cards(from: 100, count: 500, $0)
        },
    ]

    private static let addresses: [String] = (0..<400).flatMap { number in
        (0..<200).filter { $0 % 20 == 0 }.map { "c\(number).0@mail\($0).example" }
    }

    private static let searches: [Technique] = [
        read("subquery") {
            try Naive.lines(withAddressAt: "mail7.example", $0)
        } wellDone: {
            try lines(withAddressAt: "mail7.example", $0)
        },
        read("IN, 900 values") {
            try Naive.emails(Array(addresses.prefix(900)), $0)
        } wellDone: {
            try emails(Array(addresses.prefix(900)), $0)
        },
        read("order of terms") {
            try Naive.contacts(in: "Porto", nameContaining: "mül", $0)
        } wellDone: {
            try contacts(in: "Porto", nameContaining: "mül", $0)
        },
        read("index") {
            try Naive.email("c11.0@mail7.example", $0)
        } wellDone: {
            try email("c11.0@mail7.example", $0)
        },
        read("canonical name") {
            try Naive.lines(withPrefix: "Mull", $0)
        } wellDone: {
            try lines(withPrefix: "Mull", $0)
        },
        read("keyword table") {
            try Naive.contacts(withWord: "Ann", $0)
        } wellDone: {
            try contacts(withWord: "Ann", $0)
        },
        read("full-text index") {
            try Naive.contacts(withWord: "Ann", $0)
        } wellDone: {
            try contacts(matching: "Ann", $0)
        },
        read("kept count") {
            try Naive.groupCounts($0)
        } wellDone: {
            try groupCounts($0)
        },
    ]

    private static let drafts = ContactDraft.make(1_000, seed: 7, pictureBytes: 1_024)

    /// What an import and a deletion leave.
    private static func contents(_ bench: Bench) throws -> AnyHashable {
        try bench.pool.read { database in
            [
                try Contact.select(Column("sortName"), as: String.self).order(Column("id")).fetchAll(database),
                try Email.select(Column("address"), as: String.self).order(Column("id")).fetchAll(database),
                try Phone.select(Column("number"), as: String.self).order(Column("id")).fetchAll(database),
                ["\(try Picture.fetchCount(database))"],
            ]
        }
    }

    private static let writes: [Technique] = [
        Technique("import of 1,000 contacts", scratch: 100) {
            try Naive.importContacts(drafts, into: $0.pool)
            return try contents($0)
        } wellDone: {
            try importContacts(drafts, into: $0.pool)
            return try contents($0)
        },
        Technique("deletion of a group", scratch: 5_000) {
            _ = try Naive.deleteContacts(in: 3, from: $0.pool)
            return try contents($0)
        } wellDone: {
            _ = try deleteContacts(in: 3, from: $0.pool)
            return try contents($0)
        },
    ]

    private static let objects: [Technique] = [
        Technique("object IDs of 500 rows") {
            try Naive.objects(of: (1...500).map(Int64.init), in: $0.store)
        } wellDone: {
            try ContactBook.objects(of: (1...500).map(Int64.init), in: $0.store)
        },
        Technique("two databases in one query") {
            try Naive.mostCalled(20, $0.calls, $0.pool)
        } wellDone: {
            try $0.pool.read { try mostCalled(20, $0) }
        },
        Technique("SQL log (what it costs)") {
            try reads($0.pool)
        } wellDone: {
            try reads($0.logged)
        },
    ]

    private static func reads(_ pool: DatabasePool) throws -> AnyHashable {
        try pool.read { database in try (1...500).map { try Contact.fetchOne(database, key: $0) } }
    }
}
