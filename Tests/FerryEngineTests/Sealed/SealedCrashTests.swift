import FerryContainer
import FerryCore
import FerryMembers
import FerrySeal
import FerryStore
import FerryTestSupport
import XCTest

@testable import FerryEngine

/// The process dies at every write of a flow into the folder, and the folder loses what was not durable. The flow is begun again and
/// ends where an undisturbed one would have: nobody is let in twice, nothing is lost, and all know the same members.
final class SealedCrashTests: XCTestCase {
    /// The most points at which one flow is interrupted.
    private static let maximumPoints = Int(ProcessInfo.processInfo.environment["FERRY_CRASH_POINTS"] ?? "") ?? 6

    private struct Flow {
        var name: String
        var prepare: (SealedHome) throws -> Void
        /// Is begun again after a crash.
        var act: (SealedHome) throws -> Void
        var check: (SealedHome) throws -> Void
    }

    private func interrupt(_ flow: Flow) throws {
        let undisturbed = try SealedHome()
        try flow.prepare(undisturbed)
        let before = undisturbed.files.stepCount
        try flow.act(undisturbed)
        let count = undisturbed.files.stepCount - before
        try flow.check(undisturbed)
        let stride = max(1, count / Self.maximumPoints)
        for (number, point) in Swift.stride(from: 0, to: count, by: stride).enumerated() {
            let context = "\(flow.name), killed at step \(point) of \(count)"
            let home = try SealedHome()
            try flow.prepare(home)
            home.files.inject(.kill, afterSteps: point)
            do {
                try flow.act(home)
                XCTAssertFalse(home.files.isKilled, context)
            } catch {
                XCTAssertTrue(home.files.isKilled, "\(context): \(error)")
            }
            home.files.crash(losing: number % 2 == 0 ? .everything : .nothing)
            for index in home.computers.indices where home.computers[index].replica != nil {
                // A database that left, or that a failed join removed, has no replica any more.
                do { try home.reopen(index) } catch { home.computers[index].replica = nil }
            }
            do {
                try flow.act(home)
                try flow.check(home)
            } catch {
                XCTFail("\(context): \(error)")
            }
        }
        print("\(flow.name): every \(stride). of \(count) writes")
    }

    private func twoDevices(_ home: SealedHome) throws {
        try home.found()
        try home.write(0, "first")
        try home.invite(by: 0)
        try home.settle()
    }

    /// Opens the database of an attempt that a crash ended, if it belongs to the container already; else removes it.
    private func hasJoined(_ home: SealedHome, _ index: Int) throws -> Bool {
        guard FileManager.default.fileExists(atPath: home.databasePath(index)) else { return false }
        let store = try Store(path: home.databasePath(index), clock: home.clock)
        if try store.identity() != nil {
            home.computers[index].replica = try Replica(store, environment: home.environment(index))
            return true
        }
        try store.close()
        try FileManager.default.removeItem(atPath: home.databasePath(index))
        return false
    }

    func testFounding() throws {
        try interrupt(
            Flow(name: "init", prepare: { _ = $0.addComputer() }) { home in
                if try self.hasJoined(home, 0) {
                    _ = try home.replica(0).sync()
                    return
                }
                home.computers[0].replica = try ReplicaSetup(
                    environment: home.environment(0), sealing: .sealed(recovery: { _ in })
                ).create(home.makeStore(0), containerPath: SealedHome.place, name: "device0").replica
            } check: { home in
                try home.write(0, "first")
                let index = try home.invite(by: 0)
                try home.assertAgreement([0, index], ["first"], members: 2)
            })
    }

    func testLettingIn() throws {
        try interrupt(
            Flow(name: "letting in") { home in
                try home.found()
                let code = try home.replica(0).invite().code
                _ = try home.begin(home.addComputer(), .code(code))
            } act: { home in
                _ = try home.replica(0).sync()
            } check: { home in
                let enrolment = try XCTUnwrap(
                    Enrolment.pending(containerPath: SealedHome.place, environment: home.environment(1)))
                try home.join(1, enrolment)
                try home.assertAgreement([0, 1], [], members: 2)
                XCTAssertEqual(try home.roster(0).members.count, 2)
            })
    }

    func testAskingByRecovery() throws {
        try interrupt(
            Flow(name: "recovery") { home in
                try home.found()
                try home.write(0, "first")
                _ = try home.replica(0).sync()
                home.addComputer()
            } act: { home in
                let code = try XCTUnwrap(home.recovery)
                if try !self.hasJoined(home, 1) { try home.join(1, home.begin(1, .recovery(code))) }
                _ = try home.replica(1).removeOthers(recovery: code)
            } check: { home in
                try home.settle([1])
                XCTAssertEqual(try home.names(1), ["first"])
                XCTAssertEqual(home.failure { _ = try home.replica(0).sync() }, .notMember)
            })
    }

    func testRemoving() throws {
        try interrupt(
            Flow(name: "remove") { home in
                try self.twoDevices(home)
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
            })
    }

    func testRotating() throws {
        try interrupt(
            Flow(name: "rotate", prepare: twoDevices) { home in
                _ = try home.replica(1).rotateKeys()
            } check: { home in
                try home.write(0, "after")
                try home.assertAgreement([0, 1], ["first", "after"], members: 2)
                XCTAssertGreaterThan(try home.roster(0).epoch?.number ?? 0, 1)
            })
    }

    func testRenewing() throws {
        try interrupt(
            Flow(name: "renew", prepare: twoDevices) { home in
                _ = try home.replica(1).renewKeys()
            } check: { home in
                try home.write(1, "after")
                try home.settle()
                XCTAssertEqual(try home.names(0), ["after", "first"])
                XCTAssertEqual(try home.names(1), ["after", "first"])
                XCTAssertEqual(try home.roster(0).digest, try home.roster(1).digest)
            })
    }

    func testLeaving() throws {
        try interrupt(
            Flow(name: "leave", prepare: twoDevices) { home in
                if let replica = home.computers[1].replica { _ = try replica.leave() }
            } check: { home in
                home.computers[1].replica = nil
                try home.assertAgreement([0], ["first"], members: 1)
            })
    }

    func testCopying() throws {
        try interrupt(
            Flow(name: "copy") { home in
                try self.twoDevices(home)
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
            })
    }

    func testSealing() throws {
        try interrupt(
            Flow(name: "seal") { home in
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
            })
    }

    func testEnrolling() throws {
        try interrupt(
            Flow(name: "enrol") { home in
                try self.twoDevices(home)
                _ = try home.replica(0).remove("device1")
                try home.write(1, "while it was out")
                _ = try home.begin(1, .code(home.replica(0).invite().code))
                _ = try home.replica(0).sync()
            } act: { home in
                let enrolment = try Enrolment.pending(
                    containerPath: SealedHome.place, environment: home.environment(1))
                if let enrolment, try home.device(1) != enrolment.device {
                    _ = try home.replica(1).enrol(enrolment)
                } else {
                    _ = try home.replica(1).sync()
                }
            } check: { home in
                try home.assertAgreement([0, 1], ["first", "while it was out"], members: 2)
            })
    }
}
