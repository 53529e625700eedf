import Foundation
import XCTest

/// The document shows the code that is compiled here, word for word.
final class DocumentTests: XCTestCase {
    private static let package = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

    func testTheDocumentShowsTheCodeThatIsCompiled() throws {
        let sources = Self.package.appendingPathComponent("Sources/ContactBook")
        var snippets: [String: String] = [:]
        for file in try FileManager.default.contentsOfDirectory(at: sources, includingPropertiesForKeys: nil) {
            let text = try String(contentsOf: file, encoding: .utf8)
            for part in text.components(separatedBy: "// snippet ").dropFirst() {
                let (name, rest) = try XCTUnwrap(split(part, at: "\n"))
                let (code, _) = try XCTUnwrap(split(rest, at: "// end\n"), "\(name) does not end")
                XCTAssertNil(snippets.updateValue(code, forKey: name), "\(name) is there twice")
            }
        }
        let path = Self.package.deletingLastPathComponent().deletingLastPathComponent()
            .appendingPathComponent("Docs/CoreData.md")
        let document = try String(contentsOf: path, encoding: .utf8)
        let shown = try document.components(separatedBy: "```swift\n").dropFirst().map {
            try XCTUnwrap(split($0, at: "```\n")).0
        }
        for code in shown {
            XCTAssertTrue(snippets.values.contains(code), "is shown and not compiled:\n\(code)")
        }
        for (name, code) in snippets { XCTAssertTrue(shown.contains(code), "\(name) is not shown as it is compiled") }
        XCTAssertGreaterThan(shown.count, 15)
    }

    private func split(_ text: String, at separator: String) -> (String, String)? {
        guard let range = text.range(of: separator) else { return nil }
        return (String(text[..<range.lowerBound]), String(text[range.upperBound...]))
    }
}
