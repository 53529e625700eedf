import Ferry
import Foundation
import GRDB

/// How the first screen of a long list is made: its sections, and the first 50 lines.
public enum FirstScreen: String, CaseIterable, Sendable {
    /// All contacts with their pictures in an array.
    case naive
    /// All contacts in an array, without pictures.
    case lines
    /// `LiveResults`, by the page.
    case paged
    /// The same with its cache of the last start.
    case cached

    /// What is on the screen.
    public struct Contents: Hashable, Sendable {
        public var sections: [String: Int]
        public var lines: [String]
    }

    /// Makes it, from the opening of the database on.
    public func show(_ path: String) async throws -> Contents {
        let pool = try openContacts(at: path)
        switch self {
        case .naive:
            let contacts = try await pool.read { try Naive.all($0) }
            return Contents(
                sections: Naive.sections(contacts),
                lines: contacts.prefix(50).map { "\($0.contact.lastName), \($0.contact.firstName)" })
        case .lines:
            let all = try await pool.read { try ContactBook.lines($0) }
            var sections: [String: Int] = [:]
            for line in all { sections[line.initial, default: 0] += 1 }
            return Contents(sections: sections, lines: all.prefix(50).map { "\($0.lastName), \($0.firstName)" })
        case .paged, .cached:
            let list = try contactList(pool, cache: self == .cached ? Self.cache(path) : nil)
            let page = try await firstPage(list)
            return Contents(
                sections: Dictionary(uniqueKeysWithValues: page.sections.map { ($0.name, $0.count) }),
                lines: page.lines.compactMap { $0 }.map { "\($0.lastName), \($0.firstName)" })
        }
    }

    private static func cache(_ path: String) -> URL { URL(fileURLWithPath: path + "-list") }

    /// Leaves the cache that `cached` starts from, as the app's last run does.
    public static func prepareCache(_ path: String) async throws {
        let list = try contactList(try openContacts(at: path), cache: cache(path))
        var deliveries = list.deliveries.makeAsyncIterator()
        while let delivery = try await deliveries.next(), delivery.isFromCache {}
        list.close()
        // The deliveries end after the cache was written.
        while try await deliveries.next() != nil {}
    }
}
