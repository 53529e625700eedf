import FerryContainer
import FerryCore
import FerryTestSupport
import Foundation
import XCTest

/// Packs in a container: names, ranges, and files that are moved in. Each held against a folder and an object storage.
final class PackFileTests: XCTestCase {
    private let id = PackID(high: 0x0123, low: 0x4567)
    private let bytes = (0..<1000).map { UInt8(truncatingIfNeeded: $0) }

    private func onBoth(_ body: (Container) throws -> Void) throws {
        let memory = MemoryFileSystem()
        try body(try Container.create(at: "/c", name: "Test", fileSystem: memory))
        let details = try ContainerDescription(id: ContainerID(high: 1, low: 2), name: "Test", createdMilliseconds: 1)
        try body(try Container.create(in: RemoteBackend(MemoryStorage()), describedBy: details))
    }

    private func disk() throws -> MemoryFileSystem {
        let disk = MemoryFileSystem()
        try disk.write(bytes, toNewFileAt: "/p")
        return disk
    }

    func testOnlyExactNamesArePacks() {
        let name = PackName(id).fileName
        XCTAssertEqual(name, "00000000000001230000000000004567.pack")
        XCTAssertEqual(PackName(name)?.id, id)
        for other in [
            name.uppercased(), name + "x", "x" + name, "0123.pack", "0000000000000123-0000000000004567.pack", "",
        ] {
            XCTAssertNil(PackName(other), other)
        }
    }

    func testAPackIsMovedInAndReadByRanges() throws {
        try onBoth { container in
            XCTAssertNil(try container.readPack(id, of: deviceA, range: 0..<9))
            let disk = try disk()
            try container.publishPack(id, of: deviceA, movingIn: "/p", of: disk)
            XCTAssertEqual(try container.packs(of: deviceA), [PackName(id)])
            XCTAssertEqual(try container.packByteCount(id, of: deviceA), 1000)
            XCTAssertEqual(try container.readPack(id, of: deviceA, range: 10..<20), Array(bytes[10..<20]))
            XCTAssertEqual(try container.readPack(id, of: deviceA, range: 990..<2000), Array(bytes[990...]))
            XCTAssertEqual(try container.readPack(id, of: deviceA, range: 5000..<6000), [])
            // The file beside the database is the caller's.
            XCTAssertEqual(try disk.item(at: "/p"), .file(size: 1000))
            try container.removePack(id, of: deviceA)
            XCTAssertNil(try container.readPack(id, of: deviceA, range: 0..<9))
        }
    }

    func testMovingInAgainHasNoEffectAndOtherBytesAreRefused() throws {
        try onBoth { container in
            let disk = try disk()
            try container.publishPack(id, of: deviceA, movingIn: "/p", of: disk)
            try container.publishPack(id, of: deviceA, movingIn: "/p", of: disk)
            XCTAssertEqual(try container.packs(of: deviceA), [PackName(id)])
            assertThrows(.inputOutput) { try container.publishPack(id, of: deviceA, movingIn: "/none", of: disk) }
            try disk.write([1], toNewFileAt: "/other")
            XCTAssertNotNil(failure { try container.publishPack(id, of: deviceA, movingIn: "/other", of: disk) })
        }
    }

    func testOnOneDiskAPackIsNotCopied() throws {
        let files = MemoryFileSystem()
        let container = try Container.create(at: "/c", name: "Test", fileSystem: files)
        try files.write(bytes, toNewFileAt: "/p")
        let written = files.stepCount(of: .writeContent)
        try container.publishPack(id, of: deviceA, movingIn: "/p", of: files)
        XCTAssertEqual(files.stepCount(of: .writeContent), written)
        XCTAssertEqual(files.stepCount(of: .link), 1)
        let target = "/c/devices/\(deviceA.hex)/packs/\(PackName(id).fileName)"
        XCTAssertEqual(try files.version(at: "/p"), try files.version(at: target))
    }

    func testOnARealDiskTheTemporaryNameIsGone() throws {
        let folder = try TemporaryFolder()
        let container = try Container.create(at: folder.path("c"), name: "Test")
        try PosixFileSystem().write(bytes, toNewFileAt: folder.path("p"))
        for _ in 0..<2 { try container.publishPack(id, of: deviceA, movingIn: folder.path("p")) }
        XCTAssertEqual(try folder.names("c/devices/\(deviceA.hex)/packs"), [PackName(id).fileName])
        XCTAssertEqual(try container.readPack(id, of: deviceA, range: 3..<5), [3, 4])
    }

    func testAPackOfAnotherDiskIsCopied() throws {
        let files = MemoryFileSystem()
        let container = try Container.create(at: "/c", name: "Test", fileSystem: files)
        try container.publishPack(id, of: deviceA, movingIn: "/p", of: disk())
        XCTAssertEqual(files.stepCount(of: .link), 0)
        XCTAssertEqual(try container.readPack(id, of: deviceA, range: 0..<1000), bytes)
    }

    func testAKillAtAnyStepOfMovingInLeavesAllOrNothing() throws {
        for linked in [true, false] {
            var (step, isFinished) = (0, false)
            while !isFinished {
                for loss in [MemoryFileSystem.Loss.nothing, .contents, .everything] {
                    let files = MemoryFileSystem()
                    let container = try Container.create(at: "/c", name: "Test", fileSystem: files)
                    let disk = linked ? files : try disk()
                    if linked {
                        try files.write(bytes, toNewFileAt: "/p")
                        try files.synchronizeDirectory(at: "/")
                    }
                    files.inject(.kill, afterSteps: step)
                    let publish = { try container.publishPack(self.id, of: deviceA, movingIn: "/p", of: disk) }
                    do {
                        try publish()
                        isFinished = true
                    } catch is SimulatedCrash {
                        files.crash(losing: loss)
                    }
                    if isFinished { break }
                    let again = try Container.open(at: "/c", fileSystem: files)
                    let found = try again.readPack(id, of: deviceA, range: 0..<2000)
                    XCTAssertTrue(found == nil || found == bytes, "step \(step), linked \(linked)")
                    try again.publishPack(id, of: deviceA, movingIn: "/p", of: disk)
                    XCTAssertEqual(try again.readPack(id, of: deviceA, range: 0..<2000), bytes)
                    let names = try files.entryNames(ofDirectoryAt: "/c/devices/\(deviceA.hex)/packs", maximumCount: 9)
                    XCTAssertEqual(names, [PackName(id).fileName], "step \(step), linked \(linked)")
                }
                step += 1
            }
            XCTAssertGreaterThan(step, 5)
        }
    }
}
