import FerryCore
import FerryDocuments
import FerryMirror
import XCTest

/// Under which names documents lie on a disk.
final class WantedItemsTests: XCTestCase {
    private func names(
        _ documents: [DocumentRow], _ versions: [VersionRow] = [], rules: DiskRules = DiskRules(),
        entries: [MirrorEntry] = [], ignoring: String = ""
    ) -> [String] {
        let has = Set(versions.map(\.document))
        let all =
            versions
            + documents.filter { !has.contains($0.id) }.map {
                Samples.row($0.id.low + 1000, of: $0.id.low, $0.id.low)
            }
        return WantedItems(
            MirrorTree(
                documents: documents, versions: all,
                deviceNames: [Samples.phone: "phone", Samples.laptop: "laptop"]), entries: entries, rules: rules,
            ignoring: IgnoreRules(ignoring)
        ).items.map(\.path.text)
    }

    func testADiskThatTakesAllNamesHasTheDocumentsOwn() {
        XCTAssertEqual(
            names([
                Samples.document(1, "Scores", kind: .folder), Samples.document(2, "a:b?.md", in: 1),
                Samples.document(3, "CON"),
            ]), ["Scores", "CON", "Scores/a:b?.md"])
    }

    func testADiskOfWindowsGetsLocalNames() {
        let found = names(
            [
                Samples.document(1, "a:b?.md"), Samples.document(2, "CON.txt"), Samples.document(3, "end."),
                Samples.document(4, "good.md"),
            ], rules: DiskRules(isOfWindows: true))
        XCTAssertEqual(found, ["a_b_ [00000000].md", "CON [00000000].txt", "end [00000000]", "good.md"])
    }

    func testNamesThatDifferByCaseLieBesideEachOther() {
        let documents = [Samples.document(1, "README"), Samples.document(2, "readme")]
        XCTAssertEqual(names(documents), ["README", "readme"])
        XCTAssertEqual(names(documents, rules: DiskRules(ignoresCase: true)), ["README", "readme [00000000]"])
    }

    func testALongNameIsCut() throws {
        let long = String(repeating: "ü", count: 100) + ".md"
        let found = names([Samples.document(1, long)], rules: DiskRules(maximumBytes: 143))
        XCTAssertLessThanOrEqual(found[0].utf8.count, 143)
        XCTAssertTrue(found[0].hasSuffix(" [00000000].md"))
    }

    func testRivalsLieBesideTheFile() {
        let versions = [
            Samples.row(1, of: 1, 1, at: Samples.now + 5000),
            Samples.row(2, of: 1, 2), Samples.row(3, of: 1, 3),
        ]
        XCTAssertEqual(
            names([Samples.document(1, "report.txt")], versions),
            [
                "report.txt", "report (conflict, phone 1 March 14.00).txt",
                "report (conflict, phone 1 March 14.00, 2).txt",
            ])
    }

    /// Of two devices of one name, numbers by arrival would name different bytes on different devices.
    func testCopiesOfDevicesOfOneNameAreToldApartByTheirIDs() {
        let devices = [DeviceID(high: 0x1234 << 48, low: 1), DeviceID(high: 0xabcd << 48, low: 1)]
        var rivals = [Samples.row(2, of: 1, 2), Samples.row(3, of: 1, 3)]
        for place in rivals.indices { rivals[place].device = devices[place] }
        let current = Samples.row(1, of: 1, 1, at: Samples.now + 5000)
        func names(_ rows: [VersionRow], _ entries: [MirrorEntry] = []) -> [VersionID: String] {
            let wanted = WantedItems(
                MirrorTree(
                    documents: [Samples.document(1, "f")], versions: rows,
                    deviceNames: [devices[0]: "twin", devices[1]: "twin"]), entries: entries, rules: DiskRules(),
                ignoring: .builtIn)
            return Dictionary(uniqueKeysWithValues: wanted.items.map { ($0.version, $0.path.text) })
        }
        XCTAssertEqual(names([current, rivals[0]])[rivals[0].id], "f (conflict, twin 1 March 14.00)")
        // The copy that was there first gets its digits, too.
        let present = MirrorEntry(
            path: DiskPath("f (conflict, twin 1 March 14.00)"),
            key: MirrorKey(document: Samples.id(1), rival: rivals[1].id), kind: .file, version: rivals[1].id,
            content: Samples.content(3), stamp: DiskStamp(inode: 1))
        let both = names([current] + rivals, [present])
        XCTAssertEqual(both[rivals[0].id], "f (conflict, twin 1234 1 March 14.00)")
        XCTAssertEqual(both[rivals[1].id], "f (conflict, twin abcd 1 March 14.00)")
    }

    func testACopyKeepsItsNameWhileSomebodyEditsIt() {
        let versions = [Samples.row(1, of: 1, 1, at: Samples.now + 5000), Samples.row(2, of: 1, 2)]
        let entry = MirrorEntry(
            path: DiskPath("report (conflict, laptop 3 May 9.30).txt"),
            key: MirrorKey(document: Samples.id(1), rival: Samples.version(2)), kind: .file,
            version: Samples.version(2), content: Samples.content(2), stamp: DiskStamp(inode: 1))
        XCTAssertEqual(
            names([Samples.document(1, "report.txt")], versions, entries: [entry]),
            ["report.txt", "report (conflict, laptop 3 May 9.30).txt"])
        XCTAssertEqual(
            names([Samples.document(1, "other.txt")], versions, entries: [entry]),
            ["other.txt", "other (conflict, phone 1 March 14.00).txt"])
    }

    /// Whoever edits a copy: the name is the same where it was edited and elsewhere.
    func testAnEditedCopyIsNamedAfterTheBeginningOfItsBranch() {
        var versions = [
            Samples.row(1, of: 1, 1), Samples.row(2, of: 1, 2, at: Samples.now + 60_000),
            Samples.row(3, of: 1, 3, at: Samples.now + 600_000),
        ]
        (versions[1].supersedes, versions[2].supersedes) = ([versions[0].id], [versions[0].id])
        versions[0].isSuperseded = true
        let before = names([Samples.document(1, "f.txt")], versions)
        XCTAssertEqual(before, ["f.txt", "f (conflict, phone 1 March 14.01).txt"])
        var edit = Samples.row(4, of: 1, 4, at: Samples.now + 300_000)
        (edit.supersedes, edit.device) = ([versions[1].id], Samples.laptop)
        versions[1].isSuperseded = true
        XCTAssertEqual(names([Samples.document(1, "f.txt")], versions + [edit]), before)
        // Two edits of one copy are two copies: each is named after what is its own.
        var other = Samples.row(5, of: 1, 5, at: Samples.now + 360_000)
        other.supersedes = [versions[1].id]
        XCTAssertEqual(
            Set(names([Samples.document(1, "f.txt")], versions + [edit, other])),
            ["f.txt", "f (conflict, laptop 1 March 14.05).txt", "f (conflict, phone 1 March 14.06).txt"])
    }

    func testIgnoredNamesAndLinksDoNotLieThere() {
        XCTAssertEqual(
            names(
                [Samples.document(1, ".DS_Store"), Samples.document(2, "a.o"), Samples.document(3, "l", kind: .link)],
                ignoring: "*.o"), [])
    }
}
