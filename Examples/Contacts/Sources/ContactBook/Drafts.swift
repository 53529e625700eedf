import Ferry
import Foundation
import GRDB

/// Random numbers from a seed (SplitMix64): the same contacts every time.
struct SeededNumbers: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xbf58_476d_1ce4_e5b9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94d0_49bb_1331_11eb
        return mixed ^ (mixed >> 31)
    }
}

/// A contact with all that belongs to it, before it has a key.
public struct ContactDraft: Sendable {
    var contact: Contact
    var picture: Data
    var numbers: [String]
    var addresses: [String]

    static let groups: Int64 = 20
    private static let firstNames = [
        "Ada", "Agnes", "Amélie", "Anna", "Astrid", "Béla", "Bruno", "Carl", "Chloé", "Clara", "Dmitri", "Edda",
        "Émile",
        "Ethel", "Fanny", "Franz", "Greta", "Håkan", "Hedwig", "Igor", "Inés", "Jürgen", "Jörg", "Karin", "Leoš",
        "Lili",
        "María", "Max", "Mél", "Nadia", "Noël", "Olga", "Otto", "Pauline", "René", "Rosa", "Søren", "Sofía", "Thea",
        "Zoë",
    ]
    private static let lastNames = [
        "Ångström", "Bach", "Bartók", "Beach", "Björk", "Brahms", "Carreño", "Chopin", "Crüger", "Debussy", "Dvořák",
        "Elgar", "Fauré", "Farrenc", "García", "Grieg", "Händel", "Hensel", "Ives", "Janáček", "Köhler", "Kodály",
        "Lutyens",
        "Martinů", "Müller", "Muller", "Nielsen", "Núñez", "Orff", "Pärt", "Quilter", "Ravel", "Saint-Saëns",
        "Schumann",
        "Smyth", "Tailleferre", "Ustvolskaja", "Viardot", "Weir", "Xenakis", "Ysaÿe", "Zelenka",
    ]
    private static let cities = [
        "Bergen", "Brno", "Graz", "Kraków", "Leipzig", "Malmö", "Paris", "Porto", "Reims", "Zürich",
    ]

    /// - Parameters:
    ///   - seed: what everything follows from.
    ///   - pictureBytes: pictures have from half of it to one and a half times as much, 8,192 for 4 to 12 KB.
    public static func make(_ count: Int, seed: UInt64 = 137, pictureBytes: Int = 8_192) -> [ContactDraft] {
        (0..<count).map { make($0, seed, pictureBytes) }
    }

    /// Makes one of them, by its number.
    static func make(_ number: Int, _ seed: UInt64, _ pictureBytes: Int) -> ContactDraft {
        var random = SeededNumbers(state: seed &+ UInt64(number) &* 0xd134_2543_de82_ef95)
        func pick(_ values: [String]) -> String { values[Int.random(in: 0..<values.count, using: &random)] }
        // A third has two last names, so that there are many different ones.
        let second = Int.random(in: 0..<3, using: &random) == 0 ? " " + pick(lastNames) : ""
        let contact = Contact(
            firstName: pick(firstNames), lastName: pick(lastNames) + second, city: pick(cities),
            birthYear: Int.random(in: 1920...2009, using: &random),
            groupID: Int.random(in: 0..<4, using: &random) == 0 ? nil : Int64.random(in: 1...groups, using: &random))
        let bytes = Int.random(in: pictureBytes / 2...pictureBytes * 3 / 2, using: &random)
        var picture = Data(capacity: bytes + 8)
        while picture.count < bytes {
            withUnsafeBytes(of: random.next().littleEndian) { picture.append(contentsOf: $0) }
        }
        let numbers = (0..<Int.random(in: 0...3, using: &random)).map { _ in
            "+\(Int.random(in: 30...49, using: &random)) \(Int.random(in: 1_000_000...9_999_999, using: &random))"
        }
        let addresses = (0..<Int.random(in: 0...3, using: &random)).map { place in
            "c\(number).\(place)@mail\(Int.random(in: 0..<200, using: &random)).example"
        }
        return ContactDraft(
            contact: contact, picture: picture.prefix(bytes), numbers: numbers, addresses: addresses)
    }

    @discardableResult func insert(_ database: Database) throws -> Int64 {
        let contact = try self.contact.inserted(database)
        guard let id = contact.id else { return 0 }
        try Picture(contactID: id, data: picture).insert(database)
        for number in numbers { try Phone(id: nil, contactID: id, number: number).insert(database) }
        for address in addresses { try Email(id: nil, contactID: id, address: address).insert(database) }
        return id
    }
}

extension ContactDraft {
    /// Fills an empty database, a batch in memory at a time.
    public static func fill(_ pool: DatabasePool, count: Int, seed: UInt64, pictureBytes: Int) throws {
        try pool.write { database in
            for number in 1...groups {
                var group = ContactGroup(id: number, name: "Group \(number)")
                try group.insert(database)
            }
        }
        let batch = 1_000
        for start in stride(from: 0, to: count, by: batch) {
            let drafts = (start..<min(start + batch, count)).map { make($0, seed, pictureBytes) }
            try importContacts(drafts, into: pool, batchSize: batch)
        }
    }
}
