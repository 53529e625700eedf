import FerryContainer
import FerryCore
import FerryTestSupport
import XCTest

@testable import FerryEngine

/// Contents whose packs lie in an object storage, where reading costs time and money.
final class RemoteContentTests: XCTestCase {
    private let bytes = noise(300_000, seed: 1)

    private func photos(_ home: RemoteHome, _ index: Int) -> PhotoDevice {
        PhotoDevice(replica: home.replicas[index], files: home.files)
    }

    /// Two devices; the first one has published a photo.
    private func published() throws -> RemoteHome {
        let home = try RemoteHome()
        for index in 0..<2 {
            try home.addDevice()
            try photos(home, index).prepare()
        }
        try photos(home, 0).declare()
        try home.settle()
        try photos(home, 0).attach("new", bytes)
        return home
    }

    func testDoctorReadsPacksOfAStorageForARepairAlone() throws {
        let home = try published()
        try home.settle()
        let pack = try XCTUnwrap(home.storage.contents.first { $0.key.hasSuffix(".pack") })
        var damaged = pack.value
        damaged[damaged.count / 2] ^= 1
        home.storage.set(pack.key, damaged)
        let light = try home.replicas[0].examine()
        XCTAssertTrue(light.examined.contains("1 content in 1 pack by name and length"), "\(light.examined)")
        XCTAssertEqual(light.findings.filter { $0.problem.contains("pack") }.map(\.problem), [])
        let repaired = try home.replicas[0].examine(isRepairing: true)
        XCTAssertEqual(
            repaired.findings.filter { $0.problem.contains("pack") }.map { "\($0.problem) \($0.isRepaired)" },
            ["1 pack is damaged. true"])
        try home.settle()
        XCTAssertEqual(try home.replicas[1].verifyContents(isDeep: true).problems, [])
        XCTAssertEqual(try home.replicas[1].evictContents([photos(home, 1).image("new")]).evicted.count, 1)
        XCTAssertEqual(try photos(home, 1).bytes("new"), bytes)
    }

    func testAPackIsReadThoughNoListingHasItYet() throws {
        let home = try published()
        _ = try home.replicas[1].sync()
        _ = try home.replicas[0].sync()
        home.storage.resetCounts()
        // A watch makes such passes.
        for _ in 0..<2 { _ = try home.replicas[1].sync(isThorough: false) }
        XCTAssertEqual(home.storage.count(.list), 0)
        let image = try photos(home, 1).image("new")
        XCTAssertEqual(try home.replicas[1].shelf.wholeContents().map(\.id), [image])
    }

    func testAStoringDeviceGetsNoPackFromTheStorage() throws {
        let home = try published()
        // Nobody could read them.
        _ = try home.replicas[0].sync()
        let packs = home.storage.contents.filter { $0.key.hasSuffix(".pack") }
        XCTAssertEqual(packs.count, 1)
        for name in packs.keys { home.storage.set(name, Array(repeating: 0, count: packs[name]?.count ?? 0)) }
        _ = try home.replicas[0].sync()
        XCTAssertEqual(try photos(home, 0).bytes("new"), bytes)
    }
}
