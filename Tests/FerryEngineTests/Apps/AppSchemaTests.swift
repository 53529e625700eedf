import FerrySchema
import FerryStore
import XCTest

@testable import FerryEngine

/// Databases as known kinds of apps make them: two devices write at once, a third one joins, and all show the same.
final class AppSchemaTests: XCTestCase {
    func testACoreDataStore() throws { try play(.coreData) }
    func testALibraryWhoseTriggersRefuse() throws { try play(.library) }
    func testFlashcardsUnderKeysOfMilliseconds() throws { try play(.cards) }
    func testReferencesWithValuesKeptOnce() throws { try play(.references) }
    func testModelsOfDjango() throws { try play(.django) }
    func testModelsOfRails() throws { try play(.rails) }
    func testAGeoPackageWithItsSpatialIndex() throws { try play(.geography) }

    private func play(_ app: AppSchema) throws {
        let fleet = try Fleet()
        try fleet.start(app.schema, selection: TableSelection(references: app.references))
        let own = try app.queries.map { try fleet.shell(0, $0) }
        try fleet.join()
        for (query, rows) in zip(app.queries, own) {
            XCTAssertEqual(try fleet.shell(0, query), rows, "\(app.name), after init: \(query)")
            XCTAssertEqual(try fleet.shell(1, query), rows, "\(app.name), after join: \(query)")
        }
        try fleet.shell(0, app.laptop)
        try fleet.shell(1, app.phone)
        try fleet.settle()
        try fleet.join()
        try fleet.settle()
        for query in app.queries { try fleet.assertEqual(query) }
        for (index, replica) in fleet.replicas.enumerated() {
            let found = try replica.store.verify(deep: true)
            XCTAssertTrue(found.isSound, "\(app.name), device \(index): \(found)")
            for device in try replica.status().devices {
                XCTAssertEqual(device.standing, .inStep, "\(app.name), device \(index): \(device)")
            }
        }
        // Nothing that either wrote is gone.
        for text in ["laptop", "phone"] where app.name == "Core Data" {
            XCTAssertTrue(try fleet.shell(0, app.queries[0]).contains("Third, of the \(text)"))
        }
    }
}
