import FerryContainer
import FerryCore
import FerryStore
import FerryTestSupport
import XCTest

@testable import FerryEngine

/// What a device fetches by itself, what it keeps, and what it lets go.
final class ContentRoomTests: XCTestCase {
    /// Two devices; the first one has photos of 10, 20 and 40 kB.
    private func three(_ change: (inout ContentSettings) -> Void) throws -> MemoryHome {
        let home = try MemoryHome.withPhotos()
        var settings = ContentSettings()
        change(&settings)
        try home.replicas[1].store.setContentSettings(settings)
        for (index, size) in [10_000, 20_000, 40_000].enumerated() {
            try home.photos(0).attach("\(size)", noise(size, seed: UInt64(index)))
            try home.settle()
            home.clock.advance(hours: 1)
        }
        return home
    }

    private func here(_ home: MemoryHome, _ index: Int = 1) throws -> [String] {
        try ["10000", "20000", "40000"].filter { try home.photos(index).isHere($0) }
    }

    // MARK: Fetching

    func testEverythingIsFetched() throws {
        let home = try three { $0.fetchBytes = nil }
        XCTAssertEqual(try here(home), ["10000", "20000", "40000"])
    }

    func testWhatIsLongerIsLeft() throws {
        let home = try three { $0.fetchBytes = 20_000 }
        XCTAssertEqual(try here(home), ["10000", "20000"])
        XCTAssertNil(try home.replicas[1].sync().documents, "what nobody asked for waits for nothing")
        XCTAssertEqual(try home.photos(1).bytes("40000"), noise(40_000, seed: 2))
        XCTAssertEqual(try here(home), ["10000", "20000", "40000"])
    }

    func testOnRequestNothingIsFetchedByItself() throws {
        let home = try three { $0.fetchBytes = 0 }
        XCTAssertEqual(try here(home), [])
        let content = try home.photos(1).image("20000")
        let fetched = try home.replicas[1].fetchContents([content])
        XCTAssertEqual(fetched.map(\.content), [content])
        XCTAssertNil(fetched[0].problem)
        XCTAssertEqual(try here(home), ["20000"])
        try home.settle()
        XCTAssertEqual(try here(home), ["20000"])
    }

    func testWhatIsPinnedIsFetchedAndStays() throws {
        let home = try three { $0.fetchBytes = 0 }
        let content = try home.photos(1).image("40000")
        try home.replicas[1].pinContents([content], true)
        try home.settle()
        XCTAssertEqual(try here(home), ["40000"])
        let refused = try home.replicas[1].evictContents([content])
        XCTAssertEqual(refused.evicted, [])
        XCTAssertEqual(refused.left.map(\.reason.code), [.invalidArgument])
        XCTAssertEqual(try here(home), ["40000"])
        try home.replicas[1].pinContents([content], false)
        XCTAssertEqual(try home.replicas[1].evictContents([content]).evicted, [content])
        XCTAssertEqual(try here(home), [])
    }

    func testAWatchsPassFetchesAPartAndTheNextOneTheRest() throws {
        let home = try MemoryHome.withPhotos()
        var settings = ContentSettings()
        let size = 1 << 20
        settings.fetchBytes = 0
        try home.replicas[1].store.setContentSettings(settings)
        for index in 0..<3 { try home.photos(0).attach("\(index)", noise(size, seed: UInt64(index))) }
        try home.settle()
        settings.fetchBytes = nil
        try home.replicas[1].store.setContentSettings(settings)
        home.replicas[1].fetching.withLock { $0 = ContentFetching() }
        func fetch(_ home: MemoryHome, _ report: inout SyncReport) throws {
            let replica = home.replicas[1]
            try replica.fetchWanted(
                home.container, replica.store.versionVector(), &report, isThorough: false, maximumBytes: size + 1)
        }
        var report = SyncReport()
        try fetch(home, &report)
        XCTAssertEqual(report.documents?.fetched, 2)
        XCTAssertEqual(report.documents?.remaining, 1)
        report = SyncReport()
        try fetch(home, &report)
        XCTAssertEqual(report.documents?.fetched, 1)
        XCTAssertEqual(report.documents?.remaining, 0)
        report = SyncReport()
        try fetch(home, &report)
        XCTAssertNil(report.documents, "a resting device asks nothing")
    }

    // MARK: Evicting

    func testWhatTheContainerLacksIsNotEvicted() throws {
        let home = try MemoryHome.withPhotos()
        let photos = home.photos(0)
        let content = try photos.attach("new", noise(10_000, seed: 1))
        XCTAssertEqual(try photos.bytes("new").count, 10_000)
        let refused = try home.replicas[0].evictContents([content])
        XCTAssertEqual(refused.evicted, [])
        XCTAssertEqual(refused.left.map(\.reason.code), [.contentNotHere])
        XCTAssertTrue(try photos.isHere("new"))
        try home.settle()
        XCTAssertEqual(try home.replicas[0].evictContents([content]).evicted, [content])
        XCTAssertFalse(try photos.isHere("new"))
        XCTAssertEqual(try photos.bytes("new"), noise(10_000, seed: 1))
        // The folder loses the pack: then this device has the only bytes.
        try home.files.removeFile(at: photos.packsPath + "/" + photos.packs()[0])
        XCTAssertEqual(try home.replicas[0].evictContents([content]).evicted, [])
        XCTAssertTrue(try photos.isHere("new"))
    }

    func testAnEvictedContentIsNotFetchedAgainByItselfWhereItIsLong() throws {
        let home = try three { $0.fetchBytes = 20_000 }
        let content = try home.photos(1).image("40000")
        _ = try home.replicas[1].fetchContents([content])
        _ = try home.replicas[1].evictContents([content])
        try home.settle()
        XCTAssertEqual(try here(home), ["10000", "20000"])
    }

    func testWhatAPersonEvictsComesBackOnRequestAlone() throws {
        let home = try three { $0.fetchBytes = nil }
        let content = try home.photos(1).image("10000")
        XCTAssertEqual(try home.replicas[1].evictContents([content]).evicted, [content])
        try home.settle()
        home.clock.advance(hours: 30)
        try home.settle()
        XCTAssertEqual(try here(home), ["20000", "40000"])
        XCTAssertEqual(try home.photos(1).bytes("10000"), noise(10_000, seed: 0))
        try home.settle()
        XCTAssertEqual(try here(home), ["10000", "20000", "40000"])
    }

    func testWhatWasFetchedOnRequestBeyondTheQuotaGoesLater() throws {
        let home = try three { settings in
            settings.fetchBytes = 0
            settings.keepBytes = 35_000
        }
        for title in ["40000", "20000", "10000"] {
            home.clock.advance(hours: 2)
            XCTAssertEqual(try home.photos(1).bytes(title).count, Int(title))
        }
        try home.settle()
        XCTAssertEqual(try here(home), ["10000", "20000"])
    }

    func testATornPackDoesNotCountAsThere() throws {
        let home = try MemoryHome.withPhotos()
        let photos = home.photos(0)
        let content = try photos.attach("new", noise(10_000, seed: 1))
        try home.settle()
        XCTAssertEqual(try photos.bytes("new").count, 10_000)
        let path = photos.packsPath + "/" + (try photos.packs()[0])
        try home.files.removeFile(at: path)
        try home.files.write([1, 2, 3], toNewFileAt: path)
        XCTAssertEqual(try home.replicas[0].evictContents([content]).evicted, [])
        XCTAssertTrue(try photos.isHere("new"))
    }

    // MARK: Storing

    func testAContentThatNobodyWritesRowsForGoesAfterADay() throws {
        let home = try MemoryHome.withPhotos()
        let photos = home.photos(0)
        let stored = try photos.store(noise(10_000, seed: 1))
        try home.settle()
        home.clock.advance(hours: 23)
        try home.settle()
        XCTAssertEqual(try photos.names(below: photos.shelf + "/pending").count, 1)
        home.clock.advance(hours: 2)
        try home.settle()
        XCTAssertEqual(try photos.names(below: photos.shelf + "/pending"), [])
        XCTAssertEqual(failure { try photos.insert("late", stored) }?.code, .contentNotHere)
        XCTAssertEqual(try photos.count("SELECT count(*) FROM photo"), 0)
        try photos.attach("again", noise(10_000, seed: 1))
        try home.settle()
        XCTAssertEqual(try home.photos(1).bytes("again"), noise(10_000, seed: 1))
    }

    func testAStoreThatEndsEarlyLeavesTheSameBytesOfAnotherOneAlone() throws {
        struct Refusal: Error {}
        let home = try MemoryHome.withPhotos()
        let photos = home.photos(0)
        let bytes = noise(9 << 20, seed: 1)
        let first = try photos.store(bytes)
        let path = try photos.source(bytes)
        XCTAssertThrowsError(
            try home.replicas[0].storeContents([path]) { if $0 == bytes.count { throw Refusal() } })
        try photos.insert("first", first)
        try home.settle()
        XCTAssertEqual(try home.photos(1).bytes("first"), bytes)
    }

    func testTheLeastLatelyUsedContentsGoFirst() throws {
        let home = try three { $0.fetchBytes = nil }
        XCTAssertEqual(try home.photos(1).bytes("10000").count, 10_000)  // used last
        home.clock.advance(hours: 3)
        try keep(35_000, home)
        try home.photos(0).attach("more", noise(5000, seed: 9))
        try home.settle()
        // 20 kB go, as they were used first, and then 40 kB; 10 kB stay. So there is room for 5 kB.
        XCTAssertEqual(try here(home), ["10000"])
        _ = try home.replicas[1].sync()
        XCTAssertTrue(try home.photos(1).isHere("more"))
        // All of it can still be read.
        XCTAssertEqual(try home.photos(1).bytes("20000"), noise(20_000, seed: 1))
        XCTAssertEqual(try home.photos(1).bytes("40000"), noise(40_000, seed: 2))
    }

    private func keep(_ bytes: Int, _ home: MemoryHome) throws {
        var settings = try home.replicas[1].store.contentSettings()
        settings.keepBytes = bytes
        try home.replicas[1].store.setContentSettings(settings)
    }

    func testThePinnedAndTheRecentStayAboveTheQuota() throws {
        let home = try three { $0.fetchBytes = nil }
        try home.replicas[1].pinContents([home.photos(1).image("40000")], true)
        home.clock.advance(hours: 3)
        try keep(1, home)
        XCTAssertEqual(try home.photos(1).bytes("20000").count, 20_000)  // a moment ago
        try home.photos(0).attach("more", noise(5000, seed: 9))
        try home.settle()
        XCTAssertEqual(try here(home), ["20000", "40000"])
        XCTAssertFalse(try home.photos(1).isHere("more"), "there is no room by itself")
        XCTAssertEqual(try home.photos(1).bytes("more"), noise(5000, seed: 9))
    }

    func testTheQuotaDoesNotFetchAndEvictForEver() throws {
        let home = try three { $0.fetchBytes = nil }
        home.clock.advance(hours: 3)
        try keep(35_000, home)
        try home.photos(0).attach("more", noise(5000, seed: 9))
        try home.settle()
        for _ in 0..<3 {
            home.clock.advance(hours: 3)
            let before = try here(home)
            let report = try home.replicas[1].sync()
            XCTAssertEqual(report.documents?.fetched ?? 0, 0, "fetched again what was just evicted")
            XCTAssertEqual(try here(home), before)
        }
    }

    // MARK: Attachments

    func testOnlyDeclaredColumnsAreFetched() throws {
        let home = try MemoryHome()
        for index in 0..<2 {
            try home.addDevice()
            try home.photos(index).prepare()
        }
        try home.photos(0).attach("new", noise(10_000, seed: 1))
        try home.settle()
        XCTAssertFalse(try home.photos(1).isHere("new"))
        try home.photos(1).declare()
        try home.settle()
        for index in 0..<2 { XCTAssertTrue(try home.photos(index).isHere("new"), "device \(index)") }
    }

    func testAWithdrawnColumnIsFetchedNoMore() throws {
        let home = try MemoryHome.withPhotos()
        try home.photos(0).attach("first", noise(10_000, seed: 1))
        try home.settle()
        try home.photos(1).write("DELETE FROM ferry_attachment")
        try home.settle()
        try home.photos(0).attach("second", noise(10_000, seed: 2))
        try home.settle()
        XCTAssertTrue(try home.photos(1).isHere("first"), "what is here stays")
        XCTAssertFalse(try home.photos(1).isHere("second"))
        XCTAssertEqual(try home.photos(1).bytes("second"), noise(10_000, seed: 2), "and can be asked for")
    }

    func testARenamedColumnAndTableStayDeclared() throws {
        let home = try MemoryHome.withPhotos()
        try home.photos(0).attach("first", noise(10_000, seed: 1))
        try home.settle()
        for index in 0..<2 { try home.photos(index).write("ALTER TABLE photo RENAME COLUMN image TO picture") }
        try home.settle()
        for index in 0..<2 {
            let stored = try home.photos(index).store(noise(10_000, seed: UInt64(5 + index)))
            try home.replicas[index].store.write { connection in
                try stored.insert(connection)
                try connection.execute(
                    "INSERT INTO photo(title, picture) VALUES (?, ?)", .text("\(index)"), .blob(stored.id.bytes[...]))
            }
        }
        try home.settle()
        for index in 0..<2 {
            let names = try home.photos(index).names(below: home.photos(index).shelf + "/whole")
            XCTAssertEqual(names.count, 3, "device \(index) has \(names)")
        }
        for index in 0..<2 { try home.photos(index).write("ALTER TABLE photo RENAME TO pictures") }
        try home.settle()
        let stored = try home.photos(0).store(noise(10_000, seed: 8))
        try home.replicas[0].store.write { connection in
            try stored.insert(connection)
            try connection.execute(
                "INSERT INTO pictures(title, picture) VALUES ('last', ?)", .blob(stored.id.bytes[...]))
        }
        try home.settle()
        let names = try home.photos(1).names(below: home.photos(1).shelf + "/whole")
        XCTAssertEqual(names.count, 4, "\(names)")
    }

    func testValuesThatAreNoIDsAreLeftAlone() throws {
        let home = try MemoryHome.withPhotos()
        for value in [
            "NULL", "7", "'sixteen letters!'", "x'00'", "x'00112233445566778899aabbccddeeff'", "zeroblob(16)",
        ] {
            try home.photos(0).write("INSERT INTO photo(title, image) VALUES ('odd', \(value))")
        }
        try home.photos(0).attach("new", noise(10_000, seed: 1))
        try home.settle()
        XCTAssertEqual(try home.photos(1).count("SELECT count(*) FROM photo WHERE title = 'odd'"), 6)
        XCTAssertTrue(try home.photos(1).isHere("new"))
        XCTAssertEqual(try home.replicas[1].status().documents?.waiting, 0)
    }

    // MARK: Leaving

    func testLeavingIsRefusedWhereAttachmentsWouldGo() throws {
        let home = try MemoryHome.withPhotos()
        try home.photos(0).attach("new", noise(10_000, seed: 1))
        try home.settle()
        XCTAssertEqual(failure { _ = try home.replicas[1].leave() }?.code, .documentsPresent)
        XCTAssertTrue(try home.photos(1).isHere("new"))
        XCTAssertEqual(try home.replicas[1].leave(discardingDocuments: true).documents, 1)
        XCTAssertEqual(try home.photos(1).names(below: home.photos(1).shelf), [])
        XCTAssertEqual(try home.photos(1).count("SELECT count(*) FROM photo WHERE length(image) = 16"), 1)
    }

    func testLeavingIsNotRefusedWhereNothingIsLeft() throws {
        let home = try MemoryHome.withPhotos()
        try home.photos(0).attach("new", noise(10_000, seed: 1))
        try home.settle()
        try home.photos(0).write("DELETE FROM photo")
        try home.settle()
        XCTAssertNil(try home.replicas[1].leave().documents)
    }
}
