import FerryTestSupport
import Foundation
import XCTest

/// The command over an object storage that verifies every request.
final class RemoteCommandTests: XCTestCase {
    private func begin(_ workshop: Workshop, _ storage: StrictStorage) throws {
        try workshop.sql("a.sqlite", Workshop.music)
        try workshop.ferry(over: storage, "init", "a.sqlite", storage.place(), "--name", "laptop", "--open")
        try workshop.ferry(over: storage, "join", "b.sqlite", storage.place(), "--name", "phone")
    }

    func testTwoDevicesShareABucket() throws {
        let (workshop, storage) = (try Workshop(), try StrictStorage())
        try begin(workshop, storage)
        try workshop.sql("a.sqlite", "UPDATE artist SET name = 'heard' WHERE id = 1")
        for name in ["a.sqlite", "b.sqlite"] { try workshop.ferry(over: storage, "sync", name) }
        XCTAssertEqual(try workshop.sql("b.sqlite", "SELECT name FROM artist WHERE id = 1"), "heard\n")
        let status = try workshop.ferry(over: storage, "status", "a.sqlite", "--json").json()
        let container = try XCTUnwrap(status["container"] as? [String: Any])
        XCTAssertEqual(container["kind"] as? String, "s3")
        XCTAssertEqual(
            container["path"] as? String,
            "s3://music-bucket/music?endpoint=http%3A%2F%2F127.0.0.1%3A\(storage.port)&region=eu-1")
        XCTAssertTrue(try storage.keys().contains("music/container.json"))
        XCTAssertTrue(try storage.keys().contains("music/latest"))
        XCTAssertFalse(try storage.keys().contains { $0.contains("probe") })
        try workshop.ferry(over: storage, "doctor", "a.sqlite")
        try workshop.ferry(over: storage, "verify", "b.sqlite", "--deep")
    }

    func testOptionsBecomeParametersOfTheLocation() throws {
        let (workshop, storage) = (try Workshop(), try StrictStorage())
        try workshop.sql("a.sqlite", Workshop.music)
        let report = try workshop.ferry(
            over: storage, "init", "a.sqlite", "s3://music-bucket/x?region=us-1", "--endpoint", storage.endpoint,
            "--region", "eu-1",
            "--style", "path", "--json", "--open"
        ).json()
        XCTAssertEqual(
            report["path"] as? String,
            "s3://music-bucket/x?endpoint=http%3A%2F%2F127.0.0.1%3A\(storage.port)&region=eu-1&style=path")
        let wrong = [
            ["~/music", "--region", "eu-1"], ["s3://bucket/x", "--style", "other"],
            ["s3://bucket/x", "--endpoint", "http://example.net"],
            ["s3://KEY:ferry-secret@bucket/x"], ["gs://bucket/x"],
        ]
        for arguments in wrong {
            let outcome = try workshop.run([Workshop.binary, "join", "c.sqlite"] + arguments)
            XCTAssertEqual(outcome.status, 64, outcome.errors)
            XCTAssertFalse((outcome.output + outcome.errors).contains("ferry-secret"), outcome.errors)
        }
    }

    func testImportJoinsABucketByTheSameOptions() throws {
        let (workshop, storage) = (try Workshop(), try StrictStorage())
        try begin(workshop, storage)
        try workshop.ferry(over: storage, "export", "a.sqlite", "backup.ferry")
        let options = ["--container", "s3://music-bucket/music", "--endpoint", storage.endpoint, "--region", "eu-1"]
        let outcome = try workshop.run(
            [Workshop.binary, "import", "new.sqlite", "backup.ferry", "--json"] + options,
            environment: storage.environment)
        XCTAssertEqual(outcome.status, 0, outcome.errors)
        XCTAssertEqual(try outcome.json()["outcome"] as? String, "joined")
        try workshop.ferry(over: storage, "sync", "new.sqlite")
        let wrong = try workshop.run([Workshop.binary, "import", "c.sqlite", "backup.ferry", "--region", "eu-1"])
        XCTAssertEqual(wrong.status, 64, wrong.errors)
    }

    func testInitWhereListingsLagMakesAContainerThatIsThere() throws {
        for isSealed in [false, true] {
            let (workshop, storage) = (try Workshop(), try StrictStorage())
            try workshop.sql("a.sqlite", Workshop.music)
            try storage.control(["lag": true])
            try workshop.ferry(
                over: storage, "init", "a.sqlite", storage.place(), "--name", "laptop",
                isSealed ? "--no-recovery" : "--open")
            for _ in 0..<2 { try workshop.ferry(over: storage, "sync", "a.sqlite") }
            try storage.control(["lag": false])
            try workshop.ferry(over: storage, "sync", "a.sqlite")
            if isSealed { continue }
            try workshop.ferry(over: storage, "join", "b.sqlite", storage.place(), "--name", "phone")
            XCTAssertEqual(
                try workshop.sql("b.sqlite", "SELECT count(*) FROM artist"),
                try workshop.sql("a.sqlite", "SELECT count(*) FROM artist"))
        }
    }

    func testWatchesOverABucketKeepBothSidesInStepAlsoThroughFaults() throws {
        let (workshop, storage) = (try Workshop(), try StrictStorage())
        try begin(workshop, storage)
        let watches = try ["a.sqlite", "b.sqlite"].map { try Watch(workshop, $0, environment: storage.environment) }
        for watch in watches { XCTAssertNotNil(watch.event { $0["event"] as? String == "synced" }) }
        try storage.control([
            "faults": [
                ["method": "*", "action": "503", "times": 6], ["method": "*", "action": "done-drop", "times": 3],
            ]
        ])
        try workshop.sql("a.sqlite", "UPDATE artist SET name = 'heard' WHERE id = 1")
        XCTAssertNotNil(watches[1].event { ($0["replayed"] as? [String: Int])?["changes"] == 1 })
        try workshop.sql("b.sqlite", "UPDATE artist SET name = 'answered' WHERE id = 2")
        XCTAssertNotNil(watches[0].event { ($0["replayed"] as? [String: Int])?["changes"] == 1 })
        for watch in watches {
            watch.send(SIGTERM)
            XCTAssertEqual(watch.wait(), 0)
        }
    }

    func testWhatTheStorageRefusesIsASentenceWithAStatus() throws {
        let (workshop, storage) = (try Workshop(), try StrictStorage())
        try begin(workshop, storage)
        try workshop.sql("a.sqlite", "UPDATE artist SET name = 'x' WHERE id = 1")
        func sync(_ environment: [String: String], status: Int32, _ code: String, _ words: String) throws {
            let outcome = try workshop.run([Workshop.binary, "sync", "a.sqlite", "--json"], environment: environment)
            XCTAssertEqual(outcome.status, status, outcome.output)
            let error = try XCTUnwrap(outcome.json()["error"] as? [String: Any])
            XCTAssertEqual(error["code"] as? String, code)
            XCTAssertTrue((error["message"] as? String)?.contains(words) ?? false, outcome.output)
            XCTAssertFalse(outcome.output.contains(StrictStorage.secret))
        }
        let wrong = ["AWS_ACCESS_KEY_ID": StrictStorage.key, "AWS_SECRET_ACCESS_KEY": "wrong"]
        try sync(wrong, status: 77, "accessDenied", "the secret does not belong to the access key")
        let none = ["AWS_ACCESS_KEY_ID": "", "HOME": workshop.folder.path, "AWS_PROFILE": "none"]
        try sync(none, status: 78, "credentialsMissing", "aws configure")
        for environment in [wrong, none] {
            let report = try workshop.run([Workshop.binary, "doctor", "a.sqlite"], environment: environment)
            XCTAssertTrue(report.output.contains("Mend the credentials"), report.output)
            XCTAssertFalse(report.output.contains("Bring the folder back"), report.output)
        }
        try storage.control(["deny": ["PUT"]])
        try sync(storage.environment, status: 77, "accessDenied", "write")
        try storage.control(["reset": true, "delete": ["music/container.json"]])
        try sync(storage.environment, status: 69, "containerEmpty", "container.json")
        let status = try workshop.ferry(over: storage, "status", "a.sqlite")
        XCTAssertTrue(status.output.contains("not published") || status.output.contains("1 change"), status.output)
    }

    func testInitMakesNothingWhereTheStorageRefuses() throws {
        let (workshop, storage) = (try Workshop(), try StrictStorage())
        try workshop.sql("a.sqlite", Workshop.music)
        for method in ["GET", "PUT", "DELETE"] {
            try storage.control(["reset": true, "deny": [method]])
            try workshop.ferry(over: storage, "init", "a.sqlite", storage.place(), "--open", status: 77)
            XCTAssertFalse(try storage.keys().contains("music/container.json"), method)
        }
        XCTAssertEqual(
            try workshop.sql("a.sqlite", "SELECT count(*) FROM sqlite_schema WHERE name LIKE 'ferry%'"), "0\n")
        try storage.control(["reset": true])
        try workshop.ferry(over: storage, "init", "a.sqlite", storage.place(), "--open")
    }

    func testAFolderMovesIntoABucket() throws {
        let (workshop, storage) = (try Workshop(), try StrictStorage())
        try workshop.beginTwo()
        let root = workshop.folder.appendingPathComponent("shared").path
        var objects: [String: String] = [:]
        for path in try FileManager.default.subpathsOfDirectory(atPath: root) {
            guard let data = FileManager.default.contents(atPath: root + "/" + path) else { continue }
            objects["music/" + path] = data.base64EncodedString()
        }
        try storage.control(["put": objects])
        for name in ["a.sqlite", "b.sqlite"] { try workshop.ferry(over: storage, "relocate", name, storage.place()) }
        try FileManager.default.removeItem(atPath: root)
        try workshop.sql("b.sqlite", "UPDATE artist SET name = 'moved' WHERE id = 1")
        for name in ["b.sqlite", "a.sqlite"] { try workshop.ferry(over: storage, "sync", name) }
        XCTAssertEqual(try workshop.sql("a.sqlite", "SELECT name FROM artist WHERE id = 1"), "moved\n")
    }

    // MARK: Secrets

    /// No output, no file and no object has a part of eight bytes of a key.
    func testNoSecretIsAnywhereWhateverFails() throws {
        let (workshop, storage) = (try Workshop(), try StrictStorage())
        let secret = "Sq7vXw2LpR9tKm4ZbN8cHd3F"
        try storage.control(["keys": ["AKIDFERRYSECRET1": secret]])
        let environment = [
            "AWS_ACCESS_KEY_ID": "AKIDFERRYSECRET1", "AWS_SECRET_ACCESS_KEY": secret,
            "AWS_SESSION_TOKEN": "tOk3nTok3nTOKEN",
        ]
        try workshop.sql("a.sqlite", Workshop.music)
        var said = ""
        func run(_ arguments: String...) throws {
            let outcome = try workshop.run([Workshop.binary] + arguments + ["--verbose"], environment: environment)
            said += outcome.output + outcome.errors
        }
        try run("init", "a.sqlite", storage.place(), "--open")
        try run("join", "b.sqlite", storage.place())
        let orders: [[String: Any]] = [
            ["deny": ["GET"]], ["deny": ["PUT"]], ["clock": 90_000], ["keys": ["OTHER": "x"]],
            ["keys": ["AKIDFERRYSECRET1": secret], "faults": [["method": "*", "action": "503", "times": 30]]],
            ["faults": [["method": "*", "action": "drop", "times": 30]]],
        ]
        for (number, order) in orders.enumerated() {
            try storage.control(order)
            try workshop.sql("a.sqlite", "UPDATE artist SET name = 'x\(number)' WHERE id = 1")
            for command in ["sync", "status", "doctor", "devices", "compact", "log"] { try run(command, "a.sqlite") }
            try storage.control(["reset": true])
        }
        XCTAssertTrue(said.contains("s3://"), said)
        let parts = [secret, "tOk3nTok3nTOKEN", "AKIDFERRYSECRET1"].flatMap { text in
            stride(from: 0, through: text.count - 8, by: 1).map { String(text.dropFirst($0).prefix(8)) }
        }
        for part in parts { XCTAssertFalse(said.contains(part), part) }
        for path in try FileManager.default.subpathsOfDirectory(atPath: workshop.folder.path) {
            guard let data = FileManager.default.contents(atPath: workshop.path(path)) else { continue }
            for part in parts { XCTAssertNil(data.firstRange(of: Data(part.utf8)), "\(path) has \(part)") }
        }
    }
}
