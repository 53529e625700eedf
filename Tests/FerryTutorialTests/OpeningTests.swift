import Ferry
import FerryTestSupport
import Foundation
import GRDB
import Synchronization
import XCTest

/// An app opens its database and its container in one call, whatever is there.
final class OpeningTests: XCTestCase {
    private var scratch: ScratchFolder?
    private var folder: ScratchFolder {
        get throws { try XCTUnwrap(scratch) }
    }
    private var shared: String {
        get throws { try folder.path("shared") }
    }

    override func setUpWithError() throws { scratch = try ScratchFolder() }
    override func tearDownWithError() throws { scratch = nil }

    private func store(_ name: String) throws -> Store {
        let pool = try DatabasePool(path: folder.path(name + ".sqlite"))
        try pool.write {
            try $0.execute(sql: "CREATE TABLE IF NOT EXISTS item(id INTEGER PRIMARY KEY, name TEXT NOT NULL)")
            try $0.execute(sql: "INSERT INTO item(name) VALUES (?)", arguments: ["by the " + name])
        }
        return Store(pool, keyDirectory: try folder.path("keys of " + name))
    }

    private func code(_ body: () async throws -> Void) async -> FerryError.Code? {
        do {
            try await body()
            return nil
        } catch {
            return (error as? FerryError)?.code
        }
    }

    private func open(_ store: Store, _ choice: ContainerChoice = .existing) async throws -> OpeningResult {
        try await Replica.open(store, containerPath: shared, as: choice, device: NewDevice(name: "a device")).result
    }

    private func makeFirst(_ name: String = "laptop") async throws -> Replica {
        try await Replica.open(
            store(name), containerPath: shared, as: .first(recovery: nil), device: NewDevice(name: name)
        ).replica
    }

    private func makeFolder(_ path: String = "") throws {
        try FileManager.default.createDirectory(
            atPath: shared + "/" + path, withIntermediateDirectories: true)
    }

    private func write(_ path: String, _ text: String = "") throws {
        try Data(text.utf8).write(to: URL(fileURLWithPath: shared + "/" + path))
    }

    private func entries() throws -> [String] { try FileManager.default.contentsOfDirectory(atPath: shared).sorted() }

    /// GRDB's migrator compares the whole schema, so it empties a database with Ferry's tables at each start.
    func testADatabaseThatAMigratorEmptiedIsNotJoinedSilently() async throws {
        var migrator = DatabaseMigrator()
        migrator.eraseDatabaseOnSchemaChange = true
        migrator.registerMigration("v1") { try $0.execute(sql: "CREATE TABLE item(id INTEGER PRIMARY KEY, name TEXT)") }
        let path = try folder.path("laptop.sqlite")
        func start() async throws -> OpeningResult {
            let pool = try DatabasePool(path: path)
            defer { try? pool.close() }  // the test is over then
            try migrator.migrate(pool)
            let store = Store(pool, keyDirectory: try folder.path("keys"))
            return try await open(store, .firstUnsealed)
        }
        guard case .created = try await start() else { return XCTFail("no container was made") }
        do {
            _ = try await start()
            XCTFail("An emptied database was joined.")
        } catch let error as FerryError {
            XCTAssertEqual(error.code, .storeIncomplete)
            XCTAssertTrue(error.message.contains("eraseDatabaseOnSchemaChange"), error.message)
        }
        // A person agrees to a new device.
        try FileManager.default.removeItem(atPath: path + "-ferry-lock")
        guard case .joined = try await start() else { return XCTFail("the container was not joined") }
        // A new file in the place of the former is a new device without a question.
        for suffix in ["", "-wal", "-shm"] { try? FileManager.default.removeItem(atPath: path + suffix) }
        migrator.eraseDatabaseOnSchemaChange = false
        guard case .joined = try await start() else { return XCTFail("a new file was refused") }
        guard case .opened = try await start() else { return XCTFail("the database was not opened") }
    }

    func testTheFirstDeviceMakesAContainerOnce() async throws {
        let codes = Mutex<[String]>([])
        let laptop = try store("laptop")
        let choice = ContainerChoice.first { code in codes.withLock { $0.append(code.words) } }
        guard case .created(let report) = try await open(laptop, choice) else { return XCTFail("not made") }
        XCTAssertEqual(report.device.name, "a device")
        // Each further start opens it, whatever the app says.
        for again in [choice, .existing, .firstUnsealed] {
            guard case .opened = try await open(laptop, again) else { return XCTFail("not opened") }
        }
        XCTAssertEqual(codes.withLock { $0.count }, 1)
        XCTAssertEqual(try Replica(laptop).status().container.sealed, true)
    }

    func testNothingIsMadeUnlessAPersonSaysSo() async throws {
        let phone = try store("phone")
        let elsewhere = try folder.path("elsewhere")
        let (other, _) = try await Replica.open(
            store("other"), containerPath: elsewhere, as: .first(recovery: nil))
        let words = try other.members.invite().code
        for choice in [ContainerChoice.existing, .further(by: .code(words)), .further(by: .words)] {
            let missing = await code { _ = try await open(phone, choice) }
            XCTAssertEqual(missing, .containerMissing)
        }
        XCTAssertFalse(FileManager.default.fileExists(atPath: try shared))
        try makeFolder()
        for choice in [ContainerChoice.existing, .further(by: .code(words)), .further(by: .words)] {
            let empty = await code { _ = try await open(phone, choice) }
            XCTAssertEqual(empty, .containerEmpty)
        }
        XCTAssertEqual(try entries(), [])
        XCTAssertNil(try phone.identity())
    }

    func testNoSecondContainerIsMadeWhereOneIsOnItsWay() async throws {
        let phone = try store("phone")
        let signs = [
            ".container.json.icloud", ".syncthing.container.json.tmp", "container.json.1a2b3c4d.partial",
            "carrying.json",
            "container.sync-conflict-20261126-090000-ABCDEFG.json",
        ]
        for sign in signs {
            try makeFolder()
            try write(sign)
            for choice in [ContainerChoice.existing, .first(recovery: nil), .firstUnsealed, .further(by: .words)] {
                let arriving = await code { _ = try await open(phone, choice) }
                XCTAssertEqual(arriving, .fileNotThereYet, "\(sign), \(choice)")
            }
            XCTAssertThrowsError(try Replica.create(phone, containerPath: shared, sealing: .open)) {
                XCTAssertEqual(($0 as? FerryError)?.code, .containerExists, sign)
            }
            XCTAssertEqual(try entries(), [sign])
            try FileManager.default.removeItem(atPath: shared)
        }
        try makeFolder("devices")
        let arriving = await code { _ = try await open(phone, .first(recovery: nil)) }
        XCTAssertEqual(arriving, .fileNotThereYet)
        XCTAssertNil(try phone.identity())
    }

    func testAMarkerWithoutDevicesIsNoContainerToMakeAnew() async throws {
        let laptop = try await makeFirst()
        let marker = try String(contentsOfFile: shared + "/container.json", encoding: .utf8)
        let elsewhere = try folder.path("elsewhere")
        try FileManager.default.moveItem(atPath: shared, toPath: elsewhere)
        try makeFolder()
        try write("container.json", marker)
        let phone = try store("phone")
        for choice in [ContainerChoice.first(recovery: nil), .firstUnsealed] {
            let arriving = await code { _ = try await open(phone, choice) }
            XCTAssertEqual(arriving, .fileNotThereYet)
        }
        XCTAssertEqual(try String(contentsOfFile: shared + "/container.json", encoding: .utf8), marker)
        // Once its files are there it is the container that it was.
        try FileManager.default.removeItem(atPath: shared)
        try FileManager.default.moveItem(atPath: elsewhere, toPath: shared)
        _ = try laptop.sync()
        let sealed = await code { _ = try await open(phone, .first(recovery: nil)) }
        XCTAssertEqual(sealed, .keyMissing)
    }

    func testAnOpenContainerIsJoined() async throws {
        guard case .created = try await open(store("laptop"), .firstUnsealed) else { return XCTFail("not made") }
        for (name, choice) in [("phone", ContainerChoice.existing), ("tablet", .firstUnsealed)] {
            let device = try store(name)
            guard case .joined(let report) = try await open(device, choice) else { return XCTFail("not joined") }
            XCTAssertEqual(report.path, try shared)
            guard case .opened = try await open(device) else { return XCTFail("not opened") }
        }
        // Whoever asked for a sealed container never gets into an open one in silence.
        let desk = try store("desk")
        let open = await code { _ = try await self.open(desk, .first(recovery: nil)) }
        XCTAssertEqual(open, .notSealed)
        let words = await code { _ = try await self.open(desk, .further(by: .words)) }
        XCTAssertEqual(words, .invalidArgument)
        XCTAssertNil(try desk.identity())
    }

    func testASealedContainerIsJoinedByACode() async throws {
        let laptop = try await makeFirst()
        let phone = try store("phone")
        for choice in [ContainerChoice.existing, .first(recovery: nil), .firstUnsealed] {
            let sealed = await code { _ = try await open(phone, choice) }
            XCTAssertEqual(sealed, .keyMissing)
        }
        let invitation = try laptop.members.invite().code
        let engine = SyncEngine(laptop)
        engine.start()
        let joined = try await open(phone, .further(by: .code(invitation)))
        guard case .joined = joined else { return XCTFail("\(joined)") }
        // The app may give the code at each start: it is in.
        let again = try await open(phone, .further(by: .code(invitation)))
        guard case .opened = again else { return XCTFail("\(again)") }
        await engine.stop()
        _ = try laptop.sync()
        _ = try Replica(phone).sync()
        XCTAssertEqual(try Replica(phone).status().devices.map(\.standing), [.inStep])
    }

    func testAWaitIsShownAndGoesOnAtTheNextStart() async throws {
        let laptop = try await makeFirst()
        let phone = try store("phone")
        let (shown, continuation) = AsyncStream.makeStream(of: String?.self)
        let path = try shared
        func start(_ choice: ContainerChoice) -> Task<OpeningResult, any Error> {
            Task {
                try await Replica.open(
                    phone, containerPath: path, as: choice,
                    onEvent: { event in
                        if case .waiting(let words) = event { continuation.yield(words) }
                    }
                ).result
            }
        }
        var iterator = shown.makeAsyncIterator()
        let first = start(.further(by: .words))
        let shownWords = await iterator.next()
        let words = try XCTUnwrap(XCTUnwrap(shownWords))
        first.cancel()
        let result = await first.result
        XCTAssertThrowsError(try result.get()) { XCTAssertTrue($0 is CancellationError, "\($0)") }
        XCTAssertNil(try phone.identity())
        // The next start says nothing of words.
        let second = start(.existing)
        let same = await iterator.next()
        XCTAssertEqual(same, .some(.some(words)))
        try laptop.members.approve(words: words)
        guard case .joined = try await second.value else { return XCTFail("not joined") }
    }

    func testARemovedDeviceIsLetInAgain() async throws {
        let laptop = try await makeFirst()
        let phone = try store("phone")
        func enter() async throws -> OpeningResult {
            let code = try laptop.members.invite().code
            let engine = SyncEngine(laptop)
            engine.start()
            let result = try await open(phone, .further(by: .code(code)))
            await engine.stop()
            return result
        }
        guard case .joined = try await enter() else { return XCTFail("not joined") }
        _ = try laptop.sync()
        let former = try XCTUnwrap(phone.identity()?.device)
        try laptop.members.remove("a device")
        // Without a code it is opened: its rows are there, and syncs say that the device is out.
        guard case .opened = try await open(phone) else { return XCTFail("not opened") }
        XCTAssertThrowsError(try Replica(phone).sync()) { XCTAssertEqual(($0 as? FerryError)?.code, .notMember) }
        guard case .enrolled(let renewal) = try await enter() else { return XCTFail("not let in") }
        XCTAssertEqual(renewal.formerDevice, former.description)
    }

    func testADatabaseIsOpenedWhileItsFolderIsAwayAndFollowsItsFolder() async throws {
        let laptop = try await makeFirst()
        let elsewhere = try folder.path("elsewhere")
        try FileManager.default.moveItem(atPath: shared, toPath: elsewhere)
        guard case .opened = try await open(laptop.store) else { return XCTFail("not opened") }
        // A folder that is not there yet changes nothing.
        let (away, _) = try await Replica.open(laptop.store, containerPath: folder.path("nowhere"))
        XCTAssertEqual(away.identity.containerPath, try shared)
        let (moved, _) = try await Replica.open(laptop.store, containerPath: elsewhere)
        XCTAssertEqual(moved.identity.containerPath, elsewhere)
        _ = try moved.sync()
        // Another container is refused.
        _ = try await open(store("phone"), .first(recovery: nil))
        let other = await code { _ = try await open(laptop.store) }
        XCTAssertEqual(other, .containerMismatch)
        XCTAssertEqual(try laptop.store.identity()?.containerPath, elsewhere)
    }

    func testAFoundationWhoseCodeIsLostBeginsFromNothing() async throws {
        struct NoPaper: Error {}
        let laptop = try store("laptop")
        do {
            _ = try await open(laptop, .first { _ in throw NoPaper() })
            XCTFail("the code was lost")
        } catch { XCTAssertTrue(error is NoPaper, "\(error)") }
        XCTAssertNil(try laptop.identity())
        XCTAssertEqual(try entries(), [])
        guard case .created = try await open(laptop, .first(recovery: nil)) else { return XCTFail("not made") }
    }
}
