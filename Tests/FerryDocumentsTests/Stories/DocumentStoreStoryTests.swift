import FerryContainer
import FerryCore
import FerryTestSupport
import Foundation
import GRDB
import XCTest

@testable import FerryDocuments
@testable import FerryEngine

/// Documents as an app has them.
final class DocumentStoreStoryTests: XCTestCase {
    // MARK: Arguments

    private func assertFails<Result>(
        _ code: FerryError.Code, _ what: String, file: StaticString = #filePath, line: UInt = #line,
        _ body: () async throws -> Result
    ) async {
        do {
            _ = try await body()
            XCTFail("\(what) went through", file: file, line: line)
        } catch {
            XCTAssertEqual((error as? FerryError)?.code, code, "\(what): \(error)", file: file, line: line)
        }
    }

    func testAFolderHasNoBytes() async throws {
        let home = try TwoDocumentStores(count: 1)
        try await home.first.makeFolder("F")
        let folder = try home.first.document(at: "F")
        await assertFails(.invalidArgument, "open") { try await home.first.open(folder.id) }
        let content = try await home.first.store(contentsOf: home.file("1"))
        let version = try XCTUnwrap(home.first.versions(of: folder.id).first).id
        await assertFails(.invalidArgument, "save") { try await home.first.save(folder.id, content, over: version) }
        XCTAssertEqual(try home.first.document(at: "F").kind, .folder)
        XCTAssertEqual(try home.first.versions(of: folder.id).count, 1)
    }

    func testAnUnknownDocumentIsNotFound() async throws {
        let home = try TwoDocumentStores(count: 1)
        _ = try await home.first.add(home.file("1"), at: "a.md")
        let (store, id) = (home.first, DocumentID(high: 3, low: 4))
        await assertFails(.nothingFound, "remove") { try await store.remove(id) }
        await assertFails(.nothingFound, "move") { try await store.move(id, to: "z") }
        await assertFails(.nothingFound, "fetch") { try await store.fetch([id]) }
        await assertFails(.nothingFound, "evict") { try await store.evict([id]) }
        await assertFails(.nothingFound, "pin") { try store.pin([id]) }
        await assertFails(.nothingFound, "versions") { try store.versions(of: id) }
        await assertFails(.nothingFound, "settle") { try await store.settle(id, .keepBoth) }
        await assertFails(.nothingFound, "put back") { try await store.putBack(id) }
        await assertFails(.nothingFound, "open") { try await store.open(id) }
        XCTAssertEqual(try store.list(recursively: true).map(\.path), ["a.md"])
    }

    func testOddRangesGiveWhatIsThere() async throws {
        let home = try TwoDocumentStores(count: 1)
        let entry = try await home.first.add(home.file(Array(0..<100)), at: "a")
        let content = try XCTUnwrap(entry.content)
        for (range, bytes) in [
            (-5..<5, 0..<5), (90..<200, 90..<100), (1000..<2000, 0..<0), (-10 ..< -5, 0..<0), (Int.min..<5, 0..<5),
            (5..<Int.max, 5..<100),
        ] {
            let data = try await home.first.data(of: content, in: range)
            XCTAssertEqual(Array(data), bytes.map { UInt8($0) }, "\(range)")
        }
    }

    func testADateThatIsNoneIsRefused() async throws {
        let home = try TwoDocumentStores(count: 1)
        let entry = try await home.first.add(home.file("1"), at: "a")
        let version = try XCTUnwrap(entry.version)
        let content = try await home.first.store(contentsOf: home.file("2"))
        for seconds in [1e300, -1e300, .nan, .infinity] {
            let date = Date(timeIntervalSince1970: seconds)
            await assertFails(.invalidArgument, "\(seconds)") {
                try await home.first.save(entry.id, content, over: version, modified: date)
            }
        }
        try await home.first.save(entry.id, content, over: version, modified: .distantPast)
    }

    /// What somebody reads by its path stays until it is closed.
    func testAFileInUseIsNotEvicted() async throws {
        let home = try TwoDocumentStores()
        let bytes = (0..<200_000).map { UInt8(truncatingIfNeeded: $0 &* 2_654_435_761 >> 7) }
        let entry = try await home.first.add(home.file(bytes), at: "a")
        try home.settle()
        try await home.second.fetch([entry.id])
        var open: OpenDocument? = try await home.second.open(entry.id)
        var evicted = try await home.second.evict([entry.id])
        XCTAssertEqual(evicted, 0)
        XCTAssertEqual(try Data(contentsOf: XCTUnwrap(open).file), Data(bytes))
        open = nil
        let store = home.second
        try await store.withFile(of: XCTUnwrap(entry.content)) { url in
            let evicted = try await store.evict([entry.id])
            XCTAssertEqual(evicted, 0)
            XCTAssertEqual(try Data(contentsOf: url).count, bytes.count)
        }
        evicted = try await home.second.evict([entry.id])
        XCTAssertEqual(evicted, bytes.count)
    }

    /// The device that added a document may let the bytes go, as every device may.
    func testAnEvictedDocumentStaysAwayOnTheDeviceThatAddedIt() async throws {
        let home = try TwoDocumentStores()
        let entry = try await home.first.add(home.file(noise(200_000, seed: 2)), at: "a")
        try home.settle()
        let evicted = try await home.first.evict([entry.id])
        XCTAssertEqual(evicted, 200_000)
        try home.settle()
        XCTAssertEqual(try home.first.document(entry.id)?.availability, .inContainer)
        try await home.first.fetch([entry.id])
        XCTAssertEqual(try home.first.document(entry.id)?.availability, .here)
    }

    /// A program that writes an ID as something else is told of: nothing travels for such a value.
    func testAValueThatIsNoIDIsTold() async throws {
        let home = try TwoDocumentStores(count: 1)
        try home.first.declareAttachments("photo", "image")
        let content = try await home.first.store(contentsOf: home.file("picture"))
        let text = "[" + content.id.bytes.map(String.init).joined(separator: ",") + "]"
        try await home.pools[0].write { database in
            try content.insert(in: database)
            try database.execute(
                sql: "INSERT INTO photo(image) VALUES (?), (?), (NULL)", arguments: [Data(content.id.bytes), text])
        }
        let status = try await home.first.engine.status()
        XCTAssertEqual(status.documents?.strangeValues, 1)
        XCTAssertTrue(status.concerns.contains { $0.kind == .needsApp && $0.message.contains("photo.image") })
        let report = try home.first.engine.replica.examine()
        XCTAssertTrue(report.findings.contains { $0.problem.contains("photo.image") }, "\(report.findings)")
        try await home.pools[0].write { try $0.execute(sql: "DELETE FROM photo WHERE image <> ?", arguments: [text]) }
        await assertFails(.documentsPresent, "leave") { try home.first.engine.replica.leave() }
        try await home.pools[0].write { try $0.execute(sql: "DELETE FROM photo WHERE image = ?", arguments: [text]) }
        let after = try await home.first.engine.status()
        XCTAssertNil(after.documents?.strangeValues)
    }

    // MARK: Changes

    func testWhoFollowsHearsOfOwnChanges() async throws {
        let home = try TwoDocumentStores(count: 1)
        var events = Events(home.first.changes)
        let entry = try await home.first.add(home.file("1"), at: "F/a.md")
        var heard = await events.next(2)
        XCTAssertEqual(heard, ["added F by itself", "added F/a.md by itself"])
        let content = try await home.first.store(contentsOf: home.file("2"))
        try await home.first.save(entry.id, content, over: XCTUnwrap(entry.version))
        heard = await events.next(1)
        XCTAssertEqual(heard, ["saved F/a.md by itself"])
        try await home.first.move(entry.id, to: "b.md")
        heard = await events.next(1)
        XCTAssertEqual(heard, ["moved b.md by itself"])
        try await home.first.remove(entry.id)
        heard = await events.next(1)
        XCTAssertEqual(heard, ["removed b.md by itself"])
        try await home.first.putBack(entry.id)
        heard = await events.next(1)
        XCTAssertEqual(heard, ["added b.md by itself"])
    }

    func testWhoFollowsHearsOfOthersChanges() async throws {
        let home = try TwoDocumentStores()
        let entry = try await home.first.add(home.file("1"), at: "a.md")
        try home.settle()
        var events = Events(home.second.changes)
        let content = try await home.first.store(contentsOf: home.file("2"))
        try await home.first.save(entry.id, content, over: XCTUnwrap(entry.version))
        try home.settle()
        var heard = await events.next(1)
        XCTAssertEqual(heard, ["saved a.md"])
        try await home.first.move(entry.id, to: "F/b.md")
        try home.settle()
        heard = await events.next(2)
        XCTAssertEqual(heard, ["added F", "moved F/b.md"])
        try await home.first.remove(entry.id)
        try home.settle()
        heard = await events.next(1)
        XCTAssertEqual(heard, ["removed F/b.md"])
    }

    func testAConflictIsToldAndItsEndToo() async throws {
        let home = try TwoDocumentStores()
        let entry = try await home.first.add(home.file("1"), at: "a.md")
        try home.settle()
        var events = Events(home.first.changes)
        let version = try XCTUnwrap(entry.version)
        try await home.second.save(entry.id, home.second.store(contentsOf: home.file("by the other")), over: version)
        try await home.first.save(entry.id, home.first.store(contentsOf: home.file("here")), over: version)
        var heard = await events.next(1)
        XCTAssertEqual(heard, ["saved a.md by itself"])
        try home.settle()
        heard = await events.next(1)
        // Whether another version is shown depends on the clock's last millisecond.
        if heard == ["saved a.md"] { heard = await events.next(1) }
        XCTAssertEqual(heard, ["conflict a.md"])
        XCTAssertEqual(try home.first.conflicts().map(\.path), ["a.md"])
        let kept = try XCTUnwrap(home.first.document(entry.id)?.version)
        try await home.first.settle(entry.id, .keep(kept))
        heard = await events.next(2)
        XCTAssertEqual(heard, ["saved a.md by itself", "conflict a.md by itself"])
        try home.settle()
        XCTAssertEqual(try home.second.conflicts(), [])
        XCTAssertEqual(try home.first.document(entry.id)?.content, try home.second.document(entry.id)?.content)
    }

    func testBytesThatComeAndGoAreTold() async throws {
        let home = try TwoDocumentStores()
        var settings = try home.second.settings
        settings.fetchBytes = 0
        try home.second.set(settings)
        let entry = try await home.first.add(home.file(noise(20_000, seed: 1)), at: "a")
        try home.settle()
        XCTAssertEqual(try home.second.document(entry.id)?.availability, .inContainer)
        var events = Events(home.second.changes)
        try await home.second.fetch([entry.id])
        var heard = await events.next(1)
        XCTAssertEqual(heard, ["availability a by itself"])
        XCTAssertEqual(try home.second.document(entry.id)?.availability, .here)
        let evicted = try await home.second.evict([entry.id])
        XCTAssertEqual(evicted, 20_000)
        heard = await events.next(1)
        XCTAssertEqual(heard, ["availability a by itself"])
        XCTAssertEqual(try home.second.document(entry.id)?.availability, .inContainer)
    }

    func testWhatHappenedBeforeSomebodyFollowsIsNoNews() async throws {
        let home = try TwoDocumentStores(count: 1)
        _ = try await home.first.add(home.file("1"), at: "a")
        var events = Events(home.first.changes)
        _ = try await home.first.add(home.file("2"), at: "b")
        let heard = await events.next(1)
        XCTAssertEqual(heard, ["added b by itself"])
    }

    func testTwoFollowersHearTheSame() async throws {
        let home = try TwoDocumentStores(count: 1)
        var (left, right) = (Events(home.first.changes), Events(home.first.changes))
        _ = try await home.first.add(home.file("1"), at: "a")
        let (first, second) = (await left.next(1), await right.next(1))
        XCTAssertEqual(first, ["added a by itself"])
        XCTAssertEqual(second, first)
    }

    func testWhoReplacesADocumentByCommandIsHeard() async throws {
        let home = try TwoDocumentStores(count: 1)
        _ = try await home.first.add(home.file("1"), at: "a")
        var events = Events(home.first.changes)
        let other = DocumentAccess(home.first.engine.replica)
        try other.move(home.first.document(at: "a").id, to: DocumentPath("b"))
        try home.first.broadcast.check()
        let heard = await events.next(1)
        XCTAssertEqual(heard, ["moved b"])
    }

    // MARK: Open documents

    func testSavingOverTheOpenedVersionMakesRivals() async throws {
        let home = try TwoDocumentStores()
        let entry = try await home.first.add(home.file("base"), at: "a.md")
        try home.settle()
        let (left, right) = (try await home.first.open(entry.id), try await home.second.open(entry.id))
        XCTAssertEqual(try Data(contentsOf: left.file), Data("base".utf8))
        try await right.save(home.file("right"))
        try home.settle()
        // The other device's version has arrived; the editor still has the base.
        XCTAssertEqual(try Data(contentsOf: left.file), Data("base".utf8))
        XCTAssertEqual(try home.first.document(entry.id)?.rivals, [])
        try await left.save(home.file("left"))
        XCTAssertEqual(try home.first.document(entry.id)?.rivals.count, 1)
        guard case .inConflict = try left.state else { return XCTFail("\(try left.state)") }
        try home.settle()
        guard case .inConflict = try right.state else { return XCTFail("\(try right.state)") }
        var texts: Set<String> = []
        for version in try home.second.versions(of: entry.id) where version.isCurrent || version.isRival {
            let data = try await home.second.data(of: XCTUnwrap(version.content))
            texts.insert(String(decoding: data, as: UTF8.self))
        }
        XCTAssertEqual(texts, ["left", "right"])
        try await home.second.settle(entry.id, .with(home.second.store(contentsOf: home.file("merged"))))
        try home.settle()
        guard case .normal = try left.state else { return XCTFail("\(try left.state)") }
        try await left.reload()
        XCTAssertEqual(try Data(contentsOf: left.file), Data("merged".utf8))
    }

    func testSavingTwiceIsNoConflict() async throws {
        let home = try TwoDocumentStores()
        let entry = try await home.first.add(home.file("0"), at: "a.md")
        let document = try await home.first.open(entry.id)
        for text in ["1", "2", "2", "3"] {
            try await document.save(home.file(text))
            XCTAssertEqual(try Data(contentsOf: document.file), Data(text.utf8))
        }
        try home.settle()
        for store in home.stores {
            XCTAssertEqual(try store.document(entry.id)?.rivals, [])
            let data = try await store.data(of: XCTUnwrap(store.document(entry.id)?.content))
            XCTAssertEqual(data, Data("3".utf8))
        }
        XCTAssertEqual(try home.first.versions(of: entry.id).count, 4)
    }

    func testAnOpenDocumentThatIsRemovedSaysSoAndCanStillBeSaved() async throws {
        let home = try TwoDocumentStores()
        let entry = try await home.first.add(home.file("0"), at: "a.md")
        try home.settle()
        let document = try await home.second.open(entry.id)
        try await home.first.remove(entry.id)
        try home.settle()
        guard case .removed = try document.state else { return XCTFail("\(try document.state)") }
        try await document.save(home.file("edited all the same"))
        guard case .normal = try document.state else { return XCTFail("\(try document.state)") }
        try home.settle()
        XCTAssertEqual(try home.first.list().map(\.path), ["a.md"])
    }

    func testAFileThatIsNotThereIsASavingError() async throws {
        let home = try TwoDocumentStores(count: 1)
        let entry = try await home.first.add(home.file("0"), at: "a.md")
        let document = try await home.first.open(entry.id)
        do {
            try await document.save(home.folder.appendingPathComponent("none"))
            XCTFail("saved nothing")
        } catch let error as FerryError {
            XCTAssertEqual(error.code, .nothingFound)
        }
        guard case .savingError(let error) = try document.state else { return XCTFail("\(try document.state)") }
        XCTAssertEqual(error.code, .nothingFound)
        try await document.save(home.file("1"))
        guard case .normal = try document.state else { return XCTFail("\(try document.state)") }
    }

    func testAnOpenedFileCannotBeWrittenTo() async throws {
        let home = try TwoDocumentStores(count: 1)
        let entry = try await home.first.add(home.file("0"), at: "a.md")
        let document = try await home.first.open(entry.id)
        let attributes = try FileManager.default.attributesOfItem(atPath: document.file.path)
        XCTAssertEqual((attributes[.posixPermissions] as? Int).map { $0 & 0o222 }, 0)
    }

    func testRangesOfAContentAreRead() async throws {
        let home = try TwoDocumentStores(count: 1)
        let bytes = noise(10_000, seed: 1)
        let entry = try await home.first.add(home.file(bytes), at: "a")
        let content = try XCTUnwrap(entry.content)
        for range in [0..<10, 5000..<5100, 9990..<10_000, 9990..<20_000, 20_000..<20_010, 7..<7] {
            let data = try await home.first.data(of: content, in: range)
            XCTAssertEqual(data, Data(bytes[range.clamped(to: 0..<10_000)]), "\(range)")
        }
    }

    func testAFileThatIsMovedInGoes() async throws {
        let home = try TwoDocumentStores(count: 1)
        let file = try home.file("0")
        _ = try await home.first.add(file, at: "a", moving: true)
        XCTAssertFalse(FileManager.default.fileExists(atPath: file.path))
        let taken = try home.file("other")
        do {
            _ = try await home.first.add(taken, at: "a", moving: true)
            XCTFail("replaced a document")
        } catch let error as FerryError {
            XCTAssertEqual(error.code, .nameTaken)
        }
        XCTAssertTrue(FileManager.default.fileExists(atPath: taken.path), "a refused file stays")
    }

    // MARK: Cancellation

    func testACancelledStoreEndsAndLeavesNoPack() async throws {
        let home = try TwoDocumentStores(count: 1)
        let file = try home.file(noise(3 << 20, seed: 1))
        let store = home.first
        let gate = AsyncStream.makeStream(of: Void.self)
        let task = Task {
            for await _ in gate.stream { break }
            return try await store.store(contentsOf: file)
        }
        task.cancel()
        gate.continuation.finish()
        switch await task.result {
        case .success: XCTFail("a cancelled task stored a content")
        case .failure(let error): XCTAssertTrue(error is CancellationError, "\(error)")
        }
        XCTAssertEqual(try home.pending(0), [])
        XCTAssertEqual(try home.first.list(), [])
    }

    func testAStoreThatIsCancelledOnItsWayEndsAndLeavesNoPack() async throws {
        let home = try TwoDocumentStores(count: 1)
        // Longer than what shares a pack: the content has packs of its own, and some of them are finished.
        let file = try home.file(noise(9 << 20, seed: 1))
        let store = home.first
        let task = Locked<Task<StoredContent, any Error>?>(nil)
        let gate = AsyncStream.makeStream(of: Void.self)
        let made = Task {
            for await _ in gate.stream { break }
            return try await store.store(contentsOf: file) { _ in task.withLock { $0?.cancel() } }
        }
        task.withLock { $0 = made }
        gate.continuation.finish()
        switch await made.result {
        case .success: XCTFail("a cancelled task stored a content")
        case .failure(let error): XCTAssertTrue(error is CancellationError, "\(error)")
        }
        XCTAssertEqual(try home.pending(0), [])
    }

    // MARK: Transactions of the app's

    func testAContentAndItsRowAreOneTransaction() async throws {
        let home = try TwoDocumentStores()
        try home.first.declareAttachments("photo", "image")
        let bytes = noise(20_000, seed: 1)
        let content = try await home.first.store(contentsOf: home.file(bytes))
        try await home.pools[0].write { db in
            try content.insert(in: db)
            try db.execute(sql: "INSERT INTO photo(title, image) VALUES ('a', ?)", arguments: [Data(content.id.bytes)])
        }
        try home.settle()
        let found = try await home.pools[1].read { try Data.fetchOne($0, sql: "SELECT image FROM photo") }
        let id = try XCTUnwrap(found.flatMap { ContentID(bytes: Array($0)[...]) })
        let data = try await home.second.data(of: id)
        XCTAssertEqual(data, Data(bytes))
        XCTAssertEqual(try home.second.attachments(), ["photo.image"])
    }

    func testATransactionThatIsRolledBackLeavesNothing() async throws {
        struct Refusal: Error {}
        let home = try TwoDocumentStores()
        let content = try await home.first.store(contentsOf: home.file(noise(20_000, seed: 1)))
        do {
            try await home.pools[0].write { db in
                try content.insert(in: db)
                try db.execute(sql: "INSERT INTO photo(title, image) VALUES ('a', x'00')")
                throw Refusal()
            }
            XCTFail("committed")
        } catch is Refusal {}
        try home.settle()
        for pool in home.pools {
            let counts = try await pool.read { db in
                try ["photo", "ferry_content", "ferry_pack"].map {
                    try Int.fetchOne(db, sql: "SELECT count(*) FROM \($0)") ?? -1
                }
            }
            XCTAssertEqual(counts, [0, 0, 0])
        }
        // The bytes are still here, and the rows can be written after all.
        try await home.pools[0].write { try content.insert(in: $0) }
        try home.settle()
        let data = try await home.second.data(of: content.id)
        XCTAssertEqual(data.count, 20_000)
    }

    func testInsertingTwiceHasNoEffect() async throws {
        let home = try TwoDocumentStores(count: 1)
        let content = try await home.first.store(contentsOf: home.file(noise(20_000, seed: 1)))
        try await home.pools[0].write { db in
            try content.insert(in: db)
            try content.insert(in: db)
        }
        let count = try await home.pools[0].read { try Int.fetchOne($0, sql: "SELECT count(*) FROM ferry_content") }
        XCTAssertEqual(count, 1)
    }

    func testAColumnThatDoesNotTravelIsNotDeclared() throws {
        let home = try TwoDocumentStores(count: 1)
        for (table, column) in [
            ("photo", "none"), ("none", "image"), ("ferry_content", "id"), ("", ""), ("photo.image", ""),
        ] {
            XCTAssertEqual(
                failure { try home.first.declareAttachments(table, column) }?.code, .invalidArgument, table + column)
        }
        XCTAssertEqual(try home.first.attachments(), [])
    }

    func testAColumnIsDeclaredByTheNameThatAllDevicesKnow() async throws {
        let home = try TwoDocumentStores()
        try await home.pools[0].write { try $0.execute(sql: "ALTER TABLE photo RENAME COLUMN image TO picture") }
        try home.settle()
        try home.first.declareAttachments("photo", "picture")
        let content = try await home.first.store(contentsOf: home.file(noise(20_000, seed: 1)))
        try await home.pools[0].write { db in
            try content.insert(in: db)
            try db.execute(
                sql: "INSERT INTO photo(title, picture) VALUES ('a', ?)", arguments: [Data(content.id.bytes)])
        }
        try home.settle()
        let whole = try home.second.engine.replica.shelf.wholeContents()
        XCTAssertEqual(whole.map(\.id), [content.id], "the other device has not renamed the column")
        try home.first.access.withdrawAttachments("photo", "picture")
        XCTAssertEqual(try home.first.attachments(), [])
    }

    func testUnknownContentsAndDocumentsAreNamed() async throws {
        let home = try TwoDocumentStores(count: 1)
        let (content, document) = (ContentID(high: 1, low: 2), DocumentID(high: 1, low: 2))
        XCTAssertNil(try home.first.document(document))
        XCTAssertEqual(failure { _ = try home.first.document(at: "none") }?.code, .nothingFound)
        XCTAssertEqual(failure { _ = try home.first.list("none") }?.code, .nothingFound)
        let calls: [(FerryError.Code, () async throws -> Void)] = [
            (.contentNotHere, { _ = try await home.first.data(of: content) }),
            (.nothingFound, { _ = try await home.first.open(document) }),
            (.nothingFound, { try await home.first.putBack(document) }),
            (.nothingFound, { try await home.first.settle(document, .keepBoth) }),
        ]
        for (code, body) in calls {
            do {
                try await body()
                XCTFail("found something")
            } catch let error as FerryError {
                XCTAssertEqual(error.code, code)
            }
        }
    }
}
