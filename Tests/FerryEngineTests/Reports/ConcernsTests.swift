import Foundation
import XCTest

@testable import FerryEngine

final class ConcernsTests: XCTestCase {
    /// A report in which all is well, but for what `change` says; `peer` changes the only other device.
    private func report(
        _ change: [String: Any] = [:], container: [String: Any] = [:], peer: [String: Any] = [:]
    ) throws -> StatusReport {
        var place: [String: Any] = ["id": "c", "name": "shared", "path": "/s", "kind": "folder", "reachable": true]
        var device: [String: Any] = [
            "id": "p", "name": "phone", "behind": 0, "unacknowledged": 0, "activity": "active", "isLeftBehind": false,
            "standing": "inStep",
        ]
        place.merge(container) { $1 }
        device.merge(peer) { $1 }
        var status: [String: Any] = [
            "device": ["id": "l", "name": "laptop"], "container": place, "tables": [Any](), "leftOut": [Any](),
            "tablesApart": [Any](), "waitingTables": [Any](), "leftOutTriggers": [Any](), "devices": [device],
            "unpublished": 0, "unseenTables": [Any](), "hidden": 3, "exceptions": [Any](), "conflicts": 2,
            "policies": [Any](), "plainReferences": [Any](),
        ]
        status.merge(change) { $1 }
        return try JSONDecoder().decode(StatusReport.self, from: JSONSerialization.data(withJSONObject: status))
    }

    func testConflictsHiddenRowsAndSilentDevicesAreNoConcerns() throws {
        XCTAssertEqual(try report().concerns, [])
        XCTAssertEqual(
            try report(peer: ["activity": "silent", "isLeftBehind": true, "unacknowledged": 9, "standing": "ahead"])
                .concerns,
            [])
    }

    func testTheWorstComesFirst() throws {
        let concerns = try report(
            ["unpublished": 1, "policies": [["target": "column:a.b", "policy": "hook:x", "applied": false]]],
            container: ["reachable": false, "problem": "The folder is away.", "failingSinceMilliseconds": 5],
            peer: ["standing": "differs", "differing": ["song"], "differingRows": ["tag"]]
        ).concerns
        XCTAssertEqual(concerns.map(\.kind), [.differs, .needsApp, .unreachable, .waiting])
        XCTAssertEqual(concerns[0].message, "phone has the same changes and other rows of song, tag.")
        XCTAssertEqual(concerns[0].device, "phone")
        XCTAssertEqual(concerns[2].sinceMilliseconds, 5)
        XCTAssertEqual(concerns[3].message, "1 change waits to be published.")
    }

    func testDamageIsToldFromWhatPasses() throws {
        for (code, kind) in [
            ("damagedFile", StatusReport.Concern.Kind.damage), ("formatTooNew", .damage), ("fileNotThereYet", .late),
            ("olderState", .late), ("clockAhead", .late),
        ] {
            let concerns = try report(peer: ["problem": "Something.", "problemCode": code, "behind": 2]).concerns
            XCTAssertEqual(concerns.map(\.kind), [kind], code)
        }
        XCTAssertEqual(try report(peer: ["behind": 2, "standing": "behind"]).concerns.map(\.kind), [.waiting])
    }

    func testAFailedSyncIsAConcernWhileTheFolderIsThere() throws {
        let concerns = try report(container: ["failure": "The disk is full."]).concerns
        XCTAssertEqual(concerns.map(\.kind), [.failing])
        XCTAssertEqual(try report(["unseenTables": ["song"]]).concerns.map(\.kind), [.waiting])
    }
}
