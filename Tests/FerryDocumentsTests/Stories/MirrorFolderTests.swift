import FerryContainer
import FerryCore
import FerryStore
import FerryTestSupport
import Foundation
import XCTest

@testable import FerryDocuments
@testable import FerryEngine
@testable import FerryMirror

/// Two directories that are kept in step by two databases, with the writers that people have.
final class MirrorFolderTests: XCTestCase {
    /// Two devices with a mirror each.
    private final class Home {
        let stores: TwoDocumentStores
        let mirrors: [Mirrors]
        private(set) var records: [MirrorRecord] = []

        init() throws {
            stores = try TwoDocumentStores()
            mirrors = stores.stores.map { Mirrors($0.engine.replica) }
            for index in 0..<2 { records.append(try mirrors[index].add(directory(index))) }
        }

        func directory(_ index: Int) -> String { stores.folder.appendingPathComponent("mirror\(index)").path }

        func path(_ index: Int, _ name: String) -> String { directory(index) + "/" + name }

        func write(_ index: Int, _ name: String, _ text: String) throws {
            let url = URL(fileURLWithPath: path(index, name))
            try FileManager.default.createDirectory(
                at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
            try Data(text.utf8).write(to: url)
        }

        /// Takes what people did, on one device.
        @discardableResult
        func take(_ index: Int, held: Mirrors.HeldDeletions = .ask) throws -> MirrorReport {
            let report = try mirrors[index].settle(records[index], held: held)
            return try XCTUnwrap(report, "another process works in the directory")
        }

        /// Brings both directories into step.
        func settle(file: StaticString = #filePath, line: UInt = #line) throws {
            for index in 0..<2 { try take(index) }
            for _ in 0..<6 {
                try stores.settle()
                var hasNews = false
                for index in 0..<2 { hasNews = try take(index).hasNews || hasNews }
                if !hasNews { return }
            }
            XCTFail("the mirrors do not come to rest", file: file, line: line)
        }

        /// All files with their texts.
        func files(_ index: Int) throws -> [String: String] {
            var found: [String: String] = [:]
            let root = URL(fileURLWithPath: directory(index))
            for name in try FileManager.default.subpathsOfDirectory(atPath: root.path)
            where !name.hasPrefix(".ferry-mirror") {
                var isFolder: ObjCBool = false
                _ = FileManager.default.fileExists(atPath: path(index, name), isDirectory: &isFolder)
                if isFolder.boolValue { continue }
                found[name] = String(decoding: try Data(contentsOf: root.appendingPathComponent(name)), as: UTF8.self)
            }
            return found
        }

        func assertBoth(_ files: [String: String], file: StaticString = #filePath, line: UInt = #line) throws {
            try settle(file: file, line: line)
            for index in 0..<2 {
                XCTAssertEqual(try self.files(index), files, "device \(index)", file: file, line: line)
                XCTAssertEqual(
                    try FileManager.default.subpathsOfDirectory(atPath: path(index, ".ferry-mirror")).filter {
                        $0 != "marker" && $0 != "work"
                    }, [], "litter", file: file, line: line)
            }
        }

        func run(_ program: String, _ arguments: String..., in index: Int) throws {
            let process = Process()
            process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
            process.arguments = [program] + arguments
            process.currentDirectoryURL = URL(fileURLWithPath: directory(index))
            (process.standardOutput, process.standardError) = (Pipe(), Pipe())
            try process.run()
            process.waitUntilExit()
            XCTAssertEqual(process.terminationStatus, 0, "\(program) \(arguments)")
        }
    }

    private func skipUnless(_ programs: String...) throws {
        for program in programs {
            let isThere = ["/usr/bin/", "/bin/", "/usr/local/bin/"].contains {
                FileManager.default.isExecutableFile(atPath: $0 + program)
            }
            if !isThere { throw XCTSkip("\(program) is not installed") }
        }
    }

    func testLinksInThePlaceOfDocumentsAreNamedAndNothingIsDeleted() throws {
        let home = try Home()
        try home.write(1, "g", "one")
        try home.write(1, "dir/f", "two")
        try home.assertBoth(["g": "one", "dir/f": "two"])
        let outside = home.stores.folder.appendingPathComponent("outside").path
        try FileManager.default.createDirectory(atPath: outside, withIntermediateDirectories: true)
        // A person puts a link in the place of a file and of a folder.
        for name in ["g", "dir"] {
            try FileManager.default.removeItem(atPath: home.path(0, name))
            try FileManager.default.createSymbolicLink(atPath: home.path(0, name), withDestinationPath: outside)
        }
        try home.write(1, "dir/new", "three")
        try home.write(1, "g", "four")
        try home.settle()
        XCTAssertEqual(try home.files(1), ["g": "four", "dir/f": "two", "dir/new": "three"])
        let report = try home.take(0)
        XCTAssertEqual(report.blocked.map(\.path), ["dir", "dir/f", "dir/new", "g"])
        XCTAssertEqual(report.waiting, 0, "a pass does not wait for somebody who moves a link")
        XCTAssertEqual(report.left.map(\.path), [])
        XCTAssertEqual(try FileManager.default.contentsOfDirectory(atPath: outside), [])
        let standing = try XCTUnwrap(home.mirrors[0].list().first?.standing)
        XCTAssertEqual(standing.blocked, 4)
        XCTAssertTrue(standing.named.sentence(of: 4, in: "M").contains("a link stands at “dir”"))
        XCTAssertEqual(try home.mirrors[1].list().first?.standing, MirrorStanding())
        // They come once the links are gone.
        for name in ["g", "dir"] { try FileManager.default.removeItem(atPath: home.path(0, name)) }
        try home.assertBoth(["g": "four", "dir/f": "two", "dir/new": "three"])
        XCTAssertEqual(try home.mirrors[0].list().first?.standing, MirrorStanding())
        XCTAssertEqual(try home.stores.first.deleted().map(\.path), [])
    }

    func testFilesAndFoldersTravel() throws {
        let home = try Home()
        try home.write(0, "Scores/Trio.txt", "one")
        try home.write(0, "run.sh", "#!/bin/sh")
        try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: home.path(0, "run.sh"))
        try FileManager.default.setAttributes(
            [.modificationDate: Date(timeIntervalSince1970: 1_000_000_000)], ofItemAtPath: home.path(0, "run.sh"))
        try home.assertBoth(["Scores/Trio.txt": "one", "run.sh": "#!/bin/sh"])
        let there = try FileManager.default.attributesOfItem(atPath: home.path(1, "run.sh"))
        XCTAssertEqual(try XCTUnwrap(there[.posixPermissions] as? Int) & 0o100, 0o100)
        XCTAssertEqual(
            try XCTUnwrap(there[.modificationDate] as? Date).timeIntervalSince1970, 1_000_000_000, accuracy: 0.001)
        try FileManager.default.moveItem(atPath: home.path(1, "Scores"), toPath: home.path(1, "Music"))
        try home.write(1, "Music/Trio.txt", "two")
        try FileManager.default.removeItem(atPath: home.path(1, "run.sh"))
        try home.assertBoth(["Music/Trio.txt": "two"])
        XCTAssertEqual(try home.stores.first.list(recursively: true).map(\.path), ["Music", "Music/Trio.txt"])
        XCTAssertEqual(try home.stores.first.deleted().map(\.path), ["run.sh"])
    }

    func testEditsOnBothDevicesLieBesideEachOther() throws {
        let home = try Home()
        try home.write(0, "note.md", "one")
        try home.assertBoth(["note.md": "one"])
        try home.write(0, "note.md", "by zero")
        try home.write(1, "note.md", "by one")
        try home.take(0)
        try home.settle()
        let files = try home.files(0)
        XCTAssertEqual(try home.files(1), files)
        XCTAssertEqual(files.values.sorted(), ["by one", "by zero"])
        let copy = try XCTUnwrap(files.keys.first { $0.hasPrefix("note (conflict, device") })
        // Written to, the copy stays a copy, on top of its own version.
        try home.write(0, copy, "by zero, again")
        try home.settle()
        XCTAssertEqual(try home.files(1).values.sorted(), [files["note.md"] ?? "", "by zero, again"].sorted())
        XCTAssertEqual(try home.files(1)["note.md"], files["note.md"])
        // Deleted, the copy's version goes, and the conflict is over.
        try FileManager.default.removeItem(atPath: home.path(0, copy))
        try home.assertBoth(["note.md": files["note.md"] ?? ""])
        XCTAssertEqual(try home.stores.second.conflicts().count, 0)
        XCTAssertFalse(try home.stores.second.document(at: "note.md").wasDeletedElsewhere, "only its rival was dropped")
    }

    /// People settle a conflict by moving and copying files. The chosen text stays, on all devices, and the conflict is over.
    func testTakingACopyOverItsFileSettlesTheConflict() throws {
        let home = try Home()
        let names = ["mv", "cp", "in place", "copy takes text", "copy takes place", "merge"]
        for name in names { try home.write(0, name, "base") }
        try home.settle()
        for name in names { try home.write(0, name, "zero's \(name)") }
        for name in names { try home.write(1, name, "one's \(name)") }
        try home.take(0)
        try home.settle()
        var expected: [String: String] = [:]
        let files = try home.files(0)
        let manager = FileManager.default
        for name in names {
            let copy = try XCTUnwrap(files.keys.first { $0.hasPrefix("\(name) (conflict, ") })
            let (own, beside) = (try XCTUnwrap(files[name]), try XCTUnwrap(files[copy]))
            let (file, copied) = (home.path(0, name), home.path(0, copy))
            expected[name] = beside
            switch name {
            case "mv": XCTAssertEqual(rename(copied, file), 0)
            case "cp":
                try Data(beside.utf8).write(to: URL(fileURLWithPath: file), options: .atomic)
                try manager.removeItem(atPath: copied)
            case "in place":
                try home.write(0, name, beside)
                try manager.removeItem(atPath: copied)
            case "copy takes text":
                try home.write(0, copy, own)
                try manager.removeItem(atPath: file)
                expected[name] = own
            case "copy takes place":
                XCTAssertEqual(rename(file, copied), 0)
                expected[name] = own
            default:
                try home.write(0, name, "merged")
                try home.write(0, copy, "merged")
                try manager.removeItem(atPath: copied)
                expected[name] = "merged"
            }
        }
        try home.assertBoth(expected)
        for store in [home.stores.first, home.stores.second] {
            XCTAssertEqual(try store.conflicts().map(\.path), [])
            XCTAssertEqual(try store.deleted().map(\.path), [])
        }
    }

    func testAFileAndItsCopyExchangeTheirTexts() throws {
        let home = try Home()
        try home.write(0, "note", "base")
        try home.settle()
        try home.write(0, "note", "by zero")
        try home.write(1, "note", "by one")
        try home.take(0)
        try home.settle()
        let files = try home.files(0)
        let copy = try XCTUnwrap(files.keys.first { $0.hasPrefix("note (conflict, ") })
        XCTAssertEqual(rename(home.path(0, "note"), home.path(0, "aside")), 0)
        XCTAssertEqual(rename(home.path(0, copy), home.path(0, "note")), 0)
        XCTAssertEqual(rename(home.path(0, "aside"), home.path(0, copy)), 0)
        try home.settle()
        for index in 0..<2 {
            XCTAssertEqual(try home.files(index)["note"], files[copy])
            XCTAssertEqual(try home.files(index).values.sorted(), files.values.sorted())
        }
    }

    func testARenamedCopyIsADocument() throws {
        let home = try Home()
        try home.write(0, "note.md", "by zero")
        try home.write(1, "note.md", "by one")
        try home.settle()
        let copy = try XCTUnwrap(try home.files(1).keys.first { $0.contains("(conflict, ") })
        try FileManager.default.moveItem(atPath: home.path(1, copy), toPath: home.path(1, "mine.md"))
        try home.settle()
        XCTAssertEqual(try home.files(0).keys.sorted(), ["mine.md", "note.md"])
        XCTAssertEqual(try home.files(0).values.sorted(), ["by one", "by zero"])
        XCTAssertEqual(try home.stores.first.conflicts().count, 0)
    }

    func testAnEditBeatsADeletion() throws {
        let home = try Home()
        try home.write(0, "a", "one")
        try home.assertBoth(["a": "one"])
        try FileManager.default.removeItem(atPath: home.path(0, "a"))
        try home.write(1, "a", "two")
        try home.assertBoth(["a": "two"])
        XCTAssertTrue(try home.stores.first.document(at: "a").wasDeletedElsewhere)
    }

    func testAnEmptiedDirectoryDeletesNothing() throws {
        let home = try Home()
        for number in 0..<25 { try home.write(0, "f\(number)", "\(number)") }
        try home.settle()
        for number in 0..<25 { try FileManager.default.removeItem(atPath: home.path(1, "f\(number)")) }
        XCTAssertEqual(try home.take(1).held, 25)
        XCTAssertEqual(try home.mirrors[1].list()[0].held, 25)
        try home.stores.settle()
        XCTAssertEqual(try home.stores.first.list().count, 25)
        XCTAssertEqual(try home.take(1, held: .bringBack).held, 0)
        XCTAssertEqual(try home.files(1).count, 25)
        XCTAssertEqual(try home.mirrors[1].list()[0].held, 0)
        for number in 0..<25 { try FileManager.default.removeItem(atPath: home.path(1, "f\(number)")) }
        try home.take(1, held: .confirm)
        try home.assertBoth([:])
    }

    func testADirectoryThatIsAwayDeletesNothing() throws {
        let home = try Home()
        try home.write(0, "a", "one")
        try home.assertBoth(["a": "one"])
        let (here, away) = (home.directory(1), home.directory(1) + ".away")
        try FileManager.default.moveItem(atPath: here, toPath: away)
        func code() -> FerryError.Code? {
            do {
                try home.take(1)
                return nil
            } catch { return (error as? FerryError)?.code }
        }
        XCTAssertEqual(code(), .mirrorMissing)
        try FileManager.default.createDirectory(atPath: here, withIntermediateDirectories: false)
        XCTAssertEqual(code(), .mirrorMissing, "a mount point without its disk")
        XCTAssertEqual(try home.mirrors[1].list()[0].problem?.code, .mirrorMissing)
        try FileManager.default.removeItem(atPath: here)
        try FileManager.default.moveItem(atPath: away, toPath: here)
        try home.assertBoth(["a": "one"])
        XCTAssertNil(try home.mirrors[1].list()[0].problem)
    }

    func testAnotherDatabasesMirrorIsNotTaken() throws {
        let home = try Home()
        XCTAssertThrowsError(try home.mirrors[1].add(home.directory(0))) {
            XCTAssertEqual(($0 as? FerryError)?.code, .mirrorMissing)
        }
        for directory in ["container", "container/x", "."] {
            XCTAssertThrowsError(
                try home.mirrors[0].add(home.stores.folder.appendingPathComponent(directory).path), directory
            ) { XCTAssertEqual(($0 as? FerryError)?.code, .invalidArgument) }
        }
        XCTAssertThrowsError(try home.mirrors[0].add(home.path(0, "inside"))) {
            XCTAssertEqual(($0 as? FerryError)?.code, .invalidArgument)
        }
    }

    func testAMovedDirectoryIsTheMirrorWhereItIsNow() throws {
        let home = try Home()
        for name in ["a", "d/b"] { try home.write(0, name, name) }
        try home.settle()
        let mirrors = home.mirrors[0]
        func message(_ name: String) -> String {
            do {
                try mirrors.add(home.stores.folder.appendingPathComponent(name).path)
                return ""
            } catch {
                XCTAssertEqual((error as? FerryError)?.code, .mirrorMissing)
                return (error as? FerryError)?.message ?? ""
            }
        }
        func place(_ name: String) -> String { home.stores.folder.appendingPathComponent(name).path }
        try FileManager.default.moveItem(atPath: home.directory(0), toPath: place("moved"))
        XCTAssertThrowsError(try mirrors.pass(home.records[0])) { XCTAssertTrue("\($0)".contains("--stop"), "\($0)") }
        XCTAssertTrue(message("moved").contains("moved or copied here. Say --adopt"), message("moved"))
        let moved = try mirrors.add(place("moved"), adopting: true)
        XCTAssertEqual(moved.id, home.records[0].id)
        XCTAssertEqual(try mirrors.list().map(\.directory), [moved.directory])
        XCTAssertNil(try mirrors.list()[0].problem)
        let report = try XCTUnwrap(mirrors.settle(moved))
        XCTAssertFalse(report.hasNews)
        // A copy beside becomes a mirror of its own.
        try FileManager.default.copyItem(atPath: place("moved"), toPath: place("copy"))
        XCTAssertTrue(message("copy").contains("is a copy of this database's mirror"), message("copy"))
        let copy = try mirrors.add(place("copy"), adopting: true)
        XCTAssertEqual(try mirrors.list().count, 2)
        XCTAssertNotEqual(copy.id, moved.id)
        // A copy in place of the directory, with files of another age, begins anew: nothing of it is taken for an edit or a deletion.
        try mirrors.remove(copy)
        XCTAssertEqual(message("copy"), "")
        try mirrors.remove(try mirrors.mirror(in: place("copy")))
        try FileManager.default.removeItem(atPath: place("copy"))
        try FileManager.default.copyItem(atPath: place("moved"), toPath: place("restored"))
        try FileManager.default.removeItem(atPath: place("moved"))
        try FileManager.default.removeItem(atPath: place("restored/a"))
        let restored = try mirrors.add(place("restored"), adopting: true)
        XCTAssertNotEqual(restored.id, moved.id)
        XCTAssertEqual(try mirrors.list().map(\.id), [restored.id])
        _ = try mirrors.settle(restored)
        XCTAssertEqual(try String(contentsOfFile: place("restored/a"), encoding: .utf8), "a")
    }

    func testWhatIsIgnoredStays() throws {
        let home = try Home()
        try home.write(0, ".ferryignore", "*.o\n")
        try home.write(0, "a.o", "object")
        try home.write(0, "a.c", "source")
        try home.settle()
        XCTAssertEqual(try home.files(1), [".ferryignore": "*.o\n", "a.c": "source"])
        XCTAssertEqual(try home.files(0)["a.o"], "object")
    }

    /// A version stays known while its file is ignored: an edit stands on top of it.
    func testAnEditDuringAnIgnoredTimeHasItsBase() throws {
        let home = try Home()
        for name in ["edited.log", "gone.log"] { try home.write(0, name, "one") }
        try home.settle()
        try home.write(0, ".ferryignore", "*.log\n")
        try home.settle()
        try home.write(0, "edited.log", "two")
        try FileManager.default.removeItem(atPath: home.path(0, "gone.log"))
        try home.take(0)
        try FileManager.default.removeItem(atPath: home.path(0, ".ferryignore"))
        // Nobody knows why a file went while it was ignored: it comes back.
        try home.assertBoth(["edited.log": "two", "gone.log": "one"])
        XCTAssertEqual(try home.stores.first.conflicts().count, 0)
    }

    /// The copy of a rival is as private as the file.
    func testACopyHasTheRightsOfItsFile() throws {
        let home = try Home()
        try home.write(0, "note", "base")
        try home.settle()
        for index in 0..<2 {
            try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: home.path(index, "note"))
            try home.write(index, "note", "by \(index)")
            try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: home.path(index, "note"))
        }
        try home.take(0)
        try home.settle()
        for index in 0..<2 {
            let names = try home.files(index).keys.sorted()
            XCTAssertEqual(names.count, 2)
            for name in names {
                let rights = try FileManager.default.attributesOfItem(atPath: home.path(index, name))[.posixPermissions]
                XCTAssertEqual(rights as? Int, 0o600, "\(name) of \(index)")
            }
        }
    }

    func testLinksLeadNowhere() throws {
        let home = try Home()
        let outside = home.stores.folder.appendingPathComponent("outside").path
        try FileManager.default.createDirectory(atPath: outside, withIntermediateDirectories: false)
        try FileManager.default.createSymbolicLink(atPath: home.path(0, "link"), withDestinationPath: outside)
        try home.write(1, "folder/a", "one")
        let report = try home.take(0)
        XCTAssertEqual(report.left.map(\.path), ["link"])
        try home.settle()
        XCTAssertEqual(try home.files(0)["folder/a"], "one")
        // A link in place of a folder: nothing is written through it.
        try FileManager.default.removeItem(atPath: home.path(0, "folder"))
        try FileManager.default.createSymbolicLink(atPath: home.path(0, "folder"), withDestinationPath: outside)
        try home.write(1, "folder/b", "two")
        try home.take(1)
        try home.stores.settle()
        try home.take(0)
        XCTAssertEqual(try FileManager.default.contentsOfDirectory(atPath: outside), [])
    }

    func testAFileThatSomebodyHasOpenWaits() throws {
        let home = try Home()
        try home.write(0, "a", "one")
        try home.assertBoth(["a": "one"])
        let directory = try MirrorDirectory(root: home.directory(1))
        try XCTSkipUnless(directory.tellsWriters, "the disk does not tell who writes")
        let file = try XCTUnwrap(FileHandle(forUpdatingAtPath: home.path(1, "a")))
        XCTAssertTrue(try directory.isOpenForWriting(DiskPath("a")))
        try home.write(0, "a", "two")
        try home.take(0)
        try home.stores.settle()
        XCTAssertGreaterThan(try XCTUnwrap(home.mirrors[1].pass(home.records[1])).waiting, 0)
        XCTAssertEqual(try home.files(1)["a"], "one", "nobody's open file is replaced")
        try file.write(contentsOf: Data("ONE".utf8))
        try file.close()
        XCTAssertFalse(try directory.isOpenForWriting(DiskPath("a")))
        try home.settle()
        XCTAssertEqual(try home.files(0).values.sorted(), ["ONE", "two"])
        XCTAssertEqual(try home.files(1), try home.files(0))
    }

    func testTheDiskExchangesNamesAndNeverReplaces() throws {
        let scratch = try ScratchFolder()
        let directory = try MirrorDirectory(root: scratch.path)
        for (name, text) in [("a", "1"), ("b", "2")] {
            try Data(text.utf8).write(to: URL(fileURLWithPath: scratch.path(name)))
        }
        func text(_ name: String) throws -> String {
            String(decoding: try Data(contentsOf: URL(fileURLWithPath: scratch.path(name))), as: UTF8.self)
        }
        XCTAssertFalse(try directory.rename(DiskPath("a"), to: DiskPath("b")))
        XCTAssertFalse(try directory.rename(DiskPath("c"), to: DiskPath("d")))
        XCTAssertFalse(try directory.rename(DiskPath("a"), to: DiskPath("no/d")))
        if let isDone = try directory.exchange(DiskPath("a"), with: DiskPath("b")) {
            XCTAssertTrue(isDone)
            XCTAssertEqual([try text("a"), try text("b")], ["2", "1"])
            XCTAssertEqual(try directory.exchange(DiskPath("a"), with: DiskPath("c")), false)
        }
        XCTAssertNil(try directory.item(at: DiskPath("../" + scratch.path.split(separator: "/").last! + "/a")))
        XCTAssertTrue(try directory.makeFolder(at: DiskPath("f")))
        XCTAssertFalse(try directory.makeFolder(at: DiskPath("f")))
        try Data().write(to: URL(fileURLWithPath: scratch.path("f/.DS_Store")))
        XCTAssertTrue(try directory.removeFolder(at: DiskPath("f")), "what systems litter goes along")
    }

    // MARK: In an app

    func testAnAppKeepsADirectoryInStep() async throws {
        let stores = try TwoDocumentStores()
        let directory = stores.folder.appendingPathComponent("Papers")
        let mirrors = DocumentMirrors(stores.first)
        try await stores.first.add(stores.file("one"), at: "note.md")
        let summary = try await mirrors.add(directory)
        XCTAssertEqual(summary.written, 1)
        XCTAssertEqual(try mirrors.list().map(\.directory.lastPathComponent), ["Papers"])
        var events = mirrors.events.makeAsyncIterator()
        mirrors.start()
        // What a program saves comes to the documents, and what the app saves comes to the directory.
        try Data("two".utf8).write(to: directory.appendingPathComponent("note.md"))
        while case .passed(_, let summary) = await events.next(), summary.taken == 0 {}
        let note = try stores.first.document(at: "note.md")
        XCTAssertEqual(note.byteCount, 3)
        try await stores.first.add(stores.file("by the app"), at: "Folder/app.md")
        while case .passed(_, let summary) = await events.next(), summary.written == 0 {}
        XCTAssertEqual(
            try String(contentsOf: directory.appendingPathComponent("Folder/app.md"), encoding: .utf8), "by the app")
        mirrors.stop()
        try mirrors.remove(directory)
        XCTAssertEqual(try mirrors.list().count, 0)
        do {
            try await mirrors.sync(directory)
            XCTFail("it is no mirror any more")
        } catch let error as FerryError { XCTAssertEqual(error.code, .nothingFound) }
    }

    // MARK: Programs

    func testProgramsThatPeopleWriteWith() throws {
        try skipUnless("sed", "cp", "mv")
        let home = try Home()
        try home.write(0, "note.md", "first line\n")
        try home.assertBoth(["note.md": "first line\n"])
        try home.run("sed", "-i", "s/first/second/", "note.md", in: 1)
        try home.assertBoth(["note.md": "second line\n"])
        try home.run("cp", "note.md", "copy.md", in: 0)
        try home.run("mv", "note.md", "renamed.md", in: 0)
        try home.assertBoth(["copy.md": "second line\n", "renamed.md": "second line\n"])
        XCTAssertEqual(try home.stores.first.deleted().count, 0, "a rename is no deletion")
    }

    func testVimsThreeWays() throws {
        try skipUnless("vim")
        let home = try Home()
        try home.write(0, "note.md", "0\n")
        try home.settle()
        for (count, way) in ["yes", "no", "auto"].enumerated() {
            try home.run(
                "vim", "-u", "NONE", "-es", "-c", "set backupcopy=\(way)", "-c", "s/\(count)/\(count + 1)/", "-c", "wq",
                "note.md", in: count % 2)
            try home.assertBoth(["note.md": "\(count + 1)\n"])
        }
        let note = try home.stores.first.document(at: "note.md")
        XCTAssertEqual(try home.stores.first.versions(of: note.id).count, 4, "one version for each save")
    }

    func testRsyncInPlaceAndGit() throws {
        try skipUnless("rsync", "git")
        let home = try Home()
        try home.write(0, ".ferryignore", ".git/\n")
        try home.write(0, "big", String(repeating: "a", count: 100_000))
        try home.settle()
        let source = home.stores.folder.appendingPathComponent("source")
        try Data((String(repeating: "a", count: 99_999) + "b").utf8).write(to: source)
        try home.run("rsync", "--inplace", "-I", "-t", source.path, "big", in: 0)
        try home.settle()
        XCTAssertEqual(try home.files(1)["big"]?.last, "b")
        try home.run("git", "init", "-q", ".", in: 1)
        try home.run("git", "add", "-A", in: 1)
        try home.run("git", "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "1", in: 1)
        try home.write(1, "big", "short")
        try home.settle()
        XCTAssertEqual(try home.files(0)["big"], "short")
        try home.run("git", "checkout", "-q", "big", in: 1)
        try home.settle()
        XCTAssertEqual(try home.files(0)["big"]?.count, 100_000)
        XCTAssertFalse(try home.files(0).keys.contains { $0.hasPrefix(".git/") })
    }

    func testADatabaseInUseWaitsUntilItIsClosed() throws {
        try skipUnless("sqlite3")
        let home = try Home()
        try home.run("sqlite3", "app.db", "PRAGMA journal_mode=wal; CREATE TABLE t(a)", in: 0)
        let store = try Store(path: home.path(0, "app.db"))
        try store.write { try $0.executeScript("INSERT INTO t VALUES (1)") }
        let report = try home.take(0)
        XCTAssertTrue(report.left.contains { $0.path == "app.db" && $0.reason.contains("in use") }, "\(report.left)")
        try home.stores.settle()
        XCTAssertEqual(try home.stores.first.list().count, 0)
        try store.close()
        try home.settle()
        let copy = try Store(path: home.path(1, "app.db"))
        XCTAssertEqual(try copy.read { try $0.count("SELECT count(*) FROM t") }, 1)
        try copy.close()
        // A journal without a change of the file itself is named as well, for as long as it lies there.
        try Data(repeating: 1, count: 64).write(to: URL(fileURLWithPath: home.path(0, "app.db-wal")))
        for _ in 0..<2 { XCTAssertEqual(try home.take(0).stuck, [StuckItem("app.db", .inUse)]) }
        XCTAssertEqual(try home.mirrors[0].list().first?.standing.stuck, [StuckItem("app.db", .inUse)])
        try FileManager.default.removeItem(atPath: home.path(0, "app.db-wal"))
        XCTAssertEqual(try home.take(0).stuck, [])
    }

    /// A log that a program goes on writing is never taken, and a new version of a file that a program holds open is never written.
    func testAFileOpenForWritingIsNamedUntilItIsClosed() throws {
        let home = try Home()
        try home.write(0, "a.txt", "one")
        try home.settle()
        let open = [("a.txt", 1), ("log", 0)].map { name, index in (home.path(index, name), index) }
        let handles = try open.map { path, _ in
            if !FileManager.default.fileExists(atPath: path) {
                XCTAssertTrue(FileManager.default.createFile(atPath: path, contents: Data("first line".utf8)))
            }
            return try FileHandle(forWritingTo: URL(fileURLWithPath: path))
        }
        try home.write(0, "a.txt", "two")
        for _ in 0..<3 { for index in 0..<2 { _ = try home.take(index) } }
        try home.stores.settle()
        XCTAssertEqual(try home.take(0).stuck, [StuckItem("log", .writing)])
        XCTAssertEqual(try home.take(1).stuck, [StuckItem("a.txt", .writing)])
        XCTAssertEqual(try home.mirrors[1].list().first?.standing.stuck, [StuckItem("a.txt", .writing)])
        XCTAssertFalse(StuckItem("log", .writing).needsLook)
        XCTAssertEqual(try home.files(1)["a.txt"], "one")
        for handle in handles { try handle.close() }
        try home.settle()
        XCTAssertEqual(try home.files(1), ["a.txt": "two", "log": "first line"])
        for index in 0..<2 { XCTAssertEqual(try home.take(index).stuck, []) }
    }

    /// Ferry's own files are no documents: a document's deletion would remove the bytes of another.
    func testAMirrorLiesInNoDirectoryOfContents() throws {
        let home = try Home()
        let others = home.stores.folder.appendingPathComponent("other.db-ferry-content/whole")
        try FileManager.default.createDirectory(at: others, withIntermediateDirectories: true)
        let own = DatabaseFiles(of: home.stores.stores[0].engine.replica.store.path).path(.content)
        try FileManager.default.createDirectory(atPath: own, withIntermediateDirectories: true)
        for path in [own, others.path] {
            XCTAssertThrowsError(try home.mirrors[0].add(path)) {
                XCTAssertEqual(($0 as? FerryError)?.code, .invalidArgument)
            }
        }
    }
}
