import FerryContainer
import FerryCore

/// A device's way to a storage. The way counts the device's requests by kind.
package final class CountedStorage: ObjectStorage {
    private let storage: any ObjectStorage
    private let state = Locked(RequestCounts())

    package init(_ storage: any ObjectStorage) { self.storage = storage }

    package var counts: RequestCounts { state.withLock { $0 } }
    package var traits: StorageTraits { storage.traits }

    private static func isSegment(_ key: String) -> Bool { key.split(separator: "/").dropLast().last == "segments" }
    private static func isHead(_ key: String) -> Bool { key.hasPrefix("devices/") && key.hasSuffix("/head") }

    package func list(_ prefix: String, after key: String?, _ token: String?) throws -> ObjectPage {
        state.withLock { $0.listings += 1 }
        return try storage.list(prefix, after: key, token)
    }

    package func get(_ key: String, unless tag: String?, maximumBytes: Int) throws -> ObjectAnswer {
        let answer = try storage.get(key, unless: tag, maximumBytes: maximumBytes)
        var bytesRead = 0
        if case .found(let bytes, _) = answer { bytesRead = bytes.count }
        note(read: key, bytesRead, hasNews: answer != .same)
        return answer
    }

    package func get(_ key: String, range: Range<Int>) throws -> [UInt8]? {
        let bytes = try storage.get(key, range: range)
        note(read: key, bytes?.count ?? 0, hasNews: true)
        return bytes
    }

    private func note(read key: String, _ bytes: Int, hasNews: Bool) {
        state.withLock { counts in
            counts.bytesRead += bytes
            if key == LatestSegments.name {
                if hasNews { counts.looks += 1 } else { counts.quietLooks += 1 }
            } else if Self.isSegment(key) {
                counts.segmentReads += 1
            } else if Self.isHead(key) {
                counts.headReads += 1
            } else {
                counts.otherReads += 1
            }
        }
    }

    package func put(_ key: String, _ bytes: [UInt8], onlyIfAbsent: Bool) throws -> PutAnswer {
        state.withLock { counts in
            if key == LatestSegments.name {
                counts.latestWrites += 1
            } else if Self.isSegment(key) {
                counts.segmentWrites += 1
            } else if Self.isHead(key) {
                counts.headWrites += 1
            } else {
                counts.otherWrites += 1
            }
        }
        return try storage.put(key, bytes, onlyIfAbsent: onlyIfAbsent)
    }

    package func delete(_ key: String) throws {
        state.withLock { $0.deletions += 1 }
        try storage.delete(key)
    }

    package func examine() throws -> StorageExamination { try storage.examine() }
    package func describe(_ key: String) -> String { storage.describe(key) }
    package func interrupt() { storage.interrupt() }
}
