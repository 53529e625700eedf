import FerryContainer
import FerryContent
import FerryCore
import FerryStore
import FerryTestSupport
import XCTest

@testable import FerryEngine

/// Random histories of contents with real stores: rows and versions that come and go on devices which sync now and then, contents that are
/// deleted after an hour without use, deletions that are forgotten as soon as they may be. `FERRY_SEEDS` says how many, `FERRY_SEED` which
/// one alone.
final class CollectionHistoryTests: XCTestCase {
    func testNoBytesAreLostThatAnybodyRefersTo() throws {
        let seeds = Seeds(defaultCount: 8)
        var removed = 0
        for seed in seeds.all {
            let history = try CollectionHistory(seed: seed, isTelling: seeds.single != nil)
            do {
                try history.play()
            } catch {
                history.findings.append("\(error)")
            }
            removed += history.packs.count
            if !history.findings.isEmpty {
                return XCTFail("FERRY_SEED=\(seed): \(history.findings.prefix(3).joined(separator: "; "))")
            }
        }
        print("\(seeds.count) histories: \(removed) packs removed")
        // In the end none is left.
        if seeds.single == nil { XCTAssertGreaterThan(removed, seeds.count) }
    }
}

/// A history of devices with photos and documents, by a seed.
private final class CollectionHistory {
    private let home: MemoryHome
    private var chance: Chance
    private let isTelling: Bool
    /// The bytes that devices store. Some begin alike, so that contents share chunks.
    private let pool: [[UInt8]]
    /// The chunks of each content that was ever stored, and its bytes.
    private var known: [ContentID: (chunks: [ChunkID], bytes: [UInt8])] = [:]
    private var titles = 0
    /// All packs that ever were in the container.
    private(set) var packs: Set<String> = []
    var findings: [String] = []

    init(seed: UInt64, isTelling: Bool) throws {
        var retention = RetentionSettings()
        retention.collectionMilliseconds = 0
        retention.unusedContentMilliseconds = 3_600_000
        retention.tombstoneMilliseconds = 0
        retention.sparsePackBytes = 30_000
        var chance = Chance(seed: seed)
        let start = noise(200_000, seed: 77)
        pool = (0..<5).map {
            start.prefix($0 % 2 == 0 ? 0 : 120_000) + noise(20_000 + $0 * 7_000, seed: UInt64($0) + 1)
        }
        home = try MemoryHome.withPhotos(2 + chance.below(2), retention: retention)
        self.chance = chance
        self.isTelling = isTelling
    }

    private func tell(_ index: Int, _ text: @autoclosure () -> String) {
        if isTelling { print("device \(index): \(text())") }
    }

    func play() throws {
        for _ in 0..<60 where findings.isEmpty {
            try step(chance.below(home.replicas.count))
            try checkBytes()
        }
        guard findings.isEmpty else { return }
        try comeToRest()
    }

    private func step(_ index: Int) throws {
        let device = home.photos(index)
        switch chance.below(14) {
        case 0...3:
            _ = try home.replicas[index].sync()
            packs.formUnion(try device.packs())
            tell(index, "syncs")
        case 4:
            home.clock.advance(hours: Int64(1 + chance.below(5)))
            tell(index, "time passes")
        case 5, 6:
            try attach(device, index)
        case 7:
            guard let title = try title(device), let other = try self.title(device) else { return }
            try device.write(
                "UPDATE photo SET image = (SELECT image FROM photo WHERE title = '\(other)') WHERE title = '\(title)'")
            tell(index, "\(title) gets the image of \(other)")
        case 8:
            guard let title = try title(device) else { return }
            try device.write("UPDATE photo SET title = title WHERE title = '\(title)'")
            try device.write("UPDATE photo SET note = '\(chance.below(1000))' WHERE title = '\(title)'")
            tell(index, "touches \(title)")
        case 9, 10:
            guard let title = try title(device) else { return }
            try device.write("DELETE FROM photo WHERE title = '\(title)'")
            tell(index, "deletes \(title)")
        case 11:
            guard let title = try title(device) else { return }
            titles += 1
            let image = try device.image(title)
            let id = "x'\(noise(16, seed: UInt64(titles) + 1000).map { String(format: "%02x", $0) }.joined())'"
            let document = try document(device)
            // A version of a content that is held back would have to bring its bytes (`DocumentAccess`).
            guard try !home.replicas[index].store.heldBackContents().contains(image),
                try device.count("SELECT count(*) FROM ferry_content WHERE id = x'\(image.hex)'") == 1
            else { return }
            try device.write(
                "INSERT INTO ferry_version(id, document, content) VALUES (\(id), \(document), x'\(image.hex)')")
            tell(index, "makes a version of \(image.hex.prefix(4))")
        case 12:
            try device.write("DELETE FROM ferry_version WHERE id = (SELECT min(id) FROM ferry_version)")
            tell(index, "deletes a version")
        default:
            for conflict in try home.replicas[index].store.conflicts(after: 0) {
                _ = try home.replicas[index].store.resolveConflicts([conflict.number])
            }
        }
    }

    private func attach(_ device: PhotoDevice, _ index: Int) throws {
        titles += 1
        let bytes = chance.pick(pool)
        let stored = try device.store(bytes)
        known[stored.id] = (stored.row.list.chunks.map(\.id), bytes)
        // Others may go on before the row is written.
        if chance.oneIn(3) { _ = try home.replicas[chance.below(home.replicas.count)].sync() }
        do {
            try device.insert("p\(titles)", stored)
            tell(index, "attaches \(stored.id.hex.prefix(4)) as p\(titles)")
        } catch let error as FerryError where error.code == .contentNotHere {
            tell(index, "may not attach \(stored.id.hex.prefix(4))")
        }
    }

    private func document(_ device: PhotoDevice) throws -> String {
        let id = "x'\(String(repeating: "0", count: 31))1'"
        try device.write("INSERT OR IGNORE INTO ferry_document(id, name, kind) VALUES (\(id), 'a', 0)")
        return id
    }

    private func title(_ device: PhotoDevice) throws -> String? {
        let rows = try device.rows("SELECT title FROM photo ORDER BY title")
        return rows.isEmpty ? nil : chance.pick(rows)[0].text
    }

    // MARK: What must hold

    /// The chunks of all packs that are in the container, or wait to come there.
    private func chunksThere() throws -> Set<ChunkID> {
        var found: Set<ChunkID> = []
        for device in home.replicas.indices.map({ home.photos($0) }) {
            let rows = try device.replica.store.readContents { rows, _ in
                try rows.packs(of: device.device).compactMap { try rows.soundPack($0) }
            }
            let files = Set(try device.packs() + device.names(below: device.shelf + "/pending"))
            for row in rows where files.contains("\(row.id.hex).pack") {
                found.formUnion(row.directory.entries.map(\.id))
            }
        }
        return found
    }

    /// The bytes of whatever any device refers to are in a pack.
    private func checkBytes() throws {
        let there = try chunksThere()
        for index in home.replicas.indices {
            let rows = try home.photos(index).rows("SELECT image FROM photo UNION SELECT content FROM ferry_version")
            for case .blob(let bytes) in rows.map({ $0[0] }) {
                guard let content = ContentID(bytes: bytes), let chunks = known[content]?.chunks else { continue }
                if !Set(chunks).isSubset(of: there) {
                    findings.append("device \(index) refers to \(content.hex.prefix(4)), whose bytes are gone")
                }
            }
        }
    }

    private func rest(_ days: Int) throws {
        for _ in 0..<days {
            home.clock.advance(days: 1)
            try home.settle()
        }
    }

    /// In the end every device reads everything; and once nothing is used, nothing is left.
    private func comeToRest() throws {
        try rest(4)
        for index in home.replicas.indices {
            let device = home.photos(index)
            for row in try device.rows("SELECT title FROM photo") {
                let title = row[0].text
                let content = try device.image(title)
                if try device.bytes(title) != known[content]?.bytes {
                    findings.append("device \(index): other bytes in \(title)")
                }
            }
        }
        for replica in home.replicas {
            _ = try replica.store.resolveConflicts(replica.store.conflicts(after: 0, limit: 1000).map(\.number))
        }
        try home.photos(0).write("DELETE FROM photo")
        try home.photos(0).write("DELETE FROM ferry_version")
        try rest(8)
        for index in home.replicas.indices {
            let device = home.photos(index)
            let left = try device.count(
                "SELECT (SELECT count(*) FROM ferry_content) + (SELECT count(*) FROM ferry_pack)")
            let packs = try device.packs()
            if left != 0 || !packs.isEmpty {
                findings.append("device \(index) keeps \(left) rows and \(packs.count) packs")
            }
        }
    }
}
