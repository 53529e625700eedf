import FerrySchema
import FerryTestSupport
import Foundation
import XCTest

@testable import FerryStore

/// Who raises the version of Ferry's tables adds a dump of a database that has it.
final class StoreVersionTests: XCTestCase {
    func testThereIsADumpOfADatabaseOfThePresentVersion() throws {
        let name = "Tests/FerryCommandTests/Golden/store-v\(StoreTables.version).sql"
        let dump = try String(contentsOf: packageRoot.appending(path: name), encoding: .utf8)
        XCTAssertTrue(dump.contains("INSERT INTO ferry_meta VALUES('version',\(StoreTables.version));"))
    }
}
