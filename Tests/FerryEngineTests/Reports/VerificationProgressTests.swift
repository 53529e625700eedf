import FerryContainer
import FerryCore
import XCTest

@testable import FerryEngine

/// Verification and examination tell how far they are.
final class VerificationProgressTests: XCTestCase {
    private func told(_ body: (@escaping ProgressHandler) throws -> Void) rethrows -> [SyncProgress] {
        let all = Locked<[SyncProgress]>([])
        try body { progress in all.withLock { $0.append(progress) } }
        return all.withLock { $0 }
    }

    func testAVerificationTellsOfTheFileAndThenOfRows() throws {
        let fleet = try Fleet()
        try fleet.start(
            """
            CREATE TABLE item(id INTEGER PRIMARY KEY, name TEXT);
            WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 9000) INSERT INTO item SELECT i, 'x' || i FROM n;
            """)
        let replica = fleet.replicas[0]
        XCTAssertEqual(try told { _ = try replica.verify(deep: false, progress: $0) }.map(\.phase), [.checking])
        let deep = try told { _ = try replica.verify(deep: true, progress: $0) }
        XCTAssertEqual(deep.map(\.phase), [.checking, .comparing, .comparing, .comparing])
        XCTAssertEqual(deep.map(\.completed), [0, 0, 4096, 8192])
        XCTAssertEqual(deep.map(\.total), [nil, 9000, 9000, 9000])
    }

    func testADoctorTellsOfFilesToo() throws {
        let fleet = try Fleet()
        try fleet.start("CREATE TABLE item(id INTEGER PRIMARY KEY, name TEXT); INSERT INTO item VALUES (1, 'one');")
        try fleet.join()
        try fleet.shell(0, "UPDATE item SET name = 'two'")
        _ = try fleet.replicas[0].sync()
        let phases = try told { _ = try fleet.replicas[0].examine(progress: $0) }
        let files = phases.filter { $0.phase == .examining }
        XCTAssertEqual(Set(phases.map(\.phase)), [.checking, .comparing, .examining])
        XCTAssertEqual(files.map(\.completed), Array(0..<files.count))
        XCTAssertTrue(files.allSatisfy { $0.total == files.count }, "\(files)")
    }
}
