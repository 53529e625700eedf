import FerryTestSupport
import Foundation
import XCTest

/// Docs/Faults.md names the tests that prove its rows. These tests compare the page with the tests.
final class FaultTableTests: XCTestCase {
    private struct Row {
        var number: String
        var section: String
        var proof: String
    }

    /// The rows of all tables: number, fault, what the user sees, what Ferry does. Each row has its proof in the list behind the
    /// table of its section, under its number.
    private func rows() throws -> [Row] {
        let text = try String(contentsOf: packageRoot.appending(path: "Docs/Faults.md"), encoding: .utf8)
        var section = ""
        var rows: [Row] = []
        var isProof = false
        // The row whose proof the lines at hand belong to.
        var proven: Int?
        for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
            if line.hasPrefix("#") { (isProof, proven) = (false, nil) }
            if line.hasPrefix("## ") { section = String(line.dropFirst(3)) }
            if line == "Proof:" { isProof = true }
            if line.hasPrefix("| "), line.dropFirst(2).first?.isNumber ?? false {
                let cells = line.dropFirst().dropLast().split(separator: "|").map {
                    $0.trimmingCharacters(in: .whitespaces)
                }
                XCTAssertEqual(cells.count, 4, "\(line.prefix(40))…")
                XCTAssertFalse(rows.contains { $0.number == cells[0] }, "two rows have the number \(cells[0])")
                rows.append(Row(number: cells[0], section: section, proof: ""))
            }
            guard isProof else { continue }
            if let match = line.prefixMatch(of: /- (\d+[a-z]?):/) {
                proven = rows.firstIndex { $0.number == match.1 && $0.section == section }
                XCTAssertNotNil(proven, "there is a proof of \(match.1), which is no row of \(section)")
                if let row = proven { XCTAssertEqual(rows[row].proof, "", "row \(match.1) has two proofs") }
            }
            if let row = proven { rows[row].proof += line + " " }
        }
        return rows
    }

    /// The names of the test functions, by test class.
    private func tests() throws -> [String: Set<String>] {
        let folder = packageRoot.appending(path: "Tests")
        let files = FileManager.default.enumerator(at: folder, includingPropertiesForKeys: nil)
        var tests: [String: Set<String>] = [:]
        while let file = files?.nextObject() as? URL {
            guard file.pathExtension == "swift" else { continue }
            var name = ""
            for line in try String(contentsOf: file, encoding: .utf8).split(separator: "\n") {
                if let match = line.firstMatch(of: /class (\w+Tests)\b/) { name = String(match.1) }
                if let match = line.firstMatch(of: /extension (\w+Tests)\b/) { name = String(match.1) }
                if let match = line.firstMatch(of: /func test(\w+)\(/) {
                    tests[name, default: []].insert(String(match.1))
                }
            }
        }
        return tests
    }

    func testEveryTestThatTheTableNamesIsThere() throws {
        let tests = try tests()
        for row in try rows() {
            var named = ""
            for word in row.proof.matches(of: /`?[A-Z][A-Za-z0-9]+`?/) {
                let name = word.output.filter { $0 != "`" }
                if word.output.hasPrefix("`") {
                    named = String(name)
                    XCTAssertNotNil(tests[named], "row \(row.number) names \(named), which is not there")
                } else if name.count > 11 {
                    XCTAssertTrue(
                        tests[named]?.contains(String(name)) ?? false,
                        "row \(row.number) names \(named): \(name), which is not there")
                }
            }
        }
    }

    func testEveryFaultHasItsRowAndItsProof() throws {
        let rows = try rows()
        for number in 1...35 {
            XCTAssertTrue(rows.contains { $0.number == "\(number)" }, "the fault \(number) has no row")
        }
        for row in rows where Self.proven.contains(row.section) {
            XCTAssertTrue(row.proof.contains(/`\w+Tests`/), "row \(row.number) names no test")
            XCTAssertFalse(row.proof.contains(/not\*? (tested )?\*?yet/), "row \(row.number) has no proof of something")
        }
    }

    /// The sections whose rows all have proofs. What is open elsewhere says *not yet*.
    private static let proven: Set<String> = [
        "Files arrive badly", "The container misbehaves", "Devices and time", "Crashes and disks",
    ]
}
