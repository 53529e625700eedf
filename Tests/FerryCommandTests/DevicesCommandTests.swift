import XCTest

final class DevicesCommandTests: XCTestCase {
    func testDevicesAreListed() throws {
        let workshop = try Workshop()
        try workshop.beginTwo()
        let lines = try workshop.succeed("devices", "a.sqlite").output.split(separator: "\n")
        XCTAssertEqual(lines.count, 3)
        XCTAssertTrue(lines[1].contains("laptop") && lines[1].hasSuffix("this device"), "\(lines[1])")
        XCTAssertTrue(lines[2].contains("phone") && lines[2].hasSuffix("active"), "\(lines[2])")
        let report = try workshop.succeed("devices", "a.sqlite", "list", "--json").json()
        XCTAssertEqual(report["reachable"] as? Bool, true)
        let devices = try XCTUnwrap(report["devices"] as? [[String: Any]])
        XCTAssertEqual(devices.map { $0["name"] as? String }, ["laptop", "phone"])
        XCTAssertEqual(devices.map { $0["isThisDevice"] as? Bool }, [true, false])
        XCTAssertEqual(devices[1]["behind"] as? Int, 0)
        XCTAssertEqual(devices[1]["holdsBackBytes"] as? Int, 0)
        XCTAssertEqual(devices[1]["isLeftBehind"] as? Bool, false)
        XCTAssertNotNil(devices[1]["lastSeenMilliseconds"] as? Int)
    }

    func testADeviceIsRenamed() throws {
        let workshop = try Workshop()
        try workshop.beginTwo()
        XCTAssertEqual(
            try workshop.succeed("devices", "a.sqlite", "rename", "study").output, "This device is called study now.\n")
        try workshop.succeed("sync", "a.sqlite")
        try workshop.succeed("sync", "b.sqlite")
        XCTAssertTrue(try workshop.succeed("status", "b.sqlite").output.contains("study"))
        try workshop.fail("devices", "a.sqlite", "rename", "", status: 64, code: "invalidArgument")
    }

    func testADeviceIsRetiredAndReturns() throws {
        let workshop = try Workshop()
        try workshop.beginTwo()
        let report = try workshop.succeed("devices", "a.sqlite", "retire", "phone", "--json").json()
        XCTAssertEqual(report["retired"] as? String, "phone")
        XCTAssertTrue(try workshop.succeed("devices", "a.sqlite").output.contains("retired"))
        XCTAssertTrue(try workshop.succeed("status", "a.sqlite").output.contains("retired"))
        try workshop.succeed("sync", "a.sqlite")
        try workshop.succeed("sync", "b.sqlite")
        try workshop.succeed("sync", "a.sqlite")
        XCTAssertFalse(try workshop.succeed("devices", "a.sqlite").output.contains("retired"))
        try workshop.fail(
            "devices", "a.sqlite", "retire", "toaster", status: 1, code: "nothingFound", mentioning: "toaster")
        try workshop.fail("devices", "a.sqlite", "retire", "laptop", status: 64, code: "invalidArgument")
        XCTAssertEqual(try workshop.ferry("devices", "a.sqlite", "retire").status, 64)
        XCTAssertEqual(try workshop.ferry("devices", "a.sqlite", "list", "phone").status, 64)
    }

    func testTheFormerIDOfARestoredDatabaseSaysWhatItGoesOnAs() throws {
        let workshop = try Workshop()
        try workshop.beginTwo()
        try workshop.sql("a.sqlite", ".backup '\(workshop.path("backup.sqlite"))'")
        try workshop.sql("a.sqlite", "UPDATE artist SET name = 'x' WHERE id = 1")
        try workshop.succeed("sync", "a.sqlite")
        try FileManager.default.removeItem(atPath: workshop.path("a.sqlite"))
        try FileManager.default.copyItem(atPath: workshop.path("backup.sqlite"), toPath: workshop.path("a.sqlite"))
        let output = try workshop.succeed("sync", "a.sqlite").output
        XCTAssertTrue(
            output.hasPrefix("This database was restored from a backup, or another copy of it is in use."), output)
        XCTAssertEqual(try workshop.sql("a.sqlite", "SELECT name FROM artist WHERE id = 1"), "x\n")
        let devices = try XCTUnwrap(
            try workshop.succeed("devices", "a.sqlite", "--json").json()["devices"] as? [[String: Any]])
        let own = try XCTUnwrap(devices.first { $0["isThisDevice"] as? Bool == true }?["id"] as? String)
        let former = try XCTUnwrap(devices.first { $0["successors"] != nil })
        XCTAssertEqual(former["successors"] as? [String], [own])
        let lines = try workshop.succeed("devices", "a.sqlite").output
        XCTAssertTrue(lines.contains("active; copied or restored as laptop (\(own.prefix(4)))"), lines)
        try workshop.succeed("devices", "a.sqlite", "retire", String((former["id"] as? String ?? "").prefix(8)))
    }

    func testASilentDeviceIsNamedByStatus() throws {
        let workshop = try Workshop()
        try workshop.beginTwo()
        // As if nothing had been heard of it for 61 days.
        try workshop.sql("a.sqlite", "UPDATE ferry_device SET heard = heard - 61 * 86400000 WHERE name = 'phone'")
        let status = try workshop.succeed("status", "a.sqlite").output
        XCTAssertTrue(status.hasPrefix("phone is silent: it wrote last"), status)
        XCTAssertTrue(status.contains("nothing is kept for it any more"), status)
        let devices = try XCTUnwrap(
            try workshop.succeed("status", "a.sqlite", "--json").json()["devices"] as? [[String: Any]])
        XCTAssertEqual(devices.map { $0["activity"] as? String }, ["silent"])
        XCTAssertTrue(try workshop.succeed("devices", "a.sqlite").output.contains("silent"))
    }
}
