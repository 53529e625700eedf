import FerryContainer
import FerryCore
import FerryTestSupport
import XCTest

@testable import FerryDocuments
@testable import FerryMirror

/// One pass of a mirror where the system refuses something.
final class MirrorPassTests: XCTestCase {
    private var disk = ModelDisk()
    private lazy var base = ModelBase(number: 0, devices: 1, disk: disk, random: SeededRandom(seed: 1))

    private func put(_ name: String, _ content: UInt64) {
        let path = DiskPath(name)
        if disk.node(path.folder) == nil { disk.put(disk.makeNode(isFolder: true), at: path.folder) }
        let node = disk.makeNode(isFolder: false, content: content)
        (node.modified, node.changed) = (disk.now, disk.now)
        disk.put(node, at: path)
    }

    private func pass() throws -> MirrorReport {
        disk.now += 5_000_000_000
        return try MirrorPass(disk, base).run()
    }

    private func entry(_ name: String) throws -> DocumentTree.Entry {
        try XCTUnwrap(base.tree().tree.entries.first { $0.name == name && $0.kind == .file })
    }

    private func change(_ name: String, _ body: (DocumentTree.Entry, [VersionRow]) throws -> DocumentChange) throws {
        let entry = try entry(name)
        try base.commit(body(entry, base.versions(of: entry.id)))
    }

    /// A folder without the right to change it keeps its files, and stops nobody.
    func testARefusedChangeStopsNoOther() throws {
        disk.now = 1_772_373_600_000_000_000
        for name in ["closed/gone", "closed/edited", "closed/moved", "other"] { put(name, UInt64(name.count)) }
        _ = try pass()
        disk.closed = [DiskPath("closed")]
        try change("gone") { .removing($0.id, $1, by: base.author) }
        try change("other") { .removing($0.id, $1, by: base.author) }
        try change("edited") { entry, versions in
            let current = try XCTUnwrap(versions.first)
            return .saving(
                VersionBytes(content: ModelBase.content(77), modifiedMicroseconds: 5), over: current, among: versions,
                by: base.author)
        }
        try base.place(entry("moved").id, in: nil, as: "moved", atMilliseconds: base.nowMilliseconds())
        base.finish()
        let report = try pass()
        let stuck = ["closed/edited", "closed/gone", "closed/moved"]
        XCTAssertEqual(report.stuck.map(\.path).sorted(), stuck)
        XCTAssertEqual(Set(report.stuck.map(\.reason)), [.unchanged])
        XCTAssertEqual(report.left.map(\.path).sorted(), stuck)
        XCTAssertEqual(report.removed, 1, "the other file went")
        XCTAssertNil(disk.node(DiskPath("other")))
        XCTAssertEqual(disk.node(.work)?.children.count ?? 0, 0, "litter")
        // Nothing is taken for a change of a person's, and the next pass with the right does all.
        disk.closed = []
        XCTAssertEqual(try pass().stuck, [])
        XCTAssertEqual(
            disk.everything().filter { !$0.node.isFolder }.map { "\($0.path) \($0.node.content)" },
            ["closed/edited 77", "moved 12"])
        XCTAssertFalse(try pass().hasNews)
    }

    // MARK: Batches

    /// Another device deletes, edits, moves and makes documents, in folders that come and go as well.
    private func changeFromElsewhere(_ count: Int, isSwapping: Bool = true) throws {
        disk.now = 1_772_373_600_000_000_000
        for number in 0..<count {
            for (place, kind) in ["gone", "edited", "moved", "swapped"].enumerated() {
                put("\(kind)/\(kind) \(number)", UInt64(1000 * (place + 1) + number))
            }
        }
        _ = try pass()
        let folder = try XCTUnwrap(base.tree().tree.entries.first { $0.name == "moved" && $0.kind == .folder })
        for number in 0..<count {
            try change("gone \(number)") { .removing($0.id, $1, by: base.author) }
            try change("edited \(number)") { entry, versions in
                .saving(
                    VersionBytes(content: ModelBase.content(UInt64(9000 + number)), modifiedMicroseconds: 5),
                    over: try XCTUnwrap(versions.first), among: versions, by: base.author)
            }
            try move("moved \(number)", to: nil, as: "moved \(number)")
            let name = "new \(number)"
            try base.commit(
                .making(
                    DocumentRow(
                        id: .free(folder: nil, name: name, kind: .file, isTaken: base.isTaken), name: name, kind: .file),
                    VersionBytes(content: ModelBase.content(UInt64(5000 + number)), modifiedMicroseconds: 5),
                    by: base.author))
        }
        if isSwapping { try swapNames(count) }
        try base.commit(.removing(folder.id, base.versions(of: folder.id), by: base.author))
    }

    /// Each file gets the name of the next.
    private func swapNames(_ count: Int) throws {
        let swapped = try (0..<count).map { try entry("swapped \($0)").id }
        let around = try entry("swapped 0").folder
        for (number, document) in swapped.enumerated() {
            try base.place(
                document, in: around, as: "swapped \((number + 1) % count)", atMilliseconds: base.nowMilliseconds())
        }
        base.finish()
    }

    private func move(_ name: String, to folder: DocumentID?, as new: String) throws {
        try base.place(entry(name).id, in: folder, as: new, atMilliseconds: base.nowMilliseconds())
        base.finish()
    }

    private func look() -> [String] {
        disk.everything().filter { !$0.node.isFolder }.map { "\($0.path) \($0.node.content)" }.sorted()
    }

    private func expected(_ count: Int, isSwapping: Bool = true) -> [String] {
        (0..<count).flatMap { number in
            [
                "edited/edited \(number) \(9000 + number)", "moved \(number) \(3000 + number)",
                "new \(number) \(5000 + number)",
                "swapped/swapped \(isSwapping ? (number + 1) % count : number) \(4000 + number)",
            ]
        }.sorted()
    }

    /// Hundreds of files wait for the disk a few times, and not once for each file.
    func testManyStepsWaitForTheDiskTogether() throws {
        let count = 300
        try changeFromElsewhere(count, isSwapping: false)
        let (calls, changes) = (disk.calls.count, base.changes)
        let told = Locked<[Int]>([])
        disk.now += 5_000_000_000
        var pass = MirrorPass(disk, base)
        pass.progress = { progress in told.withLock { $0.append(progress.completed) } }
        let report = try pass.run()
        XCTAssertEqual(look(), expected(count, isSwapping: false))
        XCTAssertEqual(report.stuck, [])
        let waits = disk.calls[calls...].count { $0.hasPrefix("sync") }
        XCTAssertLessThan(waits, 40)
        XCTAssertLessThan(base.changes - changes, 40)
        XCTAssertGreaterThan(told.withLock { $0.count }, 4, "the steps are told")
        XCTAssertEqual(told.withLock { $0 }, told.withLock { $0.sorted() })
    }

    /// A process may die at any call: the next pass goes on, and nothing becomes a change of a person's.
    func testADeathAtAnyCallOfABatchLosesNothing() throws {
        let count = 3
        var isOver = false
        for death in 1...2000 {
            disk = ModelDisk()
            base = ModelBase(number: 0, devices: 1, disk: disk, random: SeededRandom(seed: 1))
            try changeFromElsewhere(count)
            let contents = base.contents
            let versions = base.allVersions.count
            var calls = 0
            let between: () throws -> Void = {
                calls += 1
                if calls == death { throw ModelDisk.Crash() }
            }
            (disk.between, base.between) = (between, between)
            disk.onDestruction = { content, _ in
                XCTAssertTrue(contents.contains(ModelBase.content(content)), "died at call \(death)")
            }
            do {
                _ = try pass()
                isOver = true
            } catch is ModelDisk.Crash {
                base.finish()
            }
            (disk.between, base.between) = ({}, {})
            for _ in 0..<3 { _ = try pass() }
            XCTAssertEqual(look(), expected(count), "died at call \(death)")
            XCTAssertEqual(base.allVersions.count, versions, "died at call \(death)")
            XCTAssertEqual(disk.node(.work)?.children.count ?? 0, 0, "litter, died at call \(death)")
            XCTAssertFalse(try pass().hasNews, "died at call \(death)")
            if isOver { break }
        }
        XCTAssertTrue(isOver)
    }
}
