import Foundation
import XCTest

/// Sealed containers by the command: each computer has a key store of its own.
final class SealedCommandTests: XCTestCase {
    /// A computer's key store, as the command finds it.
    private func keys(_ workshop: Workshop, _ computer: String) -> [String: String] {
        ["FERRY_KEYS": workshop.path("keys-\(computer)")]
    }

    private func run(
        _ workshop: Workshop, _ computer: String, _ arguments: [String], input: String = "", code: String? = nil,
        status: Int32 = 0, file: StaticString = #filePath, line: UInt = #line
    ) throws -> Outcome {
        var environment = keys(workshop, computer)
        if let code { environment["FERRY_CODE"] = code }
        let outcome = try workshop.run([Workshop.binary] + arguments, input: input, environment: environment)
        XCTAssertEqual(outcome.status, status, outcome.output + outcome.errors, file: file, line: line)
        return outcome
    }

    /// A sealed container on a laptop.
    private func begin() throws -> Workshop {
        let workshop = try Workshop()
        try workshop.sql("a.sqlite", Workshop.music)
        let made = try run(
            workshop, "laptop",
            ["init", "a.sqlite", "shared", "--name", "laptop", "--recovery-to", workshop.recovery])
        XCTAssertTrue(made.output.contains("ferry invite a.sqlite"), made.output)
        return workshop
    }

    func testFilesUnderAKeyThatHasNotArrivedAreAWarning() throws {
        for verb in ["rotate", "renew"] {
            let workshop = try beginTwo()
            _ = try run(workshop, "laptop", ["sync", "a.sqlite"])
            _ = try run(workshop, "phone", ["keys", "b.sqlite", verb])
            try workshop.sql("b.sqlite", "INSERT INTO genre(name) VALUES ('new')")
            _ = try run(workshop, "phone", ["sync", "b.sqlite"])
            let report = try run(workshop, "laptop", ["doctor", "a.sqlite", "--json"]).json()
            let findings = try XCTUnwrap(report["findings"] as? [[String: Any]])
            XCTAssertEqual(findings.filter { $0["severity"] as? String == "fault" }.count, 0, "\(verb): \(findings)")
            if verb == "rotate" {
                XCTAssertTrue(
                    findings.contains { ($0["problem"] as? String ?? "").hasPrefix("Its head: ") }, "\(findings)")
            }
            _ = try run(workshop, "laptop", ["sync", "a.sqlite"])
            let rest =
                try run(workshop, "laptop", ["doctor", "a.sqlite", "--json"]).json()["findings"] as? [[String: Any]]
            XCTAssertEqual(rest?.filter { $0["severity"] as? String != "note" }.count, 0, "\(verb): \(rest ?? [])")
        }
    }

    private func assertSameRows(_ workshop: Workshop, file: StaticString = #filePath, line: UInt = #line) throws {
        let query =
            "SELECT * FROM artist ORDER BY 1; SELECT title FROM song ORDER BY 1; SELECT name FROM genre ORDER BY 1"
        let rows = try workshop.sql("a.sqlite", query)
        XCTAssertEqual(rows.split(separator: "\n").count, 7, file: file, line: line)
        XCTAssertEqual(rows, try workshop.sql("b.sqlite", query), file: file, line: line)
    }

    private func invitation(_ workshop: Workshop) throws -> (words: String, text: String) {
        let report = try run(workshop, "laptop", ["invite", "a.sqlite", "--json"]).json()
        let code = try XCTUnwrap(report["code"] as? [String: String])
        return (try XCTUnwrap(code["words"]), try XCTUnwrap(code["text"]))
    }

    /// Lets a phone in by a code.
    private func beginTwo() throws -> Workshop {
        let workshop = try begin()
        let (words, _) = try invitation(workshop)
        _ = try run(
            workshop, "phone", ["join", "b.sqlite", "shared", "--name", "phone", "--code", "-", "--no-wait"],
            input: words,
            status: 75)
        _ = try run(workshop, "laptop", ["sync", "a.sqlite"])
        let joined = try run(
            workshop, "phone", ["join", "b.sqlite", "shared", "--name", "phone", "--code", "-", "--no-wait"],
            input: words
        ).output
        XCTAssertTrue(joined.contains("Let in."), joined)
        XCTAssertFalse(joined.contains("other screen"), "no screen shows words after a code: \(joined)")
        _ = try run(workshop, "laptop", ["sync", "a.sqlite"])
        return workshop
    }

    func testADeviceIsLetInByACode() throws {
        let workshop = try beginTwo()
        try assertSameRows(workshop)
        let status = try run(workshop, "phone", ["status", "b.sqlite"]).output
        XCTAssertTrue(status.contains("Sealed; 2 members."), status)
        let devices = try run(workshop, "laptop", ["devices", "a.sqlite", "--json"]).json()
        let told = try XCTUnwrap(devices["devices"] as? [[String: Any]])
        XCTAssertEqual(told.map { $0["membership"] as? String }, ["founder", "member"])
        XCTAssertEqual(told.map { $0["way"] as? String }, [nil, "code"])
    }

    /// Leaving needs nobody's permission.
    func testADatabaseWithoutItsKeyLeaves() throws {
        for isFolderAway in [false, true] {
            let workshop = try beginTwo()
            if isFolderAway {
                try FileManager.default.moveItem(atPath: workshop.path("shared"), toPath: workshop.path("away"))
            }
            let rows = try workshop.rows("b.sqlite")
            let told = try run(workshop, "other", ["leave", "b.sqlite"]).errors
            XCTAssertTrue(told.contains("Nobody was told that this device has left."), told)
            XCTAssertTrue(told.contains("`ferry devices … remove phone`"), told)
            XCTAssertFalse(told.contains("enrol"), told)
            XCTAssertFalse(told.contains("relocate"), told)
            XCTAssertEqual(try workshop.sql("b.sqlite", "SELECT name FROM sqlite_schema WHERE name LIKE 'ferry%'"), "")
            XCTAssertEqual(try workshop.rows("b.sqlite"), rows)
        }
    }

    func testADeviceIsLetInByWords() throws {
        let workshop = try begin()
        let asked = try run(workshop, "phone", ["join", "b.sqlite", "shared", "--no-wait"], status: 75)
        let words = try XCTUnwrap(asked.output.split(separator: "\n").first { $0.hasPrefix("    ") })
            .trimmingCharacters(in: .whitespaces)
        let listed = try run(workshop, "laptop", ["approve", "a.sqlite", "--json"]).json()
        let claims = try XCTUnwrap(listed["asking"] as? [[String: Any]])
        XCTAssertEqual(claims.map { $0["words"] as? String }, [words])
        XCTAssertTrue(try run(workshop, "laptop", ["status", "a.sqlite"]).output.contains("ferry approve"))
        let wrong = try run(
            workshop, "laptop", ["approve", "a.sqlite", "zagud zarug ziguj zirul zogun zorur"], status: 1)
        XCTAssertTrue(wrong.errors.contains("shows these words"), wrong.errors)
        let there = try run(workshop, "laptop", ["approve", "a.sqlite", words]).output
        let here = try run(workshop, "phone", ["join", "b.sqlite", "shared", "--no-wait"]).output
        let answer = try XCTUnwrap(there.split(separator: ":").last).trimmingCharacters(in: .whitespacesAndNewlines)
        XCTAssertTrue(here.contains("other screen"), here)
        XCTAssertTrue(here.contains(answer), here)
    }

    func testADeviceIsLetInByTheRecoveryCode() throws {
        let workshop = try begin()
        let code = try String(contentsOfFile: workshop.recovery, encoding: .utf8)
        let rights = try FileManager.default.attributesOfItem(atPath: workshop.recovery)[.posixPermissions]
        XCTAssertEqual(rights as? Int, 0o600)
        let joined = try run(workshop, "phone", ["join", "b.sqlite", "shared", "--recovery", "-"], input: code).output
        XCTAssertFalse(joined.contains("other screen"), "the recovery code needs no other screen: \(joined)")
        try assertSameRows(workshop)
        _ = try run(workshop, "laptop", ["keys", "a.sqlite", "check-recovery"], input: code)
        let (words, _) = try invitation(workshop)
        _ = try run(workshop, "laptop", ["keys", "a.sqlite", "check-recovery"], input: words, status: 77)
    }

    func testCodesAreNoArguments() throws {
        let workshop = try begin()
        let (words, _) = try invitation(workshop)
        for option in ["--code", "--recovery"] {
            let refused = try run(workshop, "phone", ["join", "b.sqlite", "shared", option, words], status: 64)
            XCTAssertFalse(refused.errors.contains(words), refused.errors)
        }
    }

    func testCodesAreReadFromFilesAndFromTheEnvironment() throws {
        let workshop = try begin()
        let (words, text) = try invitation(workshop)
        try words.write(toFile: workshop.path("code"), atomically: false, encoding: .utf8)
        _ = try run(
            workshop, "phone", ["join", "b.sqlite", "shared", "--code-file", "code", "--no-wait"], status: 75)
        _ = try run(workshop, "laptop", ["sync", "a.sqlite"])
        _ = try run(workshop, "phone", ["join", "b.sqlite", "shared", "--no-wait"], code: text)
    }

    func testAfterACodeThatFailedThereAreWords() throws {
        let workshop = try begin()
        let (words, _) = try invitation(workshop)
        _ = try run(workshop, "laptop", ["invite", "a.sqlite", "--cancel"])
        _ = try run(
            workshop, "phone", ["join", "b.sqlite", "shared", "--code", "-", "--no-wait"], input: words, status: 75)
        _ = try run(workshop, "laptop", ["sync", "a.sqlite"])
        let told = try run(workshop, "phone", ["join", "b.sqlite", "shared", "--no-wait"], status: 75).output
        let json = try run(workshop, "phone", ["join", "b.sqlite", "shared", "--no-wait", "--json"], status: 75).json()
        let shown = try XCTUnwrap(json["words"] as? String)
        XCTAssertTrue(told.contains(shown), told)
        _ = try run(workshop, "laptop", ["approve", "a.sqlite", shown])
        _ = try run(workshop, "phone", ["join", "b.sqlite", "shared", "--no-wait"])
        try assertSameRows(workshop)
    }

    // MARK: Sealed since

    func testWhoeverIsOutsideASealIsToldToEnrol() throws {
        let workshop = try Workshop()
        try workshop.begin(isOpen: true)
        try workshop.join("b.sqlite", "--name", "phone")
        for options in [[], ["--anew"]] {
            _ = try workshop.run(
                [Workshop.binary, "seal", "a.sqlite", "--recovery-to", workshop.path("code\(options.count)")] + options)
            for verb in [["sync"], ["status"], ["status", "--check"], ["doctor"]] {
                let told = try workshop.ferry(verb[0], "b.sqlite", verb.count > 1 ? verb[1] : "--verbose")
                XCTAssertTrue((told.output + told.errors).contains("ferry enrol"), "\(verb): \(told)")
            }
            let code = try String(contentsOfFile: workshop.path("code\(options.count)"), encoding: .utf8)
            let enrolled = try workshop.run([Workshop.binary, "enrol", "b.sqlite", "--recovery", "-"], input: code)
            XCTAssertEqual(enrolled.status, 0, enrolled.errors)
            try workshop.succeed("sync", "a.sqlite")
        }
    }

    func testCarryPassesFilesOfTheOpenTimeOver() throws {
        let workshop = try Workshop()
        try workshop.beginTwo(isOpen: true)
        try workshop.succeed("carry", "shared", "other")
        try workshop.succeed("seal", "a.sqlite", "--recovery-to", workshop.recovery)
        let told = try workshop.succeed("carry", "shared", "other", "--json").json()
        XCTAssertGreaterThan(try XCTUnwrap(told["openTimeFiles"] as? Int), 0)
        XCTAssertEqual((told["leftBehind"] as? [Any])?.count, 0)
        let again = try workshop.succeed("carry", "shared", "other")
        XCTAssertTrue(again.errors.contains("before the container was sealed"), again.errors)
    }

    // MARK: Dry runs and places of keys

    func testADryRunLetsNoDeviceIn() throws {
        let workshop = try begin()
        let code = try String(contentsOfFile: workshop.recovery, encoding: .utf8)
        let before = try workshop.files(suffix: "").count
        for _ in 0..<2 {
            let told = try run(
                workshop, "phone", ["join", "b.sqlite", "shared", "--recovery", "-", "--dry-run"], input: code)
            XCTAssertTrue(told.output.contains("Nothing was changed."), told.output)
            XCTAssertTrue(told.output.contains("bring 9 changes from the container"), told.output)
        }
        XCTAssertEqual(try workshop.files(suffix: "").count, before)
        XCTAssertFalse(FileManager.default.fileExists(atPath: workshop.path("keys-phone")))
        let (words, _) = try invitation(workshop)
        let refused = try run(
            workshop, "phone", ["join", "b.sqlite", "shared", "--code", "-", "--dry-run"], input: words, status: 77)
        XCTAssertTrue(refused.errors.contains("--recovery -"), refused.errors)
        let devices = try run(workshop, "laptop", ["devices", "a.sqlite", "--json"]).json()
        XCTAssertEqual((devices["devices"] as? [Any])?.count, 1)
        // Somebody has let the device in, and the join is still to come.
        _ = try run(
            workshop, "phone", ["join", "b.sqlite", "shared", "--code", "-", "--no-wait"], input: words, status: 75)
        _ = try run(workshop, "laptop", ["sync", "a.sqlite"])
        XCTAssertTrue(
            try run(workshop, "phone", ["join", "b.sqlite", "shared", "--dry-run"]).output.contains(
                "Nothing was changed."))
        _ = try run(workshop, "phone", ["join", "b.sqlite", "shared", "--code", "-", "--no-wait"], input: words)
        try assertSameRows(workshop)
    }

    func testAMissingKeyIsNoUnreachableContainer() throws {
        let workshop = try beginTwo()
        try FileManager.default.moveItem(atPath: workshop.path("keys-phone"), toPath: workshop.path("away"))
        let check = try run(workshop, "phone", ["status", "b.sqlite", "--check"], status: 77)
        XCTAssertTrue(check.output.hasPrefix("noAccess: This computer has no key"), check.output)
        let told = try run(workshop, "phone", ["status", "b.sqlite"])
        XCTAssertFalse(told.output.contains("not reachable"), told.output)
    }

    /// A full disk or a bad restore leaves an empty key file: it counts as a missing key, and the remedy works.
    func testADamagedKeyFileIsAMissingKey() throws {
        let workshop = try beginTwo()
        for name in try FileManager.default.contentsOfDirectory(atPath: workshop.path("keys-phone"))
        where name.hasSuffix(".key") {
            let file = FileHandle(forWritingAtPath: workshop.path("keys-phone/" + name))
            try file?.truncate(atOffset: 0)
        }
        let synced = try run(workshop, "phone", ["sync", "b.sqlite"], status: 77)
        XCTAssertTrue(synced.errors.contains("cannot be read") && synced.errors.contains("ferry enrol"), synced.errors)
        let examined = try run(workshop, "phone", ["doctor", "b.sqlite"], status: 65).output
        XCTAssertFalse(examined.contains("Bring the folder back"), examined)
        let (words, _) = try invitation(workshop)
        _ = try run(workshop, "phone", ["enrol", "b.sqlite", "--code", "-", "--no-wait"], input: words, status: 75)
        _ = try run(workshop, "laptop", ["sync", "a.sqlite"])
        _ = try run(workshop, "phone", ["enrol", "b.sqlite", "--code", "-", "--no-wait"], input: words)
        _ = try run(workshop, "laptop", ["sync", "a.sqlite"])
        try assertSameRows(workshop)
    }

    func testKeysInTheSharedFolderAreNeverUsed() throws {
        let workshop = try beginTwo()
        let inside = workshop.path("shared/keys")
        try FileManager.default.moveItem(atPath: workshop.path("keys-phone"), toPath: inside)
        for arguments in [["sync", "b.sqlite"], ["keys", "b.sqlite", "renew"], ["status", "b.sqlite", "--check"]] {
            let outcome = try workshop.run([Workshop.binary] + arguments, environment: ["FERRY_KEYS": inside])
            XCTAssertEqual(outcome.status, 77, outcome.output + outcome.errors)
            XCTAssertTrue((outcome.output + outcome.errors).contains("inside the shared folder"), outcome.output)
        }
    }

    func testAKeyStoreMayBeALink() throws {
        let workshop = try beginTwo()
        try FileManager.default.moveItem(atPath: workshop.path("keys-phone"), toPath: workshop.path("elsewhere"))
        try FileManager.default.createSymbolicLink(
            atPath: workshop.path("keys-phone"), withDestinationPath: workshop.path("elsewhere"))
        _ = try run(workshop, "phone", ["sync", "b.sqlite"])
        _ = try run(workshop, "phone", ["keys", "b.sqlite", "renew"])
        // The directory behind the link counts.
        try FileManager.default.setAttributes([.posixPermissions: 0o777], ofItemAtPath: workshop.path("elsewhere"))
        let exposed = try run(workshop, "phone", ["sync", "b.sqlite"], status: 77)
        XCTAssertTrue(exposed.errors.contains("chmod 700"), exposed.errors)
    }

    func testNewKeysLeaveMirrorsAlone() throws {
        let workshop = try beginTwo()
        try FileManager.default.createDirectory(atPath: workshop.path("Ma"), withIntermediateDirectories: false)
        _ = try run(workshop, "laptop", ["documents", "a.sqlite", "mirror", "Ma"])
        _ = try run(workshop, "laptop", ["keys", "a.sqlite", "renew"])
        try Data("dear".utf8).write(to: URL(fileURLWithPath: workshop.path("Ma/letter.txt")))
        let long = [FileAttributeKey.modificationDate: Date(timeIntervalSinceNow: -60)]
        try FileManager.default.setAttributes(long, ofItemAtPath: workshop.path("Ma/letter.txt"))
        let synced = try run(workshop, "laptop", ["sync", "a.sqlite"])
        XCTAssertFalse((synced.output + synced.errors).contains("rests"), synced.errors)
        _ = try run(workshop, "phone", ["sync", "b.sqlite"])
        XCTAssertTrue(
            try run(workshop, "phone", ["documents", "b.sqlite", "list"]).output.contains("letter.txt"))
    }

    func testADeviceThatWasRemovedAndCameBackIsToldInTwoWords() throws {
        let workshop = try beginTwo()
        let code = try String(contentsOfFile: workshop.recovery, encoding: .utf8)
        _ = try run(workshop, "laptop", ["devices", "a.sqlite", "remove", "phone"])
        _ = try run(workshop, "phone", ["sync", "b.sqlite"], status: 77)
        // There is nothing to wait for.
        let check = try run(workshop, "phone", ["status", "b.sqlite", "--check", "--json"], status: 77).json()
        XCTAssertEqual((check["concerns"] as? [[String: Any]])?.map { $0["kind"] as? String }, ["noAccess"])
        _ = try run(workshop, "phone", ["enrol", "b.sqlite", "--recovery", "-"], input: code)
        _ = try run(workshop, "phone", ["sync", "b.sqlite"])
        _ = try run(workshop, "laptop", ["sync", "a.sqlite"])
        let status = try run(workshop, "laptop", ["status", "a.sqlite"]).output
        XCTAssertTrue(status.contains("removed; copied or restored as"), status)
    }

    func testAMembershipFoundedAnewSaysWhoCanReadTheFormerFiles() throws {
        let workshop = try beginTwo()
        let sealed = try run(
            workshop, "laptop", ["seal", "a.sqlite", "--anew", "--recovery-to", workshop.path("new.recovery")])
        XCTAssertTrue((sealed.output + sealed.errors).contains("former members"), sealed.output)
        _ = try run(workshop, "laptop", ["sync", "a.sqlite"])
        let doctor = try workshop.run([Workshop.binary, "doctor", "a.sqlite"], environment: keys(workshop, "laptop"))
        XCTAssertFalse(doctor.output.contains("everybody who has the folder"), doctor.output)
        XCTAssertTrue(doctor.output.contains("the former members can read them"), doctor.output)
    }

    // MARK: Without a terminal

    func testWithoutATerminalInitSaysWhatToType() throws {
        let workshop = try Workshop()
        try workshop.sql("my music.sqlite", Workshop.music)
        let refused = try run(workshop, "laptop", ["init", "my music.sqlite", "shared"], status: 64)
        XCTAssertEqual(refused.output, "")
        XCTAssertTrue(refused.errors.contains("--no-recovery") && refused.errors.contains("--open"), refused.errors)
        XCTAssertFalse(FileManager.default.fileExists(atPath: workshop.path("shared")), "nothing was made")
        XCTAssertFalse(FileManager.default.fileExists(atPath: workshop.path("keys-laptop")), "nothing was made")
        let scripted = try run(workshop, "laptop", ["init", "my music.sqlite", "shared", "--json"], status: 64).json()
        XCTAssertEqual((scripted["error"] as? [String: Any])?["code"] as? String, "invalidArgument")
        // What stands between the backquotes works as it is.
        let parts = refused.errors.split(separator: "`")
        let command = try XCTUnwrap(parts.count == 3 ? String(parts[1]) : nil, refused.errors)
        XCTAssertEqual(command, "ferry init 'my music.sqlite' shared --recovery-to 'my music.recovery'")
        let typed = try workshop.run(
            ["bash", "-c", "ferry() { \"$FERRY\" \"$@\"; }; " + command],
            environment: keys(workshop, "laptop").merging(["FERRY": Workshop.binary]) { $1 })
        XCTAssertEqual(typed.status, 0, typed.errors)
        let code = try String(contentsOfFile: workshop.path("my music.recovery"), encoding: .utf8)
        XCTAssertEqual(code.split(separator: " ").count, 9)
        XCTAssertFalse(typed.output.contains(code.prefix(11)), typed.output)
    }

    func testWithoutATerminalAScriptSaysWhatBecomesOfTheCode() throws {
        let workshop = try Workshop()
        for name in ["a", "b", "c", "d"] { try workshop.sql("\(name).sqlite", Workshop.music) }
        func report(_ name: String, _ option: String...) throws -> [String: Any] {
            try run(workshop, "laptop", ["init", "\(name).sqlite", "box-\(name)", "--json"] + option).json()
        }
        let kept = try report("a", "--recovery-to", "code")
        XCTAssertEqual(kept["recovery"] as? String, "file")
        XCTAssertEqual(kept["sealed"] as? Bool, true)
        XCTAssertEqual(try report("b", "--no-recovery")["recovery"] as? String, "none")
        let open = try report("c", "--open")
        XCTAssertEqual(open["sealed"] as? Bool, false)
        XCTAssertNil(open["recovery"])
        // A file that is there is not written over, and an open container has no code.
        let taken = try run(workshop, "laptop", ["init", "d.sqlite", "box-d", "--recovery-to", "code"], status: 64)
        XCTAssertTrue(taken.errors.contains("already"), taken.errors)
        _ = try run(workshop, "laptop", ["init", "d.sqlite", "box-d", "--recovery-to", "x", "--open"], status: 64)
        _ = try run(workshop, "laptop", ["init", "d.sqlite", "box-d", "--no-recovery", "--open"], status: 64)
        XCTAssertFalse(FileManager.default.fileExists(atPath: workshop.path("box-d")))
    }

    func testATerminalShowsTheRecoveryCodeOnce() throws {
        let workshop = try Workshop()
        try workshop.sql("a.sqlite", Workshop.music)
        let environment = keys(workshop, "laptop").merging(["TERM": "dumb"]) { $1 }
        let made = try workshop.onTerminal(
            ["init", "a.sqlite", "shared", "--name", "laptop", "--quiet"], environment: environment)
        XCTAssertEqual(made.status, 0, made.output)
        let words = made.output.split(whereSeparator: \.isNewline).filter { $0.hasPrefix("    ") }
        XCTAssertEqual(words.count, 1, made.output)
        let code = try XCTUnwrap(words.first).trimmingCharacters(in: .whitespacesAndNewlines)
        _ = try run(workshop, "laptop", ["keys", "a.sqlite", "check-recovery"], input: code)
        _ = try run(workshop, "phone", ["join", "b.sqlite", "shared", "--recovery", "-"], input: code)
        try assertSameRows(workshop)
        // What a terminal shows and a file keeps are the ways; JSON never has the code.
        try workshop.sql("c.sqlite", Workshop.music)
        let refused = try workshop.onTerminal(["init", "c.sqlite", "other", "--json"], environment: environment)
        XCTAssertEqual(refused.status, 64, refused.output)
    }

    func testKeysInTheSharedFolderAreRefused() throws {
        let workshop = try Workshop()
        try workshop.sql("a.sqlite", Workshop.music)
        try FileManager.default.createDirectory(atPath: workshop.path("shared"), withIntermediateDirectories: false)
        let refused = try workshop.run(
            [Workshop.binary, "init", "a.sqlite", "shared", "--no-recovery"],
            environment: ["FERRY_KEYS": workshop.path("shared/keys")])
        XCTAssertEqual(refused.status, 77, refused.errors)
        XCTAssertTrue(refused.errors.contains("FERRY_KEYS"), refused.errors)
        XCTAssertEqual(try workshop.files(suffix: ""), [], "nothing was made")
    }

    func testAScriptThatJoinsWithoutACodeGetsTheWords() throws {
        let workshop = try begin()
        let asked = try run(workshop, "phone", ["join", "b.sqlite", "shared", "--json"], status: 75).json()
        XCTAssertEqual((asked["error"] as? [String: Any])?["code"] as? String, "enrolmentPending")
        let words = try XCTUnwrap(asked["words"] as? String)
        _ = try run(workshop, "laptop", ["approve", "a.sqlite", words, "--json"])
        let joined = try run(workshop, "phone", ["join", "b.sqlite", "shared", "--json"]).json()
        XCTAssertEqual((joined["container"] as? [String: Any])?["name"] as? String, "shared")
        try assertSameRows(workshop)
    }

    func testACopyThatComesInIsTold() throws {
        let workshop = try beginTwo()
        try workshop.sql("b.sqlite", ".backup '\(workshop.path("copy.sqlite"))'")
        _ = try run(workshop, "phone", ["sync", "copy.sqlite"])
        let page = try run(workshop, "laptop", ["sync", "a.sqlite", "--json"]).json()
        let copies = try XCTUnwrap(page["copies"] as? [[String: Any]])
        XCTAssertEqual(copies.map { $0["of"] as? String }, ["phone"])
        XCTAssertNil(try run(workshop, "laptop", ["sync", "a.sqlite", "--json"]).json()["copies"])
        let told = try run(workshop, "phone", ["sync", "b.sqlite"]).errors
        XCTAssertTrue(told.contains("A copy of phone came in") && told.contains("ferry devices b.sqlite remove"), told)
    }

    func testADeviceIsRemoved() throws {
        let workshop = try beginTwo()
        try workshop.sql("b.sqlite", "UPDATE artist SET name = 'by the phone' WHERE id = 1")
        _ = try run(workshop, "phone", ["sync", "b.sqlite"])
        let refused = try run(workshop, "phone", ["devices", "b.sqlite", "remove", "laptop"], status: 77)
        XCTAssertTrue(refused.errors.contains("--recovery -"), refused.errors)
        let removed = try run(workshop, "laptop", ["devices", "a.sqlite", "remove", "phone", "--json"]).json()
        XCTAssertEqual((removed["removedDevices"] as? [[String: Any]])?.map { $0["name"] as? String }, ["phone"])
        try workshop.sql("b.sqlite", "UPDATE artist SET name = 'too late' WHERE id = 2")
        let out = try run(workshop, "phone", ["sync", "b.sqlite"], status: 77)
        XCTAssertTrue(out.errors.contains("removed by laptop") && out.errors.contains("ferry enrol"), out.errors)
        XCTAssertTrue(try run(workshop, "phone", ["status", "b.sqlite"]).output.contains("removed by laptop"))
        _ = try run(workshop, "laptop", ["sync", "a.sqlite"])
        XCTAssertEqual(try workshop.sql("a.sqlite", "SELECT name FROM artist ORDER BY id"), "by the phone\nBo\n")
        XCTAssertTrue(try run(workshop, "laptop", ["devices", "a.sqlite"]).output.contains("removed"))
        // Nothing is expected of the phone any more.
        let page = try run(workshop, "laptop", ["status", "a.sqlite"]).output
        XCTAssertFalse(page.contains("not read all of it"), page)
        let devices =
            try run(workshop, "laptop", ["status", "a.sqlite", "--json"]).json()["devices"] as? [[String: Any]]
        XCTAssertEqual(devices?.map { $0["membership"] as? String }, ["removed"])
        XCTAssertEqual(devices?.map { $0["unacknowledged"] as? Int }, [0])
        // It comes back as another device.
        let (words, _) = try invitation(workshop)
        _ = try run(workshop, "phone", ["enrol", "b.sqlite", "--code", "-", "--no-wait"], input: words, status: 75)
        _ = try run(workshop, "laptop", ["sync", "a.sqlite"])
        _ = try run(workshop, "phone", ["enrol", "b.sqlite", "--code", "-", "--no-wait"], input: words)
        _ = try run(workshop, "laptop", ["sync", "a.sqlite"])
        XCTAssertEqual(try workshop.sql("a.sqlite", "SELECT name FROM artist ORDER BY id"), "by the phone\ntoo late\n")
    }

    func testADatabaseOnAnotherComputerNeedsAKey() throws {
        let workshop = try begin()
        try workshop.sql("a.sqlite", ".backup '\(workshop.path("copy.sqlite"))'")
        let missing = try run(workshop, "phone", ["sync", "copy.sqlite"], status: 77)
        XCTAssertTrue(missing.errors.contains("ferry enrol"), missing.errors)
        let report = try run(workshop, "phone", ["sync", "copy.sqlite", "--json"], status: 77).json()
        XCTAssertEqual((report["error"] as? [String: Any])?["code"] as? String, "keyMissing")
        // The status is told all the same.
        let page = try run(workshop, "phone", ["status", "copy.sqlite"]).output
        XCTAssertTrue(page.contains("ferry enrol"), page)
    }

    func testAMemberWithItsKeyIsNotEnrolled() throws {
        let workshop = try beginTwo()
        let code = try String(contentsOfFile: workshop.recovery, encoding: .utf8)
        for arguments in [["--recovery", "-"], ["--no-wait"]] {
            let refused = try run(workshop, "phone", ["enrol", "b.sqlite"] + arguments, input: code, status: 64)
            XCTAssertTrue(refused.errors.contains("ferry sync"), refused.errors)
        }
        _ = try run(workshop, "laptop", ["sync", "a.sqlite"])
        let report = try run(workshop, "laptop", ["devices", "a.sqlite", "--json"]).json()
        let devices = report["devices"] as? [[String: Any]]
        XCTAssertEqual(devices?.compactMap { $0["name"] as? String }, ["laptop", "phone"])
    }

    func testTheRecoveryCodeOfAFormerMembershipIsNotCalledRight() throws {
        let workshop = try beginTwo()
        let former = try String(contentsOfFile: workshop.recovery, encoding: .utf8)
        let place = workshop.path("anew")
        _ = try run(workshop, "laptop", ["seal", "a.sqlite", "--anew", "--recovery-to", place])
        let present = try String(contentsOfFile: place, encoding: .utf8)
        for code in [former, present] {
            let told = try run(workshop, "phone", ["keys", "b.sqlite", "check-recovery"], input: code, status: 69)
            XCTAssertTrue(told.errors.contains("founded anew"), told.errors)
        }
        _ = try run(workshop, "laptop", ["keys", "a.sqlite", "check-recovery"], input: present)
        _ = try run(workshop, "laptop", ["keys", "a.sqlite", "check-recovery"], input: former, status: 77)
        // An outage is no reason to say nothing.
        try FileManager.default.moveItem(atPath: workshop.path("shared"), toPath: workshop.path("away"))
        _ = try run(workshop, "laptop", ["keys", "a.sqlite", "check-recovery"], input: present)
    }

    func testKeysAreListedRotatedAndRenewed() throws {
        let workshop = try beginTwo()
        let before = try run(workshop, "laptop", ["keys", "a.sqlite", "--json"]).json()
        let after = try run(workshop, "laptop", ["keys", "a.sqlite", "rotate", "--json"]).json()
        func number(_ report: [String: Any]) -> Int? { (report["currentEpoch"] as? [String: Any])?["number"] as? Int }
        XCTAssertEqual(number(after), try XCTUnwrap(number(before)) + 1)
        XCTAssertEqual(after["members"] as? Int, 2)
        let renewed = try run(workshop, "phone", ["keys", "b.sqlite", "renew", "--json"]).json()
        XCTAssertNotEqual(renewed["device"] as? String, renewed["formerDevice"] as? String)
        XCTAssertTrue(try run(workshop, "laptop", ["sync", "a.sqlite"]).errors.isEmpty)
    }

    func testAnOpenContainerIsSealed() throws {
        let workshop = try Workshop()
        try workshop.sql("a.sqlite", Workshop.music)
        _ = try run(workshop, "laptop", ["init", "a.sqlite", "shared", "--open", "--name", "laptop"])
        _ = try run(workshop, "phone", ["join", "b.sqlite", "shared", "--name", "phone"])
        _ = try run(workshop, "laptop", ["sync", "a.sqlite"])
        let sealed = try run(
            workshop, "laptop", ["seal", "a.sqlite", "--recovery-to", workshop.recovery, "--json"]
        ).json()
        XCTAssertEqual(sealed["recovery"] as? String, "file")
        XCTAssertEqual((sealed["accepted"] as? [[String: Any]])?.count, 2)
        _ = try run(workshop, "phone", ["sync", "b.sqlite"], status: 77)
        let code = try String(contentsOfFile: workshop.recovery, encoding: .utf8)
        _ = try run(workshop, "phone", ["enrol", "b.sqlite", "--recovery", "-"], input: code)
        try workshop.sql("b.sqlite", "UPDATE artist SET name = 'sealed' WHERE id = 1")
        _ = try run(workshop, "phone", ["sync", "b.sqlite"])
        _ = try run(workshop, "laptop", ["sync", "a.sqlite"])
        XCTAssertEqual(try workshop.sql("a.sqlite", "SELECT name FROM artist WHERE id = 1"), "sealed\n")
    }

    func testDoctorKnowsTheMembership() throws {
        let workshop = try beginTwo()
        let report = try run(workshop, "laptop", ["doctor", "a.sqlite"]).output
        XCTAssertTrue(report.contains("2 members"), report)
        let stray = "0123456789abcdef0123456789abcdef"
        try FileManager.default.createDirectory(
            atPath: workshop.path("shared/devices/\(stray)"), withIntermediateDirectories: false)
        let examined = try run(workshop, "laptop", ["doctor", "a.sqlite", "--json"]).json()
        let findings = try XCTUnwrap(examined["findings"] as? [[String: Any]])
        XCTAssertEqual(
            findings.map { $0["problem"] as? String }, ["A directory of devices/ is of nobody: \(stray)."])
        try FileManager.default.removeItem(atPath: workshop.path("shared/devices/\(stray)"))
        let asked = try run(workshop, "tablet", ["join", "c.sqlite", "shared", "--no-wait"], status: 75)
        XCTAssertTrue(asked.output.contains("ferry approve"), asked.output)
        XCTAssertTrue(try run(workshop, "laptop", ["doctor", "a.sqlite"]).output.contains("asks to be let in"))
    }

    func testNoSecretIsInAnOutputTheFolderOrADatabase() throws {
        let workshop = try begin()
        let recovery = try String(contentsOfFile: workshop.recovery, encoding: .utf8)
            .trimmingCharacters(in: .whitespacesAndNewlines)
        let (words, text) = try invitation(workshop)
        var told = ""
        func note(_ computer: String, _ arguments: [String], input: String = "") throws {
            let outcome = try workshop.run(
                [Workshop.binary] + arguments, input: input, environment: keys(workshop, computer))
            told += outcome.output + outcome.errors
        }
        try note("phone", ["join", "b.sqlite", "shared", "--code", "-", "--no-wait", "--verbose"], input: words)
        try note("laptop", ["sync", "a.sqlite", "--verbose"])
        try note("phone", ["join", "b.sqlite", "shared", "--code", "-", "--no-wait", "--verbose"], input: words)
        for arguments in [["status"], ["devices"], ["keys"], ["doctor"], ["sync"], ["keys", "rotate"], ["log"]] {
            try note("laptop", [arguments[0], "a.sqlite"] + arguments.dropFirst() + ["--json"])
            try note("phone", [arguments[0], "b.sqlite"] + arguments.dropFirst() + ["--verbose"])
        }
        try note("phone", ["devices", "b.sqlite", "remove", "laptop", "--recovery", "-"], input: words)
        try note("phone", ["keys", "b.sqlite", "check-recovery"], input: recovery)
        var places = [("the output", Data(told.utf8))]
        for name in ["a.sqlite", "b.sqlite"] {
            places.append((name, try Data(contentsOf: workshop.folder.appendingPathComponent(name))))
        }
        for file in try workshop.files(suffix: "") where !file.hasDirectoryPath {
            places.append((file.path, try Data(contentsOf: file)))
        }
        XCTAssertGreaterThan(places.count, 6)
        for secret in [recovery, words, text] {
            for start in stride(from: 0, to: secret.count - 11, by: 6) {
                let part = Data(secret.dropFirst(start).prefix(11).utf8)
                for (place, content) in places {
                    XCTAssertNil(content.range(of: part), "a part of a secret is in \(place)")
                }
            }
        }
    }
}
