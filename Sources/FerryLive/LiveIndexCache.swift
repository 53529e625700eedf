import FerryCore
import Foundation
import GRDB

/// Keeps a list's keys and sections in a file. So a large list is there at once when the app starts, before the list
/// has been read. The next delivery corrects the cached content.
///
/// A file that is missing, damaged or of another request is no error: the list is read first, as without a cache.
struct LiveIndexCache: Sendable {
    let file: URL

    private struct Contents: Codable {
        static let version = 1
        var version: Int
        var request: String
        var names: [String]
        var counts: [Int]
        /// The keys, eight bytes each, where all are integers.
        var integers: Data?
        /// Otherwise each key's values.
        var values: [[Value]]?
    }

    private enum Value: Codable {
        case integer(Int64)
        case real(Double)
        case text(String)
        case blob(Data)
    }

    func load(_ list: LiveList) -> LiveIndex? {
        // No readable file: see above.
        guard let bytes = try? Data(contentsOf: file),
            let contents = try? PropertyListDecoder().decode(Contents.self, from: bytes),
            contents.version == Contents.version, contents.request == fingerprint(list),
            let keys = Self.keys(contents), contents.counts.allSatisfy({ $0 > 0 }),
            contents.names.count == contents.counts.count, contents.counts.reduce(0, +) == keys.count
        else { return nil }
        var start = 0
        let sections = zip(contents.names, contents.counts).map { name, count in
            defer { start += count }
            return LiveSection(name: name, rows: start..<start + count)
        }
        return LiveIndex(keys: keys, hashes: nil, sections: sections)
    }

    func save(_ index: LiveIndex, _ list: LiveList) {
        guard let fingerprint = fingerprint(list) else { return }
        var contents = Contents(
            version: Contents.version, request: fingerprint, names: index.sections.map(\.name),
            counts: index.sections.map(\.count))
        let integers = index.keys.compactMap {
            if case .integer(let integer) = $0 { integer.littleEndian } else { nil }
        }
        if integers.count == index.keys.count {
            contents.integers = integers.withUnsafeBytes { Data($0) }
        } else {
            contents.values = index.keys.map { $0.databaseValues.map(Self.value) }
        }
        let encoder = PropertyListEncoder()
        encoder.outputFormat = .binary
        // Without a writable cache the next start reads the list first.
        try? encoder.encode(contents).write(to: file, options: .atomic)
    }

    /// `nil` where the request cannot be prepared; reading the list tells why.
    private func fingerprint(_ list: LiveList) -> String? {
        let request = try? list.connection.reader.read { try list.request.fingerprint($0) }
        return request.map { "\($0) \(list.sections.description)" }
    }

    private static func keys(_ contents: Contents) -> [LiveKey]? {
        if let bytes = contents.integers {
            if bytes.count % 8 != 0 { return nil }
            return bytes.withUnsafeBytes { bytes in
                (0..<bytes.count / 8).map {
                    .integer(Int64(littleEndian: bytes.loadUnaligned(fromByteOffset: $0 * 8, as: Int64.self)))
                }
            }
        }
        return contents.values?.map { LiveKey($0.map(Self.databaseValue)) }
    }

    private static func value(_ value: DatabaseValue) -> Value {
        switch value.storage {
        // Keys have no NULL.
        case .null: .text("")
        case .int64(let integer): .integer(integer)
        case .double(let double): .real(double)
        case .string(let string): .text(string)
        case .blob(let data): .blob(data)
        }
    }

    private static func databaseValue(_ value: Value) -> DatabaseValue {
        switch value {
        case .integer(let integer): integer.databaseValue
        case .real(let double): double.databaseValue
        case .text(let string): string.databaseValue
        case .blob(let data): data.databaseValue
        }
    }
}
