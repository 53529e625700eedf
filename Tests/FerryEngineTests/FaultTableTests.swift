import Foundation
import XCTest

/// Docs/Faults.md names the tests that prove its rows; this holds the one against the other.
final class FaultTableTests: XCTestCase {
    private static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()

    private struct Row {
        var number: String
        var section: String
        var proof: String
    }

    /// The rows of all tables: number, fault, what the user sees, what Ferry does, proof.
    private func rows() throws -> [Row] {
        let text = try String(contentsOf: Self.root.appending(path: "Docs/Faults.md"), encoding: .utf8)
        var section = ""
        var rows: [Row] = []
        for line in text.split(separator: "\n") {
            if line.hasPrefix("## ") { section = String(line.dropFirst(3)) }
            guard line.hasPrefix("| "), line.dropFirst(2).first?.isNumber ?? false else { continue }
            let cells = line.dropFirst().dropLast().split(separator: "|").map {
                $0.trimmingCharacters(in: .whitespaces)
            }
            XCTAssertEqual(cells.count, 5, "\(line.prefix(40))…")
            rows.append(Row(number: cells[0], section: section, proof: cells.last ?? ""))
        }
        return rows
    }

    /// The names of the test functions, by test class.
    private func tests() throws -> [String: Set<String>] {
        let folder = Self.root.appending(path: "Tests")
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
