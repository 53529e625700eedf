import FerryTestSupport
import Foundation
import XCTest

/// The guide (`make docs`): its first page leads to the articles and to each type that an app sees.
final class GuideTests: XCTestCase {
    private static let root = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

    /// The folder with what was built, where these tests lie too.
    private static let built: URL = {
        let bundle = Bundle.allBundles.first { $0.bundlePath.hasSuffix(".xctest") && $0 != Bundle.main }?.bundleURL
        let program = Bundle.main.executableURL ?? URL(fileURLWithPath: CommandLine.arguments[0])
        return (bundle ?? program).deletingLastPathComponent()
    }()

    func testTheGuideLeadsToEachTypeThatAnAppSees() throws {
        let scratch = try ScratchFolder()
        let site = scratch.path("site")
        let process = Process()
        process.executableURL = Self.root.appendingPathComponent("Scripts/guide")
        process.arguments = [site, "--built", Self.built.path]
        let file = scratch.path("output")
        XCTAssertTrue(FileManager.default.createFile(atPath: file, contents: nil))
        let output = try XCTUnwrap(FileHandle(forWritingAtPath: file))
        (process.standardOutput, process.standardError) = (output, output)
        try process.run()
        process.waitUntilExit()
        let said = try String(contentsOfFile: file, encoding: .utf8)
        XCTAssertEqual(process.terminationStatus, 0, said)

        func text(_ path: String) throws -> String { try String(contentsOfFile: site + "/" + path, encoding: .utf8) }
        XCTAssertTrue(try text("index.html").contains("documentation/ferry/"))
        let page = try JSONSerialization.jsonObject(with: Data(text("data/documentation/ferry.json").utf8))
        let groups = try XCTUnwrap((page as? [String: Any])?["topicSections"] as? [[String: Any]])
        let places = groups.flatMap { $0["identifiers"] as? [String] ?? [] }.map { place in
            place.split(separator: "/").last.map(String.init) ?? place
        }
        // `Docs/Interface.txt` lists what an app sees; a name without a dot is a type of its own.
        let interface = try String(contentsOf: Self.root.appendingPathComponent("Docs/Interface.txt"), encoding: .utf8)
        let types = interface.split(separator: "\n").compactMap { line in
            line.components(separatedBy: "  ").first.flatMap { $0.contains(".") ? nil : $0 }
        }
        XCTAssertGreaterThan(types.count, 100)
        XCTAssertEqual(Set(types).subtracting(places), [])
        XCTAssertTrue(places.contains("GettingStarted"), "\(places)")
        for type in types {
            let path = "documentation/ferry/\(type.lowercased())/index.html"
            XCTAssertTrue(FileManager.default.fileExists(atPath: site + "/" + path), path)
        }
    }
}
