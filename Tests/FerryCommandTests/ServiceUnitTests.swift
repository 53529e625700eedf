import XCTest

@testable import FerryCommand

final class ServiceUnitTests: XCTestCase {
    private let unit = ServiceUnit(
        database: "/home/me/My music/100% \"ours\" $x.sqlite", program: "/opt/ferry/bin/ferry",
        metrics: "/var/lib/node/ferry.prom", environment: ["FERRY_KEYS": "/home/me/k\\eys"])

    func testPathsOfTheSurroundingsAreAbsoluteForTheService() {
        let here = FileManager.default.currentDirectoryPath
        XCTAssertEqual(
            ServiceCommand.variables(
                [
                    "FERRY_KEYS": "keys", "RCLONE_CONFIG": "/etc/rclone.conf", "XDG_DATA_HOME": "data",
                    "HOME": "/home/ann",
                ],
                home: "/home/ann"),
            ["FERRY_KEYS": here + "/keys", "RCLONE_CONFIG": "/etc/rclone.conf"])
        XCTAssertEqual(
            ServiceCommand.variables(
                ["FERRY_KEYS": "", "XDG_DATA_HOME": "/data", "AWS_PROFILE": "music", "HOME": "/srv/ann"],
                home: "/home/ann"),
            ["XDG_DATA_HOME": "/data", "AWS_PROFILE": "music", "HOME": "/srv/ann"])
    }

    func testAUnitQuotesWhatSystemdWouldExpand() {
        let text = unit.systemdText
        XCTAssertTrue(
            text.contains(
                #"""
                ExecStart="/opt/ferry/bin/ferry" "watch" "/home/me/My music/100%% \"ours\" $$x.sqlite" "--metrics" "/var/lib/node/ferry.prom"
                Environment="FERRY_KEYS=/home/me/k\\eys"
                Restart=on-failure
                """#), text)
        XCTAssertTrue(text.contains("\n[Install]\nWantedBy=default.target\n"), text)
        XCTAssertTrue(text.contains("Description=Ferry keeps /home/me/My music/100%% "), text)
    }

    func testAnAgentIsAPropertyList() throws {
        let parsed = try PropertyListSerialization.propertyList(from: Data(unit.launchdText.utf8), format: nil)
        let list = try XCTUnwrap(parsed as? [String: Any])
        XCTAssertEqual(list["Label"] as? String, unit.name)
        XCTAssertEqual(list["ProgramArguments"] as? [String], [unit.program] + unit.arguments)
        XCTAssertEqual(list["EnvironmentVariables"] as? [String: String], unit.environment)
        XCTAssertEqual(list["RunAtLoad"] as? Bool, true)
    }

    func testTheNameIsOfTheDatabaseAndPlain() {
        var other = unit
        other.database = "/home/me/elsewhere/100% \"ours\" $x.sqlite"
        XCTAssertNotEqual(unit.name, other.name)
        other.database = unit.database
        other.metrics = nil
        XCTAssertEqual(unit.name, other.name)
        XCTAssertTrue(unit.name.hasPrefix("ferry-100---ours---x.sqlite-"), unit.name)
        XCTAssertTrue(unit.name.allSatisfy { $0.isLetter || $0.isNumber || "-_.".contains($0) }, unit.name)
        // The published value for "foobar" (FNV-1a, 32 bits).
        XCTAssertEqual(ServiceUnit.checksum("foobar"), "bf9cf968")
        XCTAssertEqual(ServiceUnit.checksum(""), "811c9dc5")
    }
}
