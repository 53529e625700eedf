import FerryContainer
import FerryCore
import FerryTestSupport
import XCTest

@testable import FerryEngine

/// A device is killed at every step that it makes in the folder and beside its database, and the disk loses what it may. Afterwards there
/// is the old or the new; no device ever reads of a pack that is not there; doing the same again ends well, and no litter stays.
final class ContentCrashTests: XCTestCase {
    private let bytes = noise(40_000, seed: 1)

    /// Kills a device at each step of some work.
    /// - Parameters:
    ///   - index: the device.
    ///   - packsAreWhole: whether all rows of packs tell of packs that are there before `act`.
    ///   - act: is done again after the crash.
    ///   - check: what holds at the end.
    private func killEverywhere(
        _ index: Int, atLeast steps: Int, packsAreWhole: Bool = true, prepare: (MemoryHome) throws -> Void,
        act: (MemoryHome) throws -> Void,
        check: (MemoryHome, String) throws -> Void, file: StaticString = #filePath, line: UInt = #line
    ) throws {
        for (name, loss) in [("nothing", MemoryFileSystem.Loss.nothing), ("everything", .everything)] {
            var (step, isFinished) = (0, false)
            while !isFinished {
                let home = try MemoryHome.withPhotos()
                try prepare(home)
                let context = "killed at step \(step), losing \(name)"
                home.files.inject(.kill, afterSteps: step)
                do {
                    try act(home)
                    isFinished = true
                    home.files.removeFault()
                } catch is SimulatedCrash {
                    home.files.crash(losing: loss)
                    try home.reopen(index)
                }
                // The other device reads whatever is there.
                let other = 1 - index
                _ = try home.replicas[other].sync()
                if packsAreWhole {
                    try home.photos(other).checkPacks(context, file: file, line: line)
                    try home.photos(index).checkPacks(context, file: file, line: line)
                }
                try act(home)
                try home.settle(file: file, line: line)
                try check(home, context)
                home.clock.advance(days: 2)
                for _ in 0..<2 {
                    try home.settle(file: file, line: line)
                    home.clock.advance(days: 2)
                }
                for device in 0..<2 { try home.photos(device).checkNoLitter(context, file: file, line: line) }
                XCTAssertEqual(
                    try home.files.entryNames(ofDirectoryAt: "/shared/c", maximumCount: 99)?
                        .filter { $0.contains("tmp") }, [], context, file: file, line: line)
                step += 1
            }
            XCTAssertGreaterThan(step, steps, file: file, line: line)
        }
    }

    private func attachOnce(_ home: MemoryHome, _ index: Int) throws {
        let photos = home.photos(index)
        if try photos.count("SELECT count(*) FROM photo WHERE title = 'new'") == 0 { try photos.attach("new", bytes) }
    }

    func testStoringAndPublishing() throws {
        try killEverywhere(0, atLeast: 20) { home in
            _ = try home.photos(0).source(bytes)
        } act: { home in
            try attachOnce(home, 0)
            _ = try home.replicas[0].sync()
        } check: { home, context in
            XCTAssertEqual(try home.photos(1).bytes("new"), bytes, context)
            XCTAssertEqual(try home.photos(0).packs().count, 1, context)
        }
    }

    func testFetching() throws {
        try killEverywhere(1, atLeast: 10) { home in
            try home.photos(0).attach("new", bytes)
            _ = try home.replicas[0].sync()
        } act: { home in
            _ = try home.replicas[1].sync()
        } check: { home, context in
            XCTAssertTrue(try home.photos(1).isHere("new"), context)
            XCTAssertEqual(try home.photos(1).bytes("new"), bytes, context)
        }
    }

    func testEvicting() throws {
        try killEverywhere(1, atLeast: 0) { home in
            try home.photos(0).attach("new", bytes)
            try home.settle()
        } act: { home in
            let content = try home.photos(1).image("new")
            _ = try home.replicas[1].evictContents([content])
        } check: { home, context in
            XCTAssertEqual(try home.photos(1).bytes("new"), bytes, context)
        }
    }

    func testRepairing() throws {
        try killEverywhere(0, atLeast: 5, packsAreWhole: false) { home in
            let photos = home.photos(0)
            try photos.attach("new", bytes)
            try home.settle()
            // The device has the bytes, and the folder lost the pack.
            XCTAssertEqual(try photos.bytes("new"), bytes)
            try photos.files.removeFile(at: photos.packsPath + "/" + photos.packs()[0])
            try photos.files.synchronizeDirectory(at: photos.packsPath)
        } act: { home in
            _ = try home.replicas[0].examine(isRepairing: true)
        } check: { home, context in
            let content = try home.photos(1).image("new")
            XCTAssertEqual(try home.replicas[1].evictContents([content]).evicted, [content], context)
            XCTAssertEqual(try home.photos(1).bytes("new"), bytes, context)
            try home.photos(0).checkPacks(context)
        }
    }

    func testLeaving() throws {
        for (name, loss) in [("nothing", MemoryFileSystem.Loss.nothing), ("everything", .everything)] {
            var (step, isFinished) = (0, false)
            while !isFinished {
                let home = try MemoryHome.withPhotos()
                try home.photos(0).attach("new", bytes)
                try home.settle()
                var photos = home.photos(1)
                let context = "killed at step \(step), losing \(name)"
                XCTAssertEqual(try photos.bytes("new"), bytes)
                home.files.inject(.kill, afterSteps: step)
                do {
                    _ = try home.replicas[1].leave(discardingDocuments: true)
                    isFinished = true
                    home.files.removeFault()
                } catch is SimulatedCrash {
                    home.files.crash(losing: loss)
                }
                if try photos.count("SELECT count(*) FROM sqlite_schema WHERE name = 'ferry_meta'") == 1 {
                    try home.reopen(1)
                    photos = home.photos(1)
                    _ = try home.replicas[1].leave(discardingDocuments: true)
                } else if !isFinished {
                    // Ferry's tables are gone, and files may be left beside the database.
                    _ = try Replica.leaveRemains(
                        path: photos.replica.store.path, discardingDocuments: true, environment: home.environment)
                }
                XCTAssertEqual(try photos.names(below: photos.shelf), [], context)
                XCTAssertEqual(try home.files.item(at: photos.shelf), .missing, context)
                XCTAssertEqual(
                    try photos.rows("SELECT name FROM sqlite_schema WHERE name LIKE 'ferry%'"), [], context)
                XCTAssertEqual(try photos.count("SELECT count(*) FROM photo"), 1, context)
                XCTAssertEqual(try home.photos(0).packs().count, 1, context)
                step += 1
            }
            XCTAssertGreaterThan(step, 4)
        }
    }
}
