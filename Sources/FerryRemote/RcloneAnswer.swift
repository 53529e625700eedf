import FerryContainer
import FerryCore
import Foundation

/// Reads the answers of rclone. Pure readings, with every limit checked.
enum RcloneAnswer {
    /// A longer listing is not read, in bytes.
    static let maximumListingBytes = 1 << 29
    /// The longest answer that is no listing, in bytes.
    static let maximumBytes = 1 << 20
    /// The longest part of an error in a message, in characters.
    private static let maximumWords = 200

    /// An object in the answer to a listing or to a question about the object.
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

        /// Distinguishes contents of the object by all facts from the remote.
        /// - Parameters:
        ///   - now: the time of the question, in milliseconds.
        ///   - chance: a random number.
        func tag(at now: Int64, chance: UInt64) -> String {
            var parts = ["\(size)", modified ?? "", id ?? ""]
            for (kind, hash) in (hashes ?? [:]).sorted(by: { $0.key < $1.key }) { parts.append(kind + "=" + hash) }
            // If times have only seconds, a file may be written twice within a second. So a young file counts as
            // changed in each answer.
            if hashes?.isEmpty ?? true, isYoung(at: now) { parts.append(String(chance, radix: 16)) }
            return parts.joined(separator: " ")
        }

        private func isYoung(at now: Int64) -> Bool {
            // An unreadable time says nothing of the age.
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

    /// The address in rclone's line about listening; `nil` for any further line.
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

    /// The version as numbers, and in rclone's own form.
    static func version(_ body: [UInt8]) throws -> (numbers: [Int], text: String) {
        let version = try decode(Version.self, body)
        return (version.decomposed ?? [], words(version.version ?? ""))
    }

    /// The kind of hash kept by the remote and told without reading files; `nil` without such a hash.
    static func quickHash(_ body: [UInt8]) throws -> String? {
        let told = try decode(Features.self, body)
        if told.features?.slowHash ?? true { return nil }
        return told.hashes?.sorted().first
    }

    /// The error in an answer, in words fit for a message.
    static func error(_ body: [UInt8]) -> String {
        // Bodies in a different form have no words of rclone's: the message then has the status.
        guard body.count <= maximumBytes, let failure = try? decode(Failure.self, body) else { return "" }
        return words(failure.error ?? "")
    }

    /// Whether words of rclone's tell of a configuration that cannot be decrypted: without a password, or with a wrong one.
    static func isAboutPassword(_ text: String) -> Bool {
        let lower = text.lowercased()
        return lower.contains("decrypt config") || lower.contains("rclone_config_pass")
    }

    /// Makes rclone's words fit for a message: short, and on a single line. In an address, the part behind a question
    /// mark is cut off, because signatures stand there.
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
