import Foundation
import XCTest

/// What the fuzzers found interesting, run like any test: nothing crashes, and what is read stays the same.
final class CorpusTests: XCTestCase {
    private let corpora = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .appendingPathComponent("Corpus")

    func testEveryCorpusIsRefusedOrReadAsTheSame() throws {
        for target in FuzzTarget.allCases {
            let folder = corpora.appendingPathComponent(target.rawValue)
            let files = try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
            var values = 0
            for file in files.sorted(by: { $0.path < $1.path }) {
                do {
                    if try target.check([UInt8](Data(contentsOf: file))) { values += 1 }
                } catch {
                    XCTFail("\(target.rawValue)/\(file.lastPathComponent): \(error)")
                }
            }
            XCTAssertGreaterThan(values, 0, "nothing in the corpus of \(target.rawValue) gives a value")
        }
    }
}
