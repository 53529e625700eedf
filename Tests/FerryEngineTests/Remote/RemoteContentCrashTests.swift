import FerryContainer
import FerryCore
import FerryTestSupport
import XCTest

@testable import FerryEngine

/// The process dies before or after every request that concerns a content over an object storage. No device reads of a pack that is not
/// there, and the same deed again ends well.
final class RemoteContentCrashTests: XCTestCase {
    private let bytes = noise(40_000, seed: 1)

    private func photos(_ home: RemoteHome, _ index: Int) -> PhotoDevice {
        PhotoDevice(replica: home.replicas[index], files: home.files)
    }

    private func makeHome() throws -> RemoteHome {
        // Requests side by side would be counted in another order each time.
        let home = try RemoteHome(MemoryStorage(traits: StorageTraits(maximumParallel: 1)))
        for index in 0..<2 {
            try home.addDevice()
            try photos(home, index).prepare()
        }
        try photos(home, 0).declare()
        try home.settle()
        return home
    }

    private func attachOnce(_ home: RemoteHome, _ index: Int) throws {
        let photos = photos(home, index)
        if try photos.count("SELECT count(*) FROM photo WHERE title = 'new'") == 0 { try photos.attach("new", bytes) }
    }

    /// Fails where a row tells of a pack that is neither in the storage nor beside its device's database.
    private func checkPacks(_ home: RemoteHome, _ context: String) throws {
        for index in 0..<2 {
            let photos = photos(home, index)
            guard try photos.count("SELECT count(*) FROM sqlite_schema WHERE name = 'ferry_pack'") == 1 else {
                continue
            }
            for row in try photos.rows("SELECT lower(hex(id)) || '.pack', lower(hex(device)) FROM ferry_pack") {
                let isPublished = home.storage.contents["devices/\(row[1].text)/packs/\(row[0].text)"] != nil
                let isWaiting = try photos.files.item(at: "\(photos.shelf)/pending/\(row[0].text)") != .missing
                XCTAssertTrue(isPublished || isWaiting, "\(context): device \(index), \(row[0].text)")
            }
        }
    }

    /// Kills a device before or after each request of some work.
    /// - Parameters:
    ///   - index: the device.
    ///   - packsAreWhole: whether all rows of packs tell of packs that are there before `act`.
    ///   - act: is done again after the crash.
    private func killEverywhere(
        _ index: Int, packsAreWhole: Bool = true, prepare: (RemoteHome) throws -> Void, act: (RemoteHome) throws -> Void
    ) throws {
        var (point, isFinished) = (0, false)
        while !isFinished {
            let home = try makeHome()
            try prepare(home)
            // A death after a request is nearly the death before the next one.
            let fault: MemoryStorage.Fault = point % 2 == 0 ? .killedBefore : .killedAfter
            let context = "\(fault) at request \(point)"
            home.storage.inject(fault, afterRequests: point)
            do {
                try act(home)
                isFinished = true
            } catch is SimulatedCrash {
                try home.reopen(index)
            }
            home.storage.recover()
            _ = try home.replicas[1 - index].sync()
            if packsAreWhole { try checkPacks(home, context) }
            try act(home)
            try home.settle()
            for device in 0..<2 { XCTAssertEqual(try photos(home, device).bytes("new"), bytes, context) }
            try checkPacks(home, context)
            XCTAssertEqual(home.storage.contents.keys.filter { $0.hasSuffix(".pack") }.count, 1, context)
            point += 1
        }
        XCTAssertGreaterThan(point, 2)
    }

    func testStoringAndPublishing() throws {
        try killEverywhere(0) { _ in
        } act: { home in
            try attachOnce(home, 0)
            _ = try home.replicas[0].sync()
        }
    }

    func testFetching() throws {
        try killEverywhere(1) { home in
            try attachOnce(home, 0)
            _ = try home.replicas[0].sync()
        } act: { home in
            _ = try home.replicas[1].sync()
        }
    }

    func testRepairing() throws {
        try killEverywhere(0, packsAreWhole: false) { home in
            try attachOnce(home, 0)
            try home.settle()
            // The device has the bytes, and the storage lost the pack.
            XCTAssertEqual(try photos(home, 0).bytes("new"), bytes)
            XCTAssertEqual(try photos(home, 1).bytes("new"), bytes)
            let pack = try XCTUnwrap(home.storage.contents.keys.first { $0.hasSuffix(".pack") })
            home.storage.set(pack, nil)
            // The process that wrote the pack counts on it for an hour, in spite of listings.
            try home.reopen(0)
        } act: { home in
            _ = try home.replicas[0].examine(isRepairing: true)
            _ = try home.replicas[0].sync()
        }
    }
}
