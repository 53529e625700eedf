import FerryCore
import FerryTestSupport
import XCTest

@testable import FerryDocuments
@testable import FerryMirror

/// One pass of a mirror where the system refuses something.
final class MirrorPassTests: XCTestCase {
    private let disk = ModelDisk()
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
}
