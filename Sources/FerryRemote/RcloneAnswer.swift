import FerryContainer
import FerryCore
import Foundation

/// What rclone says. Pure readings, with every limit checked.
enum RcloneAnswer {
    /// A longer listing is not read, in bytes.
    static let maximumListingBytes = 1 << 29
    /// A longer answer of another kind is not read, in bytes.
    static let maximumBytes = 1 << 20
    /// The longest part of an error that stands in a message, in characters.
    private static let maximumWords = 200

    /// An object as a listing or a question for it tells.
    struct Item: Decodable, Equatable {
        var path: String
        var size: Int
        var modified: String?
        var isDirectory: Bool
        var id: String?
        var hashes: [String: String]?

        private enum CodingKeys: String, CodingKey {
            case path = "Path"
            case size = "Size"
            case modified = "ModTime"
            case isDirectory = "IsDir"
            case id = "ID"
            case hashes = "Hashes"
        }

        /// What tells one content from another: whatever the remote keeps of it.
        /// - Parameters:
        ///   - now: when it was asked for, in milliseconds.
        ///   - chance: a random number.
        func tag(at now: Int64, chance: UInt64) -> String {
            var parts = ["\(size)", modified ?? "", id ?? ""]
            for (kind, hash) in (hashes ?? [:]).sorted(by: { $0.key < $1.key }) { parts.append(kind + "=" + hash) }
            // Where times have seconds, a file may be written twice within one: what is young is asked for again.
            if hashes?.isEmpty ?? true, isYoung(at: now) { parts.append(String(chance, radix: 16)) }
            return parts.joined(separator: " ")
        }

        private func isYoung(at now: Int64) -> Bool {
            // A time that cannot be read says nothing of the age.
            guard let text = modified, !text.contains("."), let date = try? Date(text, strategy: .iso8601) else {
                return false
            }
            return abs(Int64(date.timeIntervalSince1970 * 1000) - now) < 5000
        }
    }

    private struct Listing: Decodable { var list: [Item]? }
    private struct Stat: Decodable { var item: Item? }
    private struct Failure: Decodable { var error: String? }
    private struct Version: Decodable {
        var version: String?
        var decomposed: [Int]?
    }
    private struct Features: Decodable {
        struct Told: Decodable {
            var slowHash: Bool?

            private enum CodingKeys: String, CodingKey { case slowHash = "SlowHash" }
        }
        var features: Told?
        var hashes: [String]?

        private enum CodingKeys: String, CodingKey {
            case features = "Features"
            case hashes = "Hashes"
        }
    }

    /// The address in the line by which rclone says that it listens; `nil` for any other line.
    static func address(in line: String) -> String? {
        guard let start = line.firstRange(of: "http://127.0.0.1:"), line.contains("erving remote control") else {
            return nil
        }
        let digits = line[start.upperBound...].prefix { $0.isASCII && $0.isNumber }
        guard let port = Int(digits), (1...65_535).contains(port) else { return nil }
        return "http://127.0.0.1:\(port)"
    }

    static func listing(_ body: [UInt8]) throws -> [Item] {
        let items = try decode(Listing.self, body).list ?? []
        guard items.count <= 2_000_000 else { throw unreadable("it has too many names") }
        return items
    }

    static func item(_ body: [UInt8]) throws -> Item? { try decode(Stat.self, body).item }

    /// The version as numbers, and as rclone writes it.
    static func version(_ body: [UInt8]) throws -> (numbers: [Int], text: String) {
        let version = try decode(Version.self, body)
        return (version.decomposed ?? [], words(version.version ?? ""))
    }

    /// The kind of hash that the remote keeps and tells without reading files; `nil` if there is none.
    static func quickHash(_ body: [UInt8]) throws -> String? {
        let told = try decode(Features.self, body)
        if told.features?.slowHash ?? true { return nil }
        return told.hashes?.sorted().first
    }

    /// The error in an answer, in words that may stand in a message.
    static func error(_ body: [UInt8]) -> String {
        // Other bodies have no words of rclone's: the message then has the status.
        guard body.count <= maximumBytes, let failure = try? decode(Failure.self, body) else { return "" }
        return words(failure.error ?? "")
    }

    /// Words of rclone's that may stand in a message: short, on one line, and without what follows a question mark in an address, where
    /// signatures are.
    static func words(_ text: String) -> String {
        let plain = String(
            text.unicodeScalars.map { $0.value < 0x20 || $0.value == 0x7f ? " " : Character($0) }.prefix(4096))
        let parts = plain.split(separator: " ").map { word -> String in
            guard word.contains("://"), let query = word.firstIndex(of: "?") else { return String(word) }
            return word[..<query] + "?…"
        }
        return String(parts.joined(separator: " ").prefix(maximumWords))
    }

    private static func decode<Answer: Decodable>(_ type: Answer.Type, _ body: [UInt8]) throws -> Answer {
        do {
            return try JSONDecoder().decode(type, from: Data(body))
        } catch {
            throw unreadable("it is not what was asked for")
        }
    }

    private static func unreadable(_ why: String) -> FerryError {
        FerryError(.inputOutput, "rclone's answer cannot be read: \(why). Is this rclone?")
    }
}
