import FerryContainer
import FerryCore
import FerryMembers
import FerrySeal
import FerryStore
import XCTest

@testable import FerryEngine

/// What a sealed container's devices do that a crash may interrupt: how it is prepared, what is begun again after the crash, and where
/// it ends.
struct SealedFlow: Sendable {
    var name: String
    var prepare: @Sendable (SealedHome) throws -> Void
    /// Is begun again after a crash.
    var act: @Sendable (SealedHome) throws -> Void
    var check: @Sendable (SealedHome) throws -> Void

    init(
        name: String, prepare: @escaping @Sendable (SealedHome) throws -> Void,
        act: @escaping @Sendable (SealedHome) throws -> Void, check: @escaping @Sendable (SealedHome) throws -> Void
    ) {
        self.name = name
        self.prepare = prepare
        self.act = act
        self.check = check
    }

    /// Acts again after a crash, and checks: nothing is lost, and no directory belongs to nobody.
    /// - Parameter crash: what the crash leaves of memory and disks.
    func assertGoesOn(_ home: SealedHome, _ context: String, after crash: () throws -> Void = {}) {
        do {
            try crash()
            try act(home)
            try check(home)
            XCTAssertEqual(try home.strangers(), 0, context)
        } catch {
            XCTFail("\(context): \(error)")
        }
    }

    @Sendable private static func twoDevices(_ home: SealedHome) throws {
        try home.found()
        try home.write(0, "first")
        try home.invite(by: 0)
        try home.settle()
    }

    /// Opens the database of an attempt that a crash ended, if it belongs to the container already; else removes it.
    private static func hasJoined(_ home: SealedHome, _ index: Int) throws -> Bool {
        guard FileManager.default.fileExists(atPath: home.databasePath(index)) else { return false }
        let store = try Store(path: home.databasePath(index), clock: home.clock)
        if try store.identity() != nil {
            home.computers[index].replica = try Replica(store, environment: home.environment(index))
            return true
        }
        try store.close()
        for suffix in ["", "-wal", "-shm", "-journal"] {
            try? FileManager.default.removeItem(atPath: home.databasePath(index) + suffix)  // mostly missing
        }
        return false
    }

    /// The enrolment of a computer that asked before.
    private static func pendingEnrolment(_ home: SealedHome, _ index: Int) throws -> Enrolment {
        let pending = try Enrolment.pending(containerPath: home.place, environment: home.environment(index))
        return try XCTUnwrap(pending)
    }

    static let founding = SealedFlow(name: "init") { home in
        home.addComputer()
    } act: { home in
        if try hasJoined(home, 0) {
            _ = try home.replica(0).sync()
            return
        }
        home.computers[0].replica = try ReplicaSetup(
            environment: home.environment(0), sealing: .sealed(recovery: { _ in })
        ).create(home.makeStore(0), containerPath: home.place, name: "device0").replica
    } check: { home in
        try home.write(0, "first")
        let index = try home.invite(by: 0)
        try home.assertAgreement([0, index], ["first"], members: 2)
    }

    static let lettingIn = SealedFlow(name: "letting in") { home in
        try home.found()
        let code = try home.replica(0).invite().code
        _ = try home.begin(home.addComputer(), .code(code))
    } act: { home in
        _ = try home.replica(0).sync()
    } check: { home in
        let enrolment = try pendingEnrolment(home, 1)
        try home.join(1, enrolment)
        try home.assertAgreement([0, 1], [], members: 2)
        XCTAssertEqual(try home.roster(0).members.count, 2)
    }

    static let approving = SealedFlow(name: "approve") { home in
        try twoDevices(home)
        _ = try home.begin(home.addComputer(), .words)
    } act: { home in
        let enrolment = try pendingEnrolment(home, 2)
        guard case .waiting(let words?) = try enrolment.state() else {
            // A person sees on the other screen that the device is let in.
            _ = try home.replica(0).sync()
            return
        }
        _ = try home.replica(0).approve(words: words)
        // The head tells the newcomer that the folder is no older than this.
        _ = try home.replica(0).sync()
    } check: { home in
        let enrolment = try pendingEnrolment(home, 2)
        try home.join(2, enrolment)
        try home.assertAgreement([0, 1, 2], ["first"], members: 3)
        XCTAssertEqual(try home.roster(0).members.count, 3)
    }

    static let joining = SealedFlow(name: "join by a code") { home in
        try twoDevices(home)
        let code = try home.replica(0).invite().code
        _ = try home.begin(home.addComputer(), .code(code))
        _ = try home.replica(0).sync()
    } act: { home in
        if try hasJoined(home, 2) {
            _ = try home.replica(2).sync()
        } else {
            let enrolment = try pendingEnrolment(home, 2)
            try home.join(2, enrolment)
        }
    } check: { home in
        try home.write(2, "by the newcomer")
        try home.assertAgreement([0, 1, 2], ["first", "by the newcomer"], members: 3)
        // No attempt goes on, and the newcomer keeps no key of the code.
        XCTAssertNil(try Enrolment.pending(containerPath: home.place, environment: home.environment(2)))
        let file = try XCTUnwrap(home.computers[2].keys.load(home.device(2)))
        XCTAssertEqual(file.invitations.count, 0)
        // The end of an enrolment takes back nothing that a sync noted.
        XCTAssertGreaterThan(file.highestEpoch, 0)
    }

    static let asking = SealedFlow(name: "ask by a code") { home in
        try home.found()
        home.code = try home.replica(0).invite().code
        home.addComputer()
    } act: { home in
        _ = try home.begin(1, .code(XCTUnwrap(home.code)))
    } check: { home in
        _ = try home.replica(0).sync()
        let enrolment = try pendingEnrolment(home, 1)
        try home.join(1, enrolment)
        try home.assertAgreement([0, 1], [], members: 2)
    }

    static let recovering = SealedFlow(name: "recovery") { home in
        try home.found()
        try home.write(0, "first")
        _ = try home.replica(0).sync()
        home.addComputer()
    } act: { home in
        let code = try XCTUnwrap(home.recovery)
        if try !hasJoined(home, 1) { try home.join(1, home.begin(1, .recovery(code))) }
        _ = try home.replica(1).removeOthers(recovery: code)
    } check: { home in
        try home.settle([1])
        // A second attempt is the device of the first.
        XCTAssertEqual(try home.roster(1).members.count, 1)
        XCTAssertEqual(try home.roster(1).removed.count, 1)
        XCTAssertEqual(try home.names(1), ["first"])
        XCTAssertEqual(home.failure { _ = try home.replica(0).sync() }, .notMember)
    }

    static let removing = SealedFlow(name: "remove") { home in
        try twoDevices(home)
        try home.invite(by: 0)
        try home.settle()
        try home.write(2, "before")
        _ = try home.replica(2).sync()
    } act: { home in
        do {
            _ = try home.replica(0).remove("device2")
        } catch let error as FerryError where error.code == .nothingFound {
            // It was removed before the crash.
            _ = try home.replica(0).sync()
        }
    } check: { home in
        XCTAssertEqual(home.failure { _ = try home.replica(2).sync() }, .notMember)
        try home.assertAgreement([0, 1], ["first", "before"], members: 2)
    }

    static let rotating = SealedFlow(name: "rotate", prepare: twoDevices) { home in
        _ = try home.replica(1).rotateKeys()
    } check: { home in
        try home.write(0, "after")
        try home.assertAgreement([0, 1], ["first", "after"], members: 2)
        XCTAssertGreaterThan(try home.roster(0).epoch?.number ?? 0, 1)
    }

    static let renewing = SealedFlow(name: "renew", prepare: twoDevices) { home in
        _ = try home.replica(1).renewKeys()
    } check: { home in
        try home.write(1, "after")
        try home.settle()
        XCTAssertEqual(try home.names(0), ["after", "first"])
        XCTAssertEqual(try home.names(1), ["after", "first"])
        XCTAssertEqual(try home.roster(0).digest, try home.roster(1).digest)
    }

    /// What `ferry leave` does, also where it was interrupted before.
    private static func leave(_ home: SealedHome, _ index: Int) throws {
        guard let replica = home.computers[index].replica else {
            _ = try Replica.leaveRemains(path: home.databasePath(index), environment: home.environment(index))
            return
        }
        let report = try replica.leave()
        XCTAssertEqual(report.isTold, true)
        try replica.store.close()
        home.computers[index].replica = nil
    }

    /// The database is plain, and neither the key store nor the folder of the database has anything of Ferry's.
    private static func assertPlain(_ home: SealedHome, _ index: Int) throws {
        XCTAssertNil(home.computers[index].replica)
        let store = try Store(path: home.databasePath(index), clock: home.clock)
        let (names, rows) = try store.read {
            (
                try $0.rows("SELECT name FROM sqlite_schema WHERE name LIKE 'ferry%'"),
                try $0.rows("SELECT name FROM item").map { $0[0].text }
            )
        }
        try store.close()
        XCTAssertEqual(names, [])
        XCTAssertEqual(rows, ["first"])
        XCTAssertEqual(try home.computers[index].keys.devices(), [])
        let beside = try FileManager.default.contentsOfDirectory(atPath: home.folder.path)
        XCTAssertEqual(beside.filter { $0.hasPrefix("db\(index).sqlite-ferry") }, [])
    }

    static let leaving = SealedFlow(name: "leave", prepare: twoDevices) { home in
        try leave(home, 1)
    } check: { home in
        try assertPlain(home, 1)
        try home.assertAgreement([0], ["first"], members: 1)
    }

    static let leavingLast = SealedFlow(name: "leave of the last member") { home in
        try home.found()
        try home.write(0, "first")
        try home.settle()
    } act: { home in
        try leave(home, 0)
    } check: { home in
        try assertPlain(home, 0)
        // The recovery code lets the next device in.
        home.addComputer()
        try home.join(1, home.begin(1, .recovery(XCTUnwrap(home.recovery))))
        try home.assertAgreement([1], ["first"], members: 1)
    }

    static let copying = SealedFlow(name: "copy") { home in
        try twoDevices(home)
        let copy = home.addComputer()
        home.computers[copy].keys = home.computers[1].keys
        home.computers[copy].host = home.computers[1].host
        try home.replica(1).store.copy(to: home.databasePath(copy))
        home.computers[copy].replica = try Replica(
            Store(path: home.databasePath(copy), clock: home.clock), environment: home.environment(copy))
        try home.write(copy, "by the copy")
    } act: { home in
        _ = try home.replica(2).sync()
    } check: { home in
        try home.assertAgreement([0, 1, 2], ["first", "by the copy"], members: 3)
    }

    static let sealing = SealedFlow(name: "seal") { home in
        try home.found(sealing: .open)
        try home.write(0, "first")
        home.addComputer()
        try home.join(1, nil)
        try home.write(1, "second")
        try home.settle()
    } act: { home in
        if try home.container.details.sealing == .none {
            _ = try home.seal(0)
        } else {
            _ = try home.replica(0).sync()
        }
    } check: { home in
        let enrolment = try home.begin(1, .code(home.replica(0).invite().code))
        _ = try home.replica(0).sync()
        _ = try home.replica(1).enrol(enrolment)
        try home.assertAgreement([0, 1], ["first", "second"], members: 2)
        let index = try home.invite(by: 0)
        try home.assertAgreement([0, 1, index], ["first", "second"], members: 3)
    }

    static let foundingAnew = SealedFlow(name: "seal --anew") { home in
        try twoDevices(home)
        try home.write(1, "second")
        try home.settle()
    } act: { home in
        _ = try home.seal(0, anew: true)
    } check: { home in
        let enrolment = try home.begin(1, .code(home.replica(0).invite().code))
        _ = try home.replica(0).sync()
        _ = try home.replica(1).enrol(enrolment)
        try home.assertAgreement([0, 1], ["first", "second"], members: 2)
        home.addComputer()
        try home.join(2, home.begin(2, .recovery(XCTUnwrap(home.recovery))))
        try home.assertAgreement([0, 1, 2], ["first", "second"], members: 3)
    }

    static let removingFormerFiles = SealedFlow(name: "removing plain files") { home in
        try home.found(sealing: .open)
        try home.write(0, "first")
        home.addComputer()
        try home.join(1, nil)
        try home.write(1, "second")
        try home.settle()
        _ = try home.seal(0)
        let enrolment = try home.begin(1, .code(home.replica(0).invite().code))
        _ = try home.replica(0).sync()
        _ = try home.replica(1).enrol(enrolment)
        try home.settle()
        home.clock.advance(hours: 2)
    } act: { home in
        _ = try home.replica(0).sync()
        _ = try home.replica(1).sync()
    } check: { home in
        let magics = ["FRYS", "FRYH", "FRYM", "FRYC", "FRYV"].map { Array($0.utf8) }
        let plain = try home.allFiles().filter { file in magics.contains { file.value.starts(with: $0) } }
        XCTAssertEqual(plain.keys.sorted(), [])
        XCTAssertEqual(try home.container.directories().count, 2)
        try home.assertAgreement([0, 1], ["first", "second"], members: 2)
        let index = try home.invite(by: 0)
        try home.assertAgreement([0, 1, index], ["first", "second"], members: 3)
    }

    static let enrolling = SealedFlow(name: "enrol") { home in
        try twoDevices(home)
        _ = try home.replica(0).remove("device1")
        try home.write(1, "while it was out")
        _ = try home.begin(1, .code(home.replica(0).invite().code))
        _ = try home.replica(0).sync()
    } act: { home in
        let enrolment = try Enrolment.pending(
            containerPath: home.place, environment: home.environment(1))
        if let enrolment, try home.device(1) != enrolment.device {
            _ = try home.replica(1).enrol(enrolment)
        } else {
            _ = try home.replica(1).sync()
        }
    } check: { home in
        try home.assertAgreement([0, 1], ["first", "while it was out"], members: 2)
    }

    static let inviting = SealedFlow(name: "invite", prepare: twoDevices) { home in
        home.code = try home.replica(1).invite().code
    } check: { home in
        let index = home.addComputer()
        let enrolment = try home.begin(index, .code(XCTUnwrap(home.code)))
        _ = try home.replica(1).sync()
        try home.join(index, enrolment)
        try home.assertAgreement([0, 1, index], ["first"], members: 3)
    }
}
