import Ferry
import FerryTestSupport
import Foundation
import GRDB
import XCTest

/// The members of a sealed container by the calls that an app has. Each device keeps its keys in a directory of its own.
final class MembersTests: XCTestCase {
    /// A device: a database, and a directory for its keys.
    private struct Device {
        let name: String
        let pool: DatabasePool
        let store: Store

        init(_ name: String, in folder: ScratchFolder) throws {
            self.name = name
            pool = try DatabasePool(path: folder.path(name + ".sqlite"))
            try pool.write { try $0.execute(sql: "CREATE TABLE item(id INTEGER PRIMARY KEY, name TEXT NOT NULL)") }
            store = Store(pool, keyDirectory: folder.path("keys of " + name))
        }

        func replica() throws -> Replica { try Replica(store) }
        func add(_ item: String) throws {
            try pool.write { try $0.execute(sql: "INSERT INTO item(name) VALUES (?)", arguments: [item]) }
        }
        func items() throws -> [String] {
            try pool.read { try String.fetchAll($0, sql: "SELECT name FROM item ORDER BY name") }
        }
    }

    private struct Home {
        let folder: ScratchFolder
        let laptop: Device
        /// What a person wrote down.
        let recovery: String
        var path: String { folder.path("shared") }

        init() throws {
            folder = try ScratchFolder()
            laptop = try Device("laptop", in: folder)
            try laptop.add("by the laptop")
            var words = ""
            _ = try Replica.create(
                laptop.store, containerPath: folder.path("shared"), sealing: .sealed { words = $0.words },
                name: "laptop")
            recovery = words
        }

        func recoveryCode() throws -> SecretCode { try SecretCode(parsing: recovery, as: .recovery) }

        /// Lets a further device in by a code.
        func letIn(_ name: String) throws -> Device {
            let device = try Device(name, in: folder)
            let code = try SecretCode(parsing: laptop.replica().members.invite().code.text, as: .invitation)
            let enrolment = try Enrolment.begin(for: device.store, containerPath: path, by: .code(code))
            _ = try laptop.replica().sync()
            _ = try enrolment.join(device.store, name: name)
            _ = try laptop.replica().sync()
            return device
        }
    }

    private func code(_ body: () throws -> Void) -> FerryError.Code? {
        do {
            try body()
            return nil
        } catch {
            return (error as? FerryError)?.code
        }
    }

    private func assertAgreement(
        _ devices: [Device], _ items: [String], file: StaticString = #filePath, line: UInt = #line
    ) throws {
        for device in devices + devices { _ = try device.replica().sync() }
        for device in devices {
            XCTAssertEqual(try device.items(), items, device.name, file: file, line: line)
        }
    }

    func testADeviceIsLetInByACode() throws {
        let home = try Home()
        XCTAssertTrue(try Enrolment.isNeeded(containerPath: home.path))
        let phone = try Device("phone", in: home.folder)
        XCTAssertEqual(
            code { _ = try Replica.join(phone.store, containerPath: home.path) }, .keyMissing, "no code, no way in")
        XCTAssertNil(try phone.store.identity(), "the database is unchanged")
        XCTAssertNil(try Enrolment.pending(for: phone.store, containerPath: home.path))

        let (invitation, end) = try home.laptop.replica().members.invite(forMilliseconds: 60_000)
        XCTAssertGreaterThan(end, 60_000)
        XCTAssertEqual("\(invitation)", "(a code)")
        let enrolment = try Enrolment.begin(for: phone.store, containerPath: home.path, by: .code(invitation))
        XCTAssertEqual(try enrolment.state(), .waiting(words: nil))
        XCTAssertEqual(code { _ = try enrolment.join(phone.store) }, .enrolmentPending)
        XCTAssertEqual(try home.laptop.replica().sync().admitted, [enrolment.device.description])
        // Another start of the app goes on with what was begun.
        let again = try XCTUnwrap(Enrolment.pending(for: phone.store, containerPath: home.path))
        guard case .admitted(let by, _) = try again.state() else { return XCTFail("not let in") }
        XCTAssertEqual(by, try home.laptop.replica().identity.device)
        let (replica, report) = try again.join(phone.store, name: "phone")
        XCTAssertEqual(report.device.name, "phone")
        XCTAssertEqual(replica.identity.device, enrolment.device)
        try phone.add("by the phone")
        try assertAgreement([phone, home.laptop], ["by the laptop", "by the phone"])
        XCTAssertEqual(
            try FileManager.default.contentsOfDirectory(atPath: home.folder.path("keys of phone")).count, 1)
        // A code works once.
        let tablet = try Device("tablet", in: home.folder)
        let late = try Enrolment.begin(for: tablet.store, containerPath: home.path, by: .code(invitation))
        _ = try home.laptop.replica().sync()
        XCTAssertEqual(code { _ = try late.state() }, .codeRefused)
        try late.cancel()
        XCTAssertNil(try Enrolment.pending(for: tablet.store, containerPath: home.path))
    }

    func testADeviceIsLetInByWords() throws {
        let home = try Home()
        let phone = try Device("phone", in: home.folder)
        let enrolment = try Enrolment.begin(for: phone.store, containerPath: home.path, by: .words)
        guard case .waiting(let words?) = try enrolment.state() else { return XCTFail("no words") }
        XCTAssertEqual(try home.laptop.replica().sync().claims, 1)
        let status = try home.laptop.replica().status()
        XCTAssertEqual(status.container.sealed, true)
        XCTAssertEqual(status.container.claims, 1)
        let members = try home.laptop.replica().members
        XCTAssertEqual(code { try members.approve(words: "zagud zarug ziguj zirul zogun zorur") }, .nothingFound)
        let (device, answer) = try members.approve(words: words)
        XCTAssertEqual(device, enrolment.device)
        guard case .admitted(_, let same) = try enrolment.state() else { return XCTFail("not let in") }
        XCTAssertEqual(answer, same, "both screens show the same words")
        _ = try enrolment.join(phone.store, name: "phone")
        try assertAgreement([phone, home.laptop], ["by the laptop"])
        XCTAssertEqual(try home.laptop.replica().status().container.members, 2)
    }

    func testADeviceIsLetInByTheRecoveryCodeAndRemovesTheOthers() throws {
        let home = try Home()
        let phone = try home.letIn("phone")
        let tablet = try Device("tablet", in: home.folder)
        let wrong = try SecretCode(
            parsing: "zagud zarug ziguj zirul zogun zorur zugut zuruz hanuz", as: .recovery)
        XCTAssertEqual(
            code { _ = try Enrolment.begin(for: tablet.store, containerPath: home.path, by: .recovery(wrong)) },
            .codeRefused)
        let enrolment = try Enrolment.begin(
            for: tablet.store, containerPath: home.path, by: .recovery(home.recoveryCode()))
        _ = try enrolment.join(tablet.store, name: "tablet")
        XCTAssertEqual(try tablet.items(), ["by the laptop"])
        let members = try tablet.replica().members
        XCTAssertTrue(try members.isRecoveryCode(home.recoveryCode()))
        XCTAssertFalse(try members.isRecoveryCode(wrong))
        XCTAssertEqual(
            Set(try members.removeOthers(recovery: home.recoveryCode()).removed.map(\.name)), ["laptop", "phone"])
        XCTAssertEqual(code { _ = try phone.replica().sync() }, .notMember)
    }

    func testADeviceIsRemovedAndComesBackAsAnother() throws {
        let home = try Home()
        let phone = try home.letIn("phone")
        XCTAssertEqual(code { try phone.replica().members.remove("laptop") }, .removalRefused)
        let former = try phone.replica().identity.device
        let removal = try home.laptop.replica().members.remove("phone")
        XCTAssertEqual(removal.removed.map(\.id), [former.description])
        XCTAssertEqual(removal.admittedByThem, [])
        try phone.add("after the removal")
        XCTAssertEqual(code { _ = try phone.replica().sync() }, .notMember)
        XCTAssertEqual(try home.laptop.replica().status().devices.map(\.membership), ["removed"])

        let enrolment = try Enrolment.begin(
            for: phone.store, containerPath: home.path, by: .code(home.laptop.replica().members.invite().code))
        _ = try home.laptop.replica().sync()
        let renewal = try phone.replica().enrol(enrolment)
        XCTAssertEqual(renewal.reason, .enrolled)
        XCTAssertEqual(renewal.formerDevice, former.description)
        try assertAgreement([home.laptop, phone], ["after the removal", "by the laptop"])
    }

    func testKeysAreRotatedAndRenewed() throws {
        let home = try Home()
        let members = try home.laptop.replica().members
        XCTAssertEqual(try members.keys().members, 1)
        XCTAssertTrue(try members.keys().recovery)
        XCTAssertEqual(try members.rotateKeys().epochs, 2)
        let former = try home.laptop.replica().identity.device
        let renewal = try home.laptop.replica().members.renewKeys()
        XCTAssertEqual(renewal.reason, .keys)
        XCTAssertNotEqual(try home.laptop.replica().identity.device, former)
        _ = try members.invite(forMilliseconds: 1000)
        XCTAssertEqual(try members.cancelInvitations(), 1)
    }

    func testAnOpenContainerIsSealed() throws {
        let folder = try ScratchFolder()
        let laptop = try Device("laptop", in: folder)
        _ = try Replica.create(laptop.store, containerPath: folder.path("shared"), sealing: .open, name: "laptop")
        XCTAssertFalse(try Enrolment.isNeeded(containerPath: folder.path("shared")))
        let phone = try Device("phone", in: folder)
        _ = try Replica.join(phone.store, containerPath: folder.path("shared"), name: "phone")
        XCTAssertEqual(code { _ = try laptop.replica().members.invite() }, .invalidArgument)
        XCTAssertNil(try laptop.replica().status().container.sealed)

        var recovery: SecretCode?
        let report = try laptop.replica().seal(recovery: { recovery = $0 })
        XCTAssertTrue(report.recovery)
        XCTAssertNotEqual(report.device, report.formerDevice)
        XCTAssertEqual(code { _ = try phone.replica().sync() }, .keyMissing)
        let enrolment = try Enrolment.begin(
            for: phone.store, containerPath: folder.path("shared"), by: .recovery(XCTUnwrap(recovery)))
        try phone.replica().enrol(enrolment)
        try phone.add("sealed")
        try assertAgreement([phone, laptop], ["sealed"])
    }

    func testAnEngineLetsADeviceIn() async throws {
        let home = try Home()
        let engine = try SyncEngine(home.laptop.store)
        let events = engine.events
        engine.start()
        let phone = try Device("phone", in: home.folder)
        let enrolment = try Enrolment.begin(
            for: phone.store, containerPath: home.path, by: .code(engine.replica.members.invite().code))
        for await event in events {
            guard case .synced(let report) = event, report.admitted == [enrolment.device.description] else { continue }
            break
        }
        _ = try enrolment.join(phone.store, name: "phone")
        await engine.stop()
        try assertAgreement([phone, home.laptop], ["by the laptop"])
    }

    func testKeysInsideTheSharedFolderAreRefused() throws {
        let folder = try ScratchFolder()
        let pool = try DatabasePool(path: folder.path("a.sqlite"))
        try pool.write { try $0.execute(sql: "CREATE TABLE item(id INTEGER PRIMARY KEY)") }
        let store = Store(pool, keyDirectory: folder.path("shared/keys"))
        XCTAssertEqual(
            code {
                _ = try Replica.create(store, containerPath: folder.path("shared"), sealing: .sealed(recovery: nil))
            }, .keyExposed)
        XCTAssertNil(try store.identity())
        XCTAssertFalse(FileManager.default.fileExists(atPath: folder.path("shared")))
    }

    func testACreationThatCannotKeepTheCodeMakesNothingOfTheDatabase() throws {
        struct NoPaper: Error {}
        let folder = try ScratchFolder()
        let laptop = try Device("laptop", in: folder)
        XCTAssertThrowsError(
            try Replica.create(
                laptop.store, containerPath: folder.path("shared"), sealing: .sealed { _ in throw NoPaper() })
        ) { XCTAssertTrue($0 is NoPaper, "\($0)") }
        XCTAssertNil(try laptop.store.identity())
        // It can be repeated, with another code.
        var words = ""
        _ = try Replica.create(
            laptop.store, containerPath: folder.path("shared"), sealing: .sealed { words = $0.words }, name: "laptop")
        XCTAssertTrue(try laptop.replica().members.isRecoveryCode(SecretCode(parsing: words, as: .recovery)))
    }
}
