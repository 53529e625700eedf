import FerryContainer
import FerryCore
import Foundation
import XCTest

#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

final class ContainerTests: XCTestCase {
    // MARK: Creating and opening

    func testTwoDevicesExchangeASegmentThroughAFolder() throws {
        let folder = try TemporaryFolder()
        let laptop = try Container.create(at: folder.path("Music"), name: "Music")
        let segment = try makeSegment("first", 1, 3)
        try laptop.publish(segment.bytes, name: segment.name, of: deviceA)
        var head = makeHead(laptop.id, sequence: 3)
        head.lastSegmentFirst = 1
        head.lastSegmentChecksum = try XCTUnwrap(ContentHash.verifiedTrailer(of: segment.bytes))
        try laptop.writeHead(head)

        let phone = try Container.open(at: folder.path("Music"), expecting: laptop.pin)
        XCTAssertEqual(phone.name, "Music")
        XCTAssertEqual(try phone.devices(), [deviceA])
        let found = try XCTUnwrap(try phone.readHead(of: deviceA))
        XCTAssertEqual(found, head)
        XCTAssertEqual(found.lastSegment, segment.name)
        XCTAssertEqual(try phone.segments(of: deviceA, after: 0), [segment.name])
        XCTAssertEqual(try phone.readSegment(segment.name, of: deviceA), segment.bytes)
        XCTAssertEqual(try folder.names("Music"), ["container.json", "devices"])
        XCTAssertEqual(try folder.names("Music/devices/" + deviceA.hex), ["head", "segments"])
    }

    func testAContainerIsCreatedOnlyBelowAFolderThatIsThere() throws {
        let folder = try TemporaryFolder()
        assertThrows(.containerMissing, "is it mounted?") {
            try Container.create(at: folder.path("none/c"), name: "Test")
        }
        XCTAssertEqual(try folder.names(), [])
        try folder.write("x", "file")
        assertThrows(.containerMissing) { try Container.create(at: folder.path("file"), name: "Test") }
        assertThrows(.containerMissing) { try Container.create(at: folder.path("file/c"), name: "Test") }
        assertThrows(.invalidArgument) { try Container.create(at: folder.path("c"), name: "") }
        XCTAssertEqual(try folder.names(), ["file"])
    }

    func testAContainerIsNotCreatedOverOneOrWhatIsLeftOfOne() throws {
        let folder = try TemporaryFolder()
        let container = try Container.create(at: folder.path("c"), name: "Test")
        assertThrows(.containerExists, "Join it") { try Container.create(at: folder.path("c"), name: "Test") }
        XCTAssertEqual(try Container.open(at: folder.path("c")).id, container.id)
        try FileManager.default.removeItem(atPath: folder.path("c/container.json"))
        assertThrows(.containerExists, "container.json is missing") {
            try Container.create(at: folder.path("c"), name: "Test")
        }
        XCTAssertEqual(try folder.names("c"), ["devices"])
    }

    func testOtherFilesInTheFolderDoNotMatter() throws {
        let folder = try TemporaryFolder()
        try folder.write("x", "notes.txt")
        let container = try Container.create(at: folder.path, name: "Test")
        XCTAssertEqual(try folder.names(), ["container.json", "devices", "notes.txt"])
        try container.checkReachable()
    }

    func testAMissingAnEmptyAndAForeignFolderAreToldApart() throws {
        let folder = try TemporaryFolder()
        let container = try Container.create(at: folder.path("c"), name: "Test")
        let other = try Container.create(at: folder.path("other"), name: "Other")
        assertThrows(.containerMissing, "is it mounted?") { try Container.open(at: folder.path("none")) }
        try FileManager.default.createDirectory(atPath: folder.path("empty"), withIntermediateDirectories: false)
        assertThrows(.containerEmpty, "is empty") { try Container.open(at: folder.path("empty")) }
        try folder.write("x", "empty/notes.txt")
        assertThrows(.containerEmpty, "holds no container.json") { try Container.open(at: folder.path("empty")) }
        assertThrows(.containerMismatch, "Other") {
            try Container.open(at: folder.path("other"), expecting: container.pin)
        }
        XCTAssertNotEqual(other.id, container.id)
        XCTAssertEqual(try folder.names("empty"), ["notes.txt"])
    }

    func testAContainerThatGoesAwayIsNoticedAndNeverTakenForEmpty() throws {
        let folder = try TemporaryFolder()
        let container = try Container.create(at: folder.path("c"), name: "Test")
        try container.checkReachable()
        XCTAssertEqual(try container.devices(), [])
        try FileManager.default.moveItem(atPath: folder.path("c"), toPath: folder.path("away"))
        assertThrows(.containerMissing) { try container.checkReachable() }
        assertThrows(.containerMissing) { try container.devices() }
        assertThrows(.containerMissing) { try container.writeHead(makeHead(container.id)) }
        try FileManager.default.createDirectory(atPath: folder.path("c"), withIntermediateDirectories: false)
        assertThrows(.containerEmpty) { try container.checkReachable() }
        assertThrows(.containerEmpty) { try container.devices() }
        assertThrows(.containerEmpty) { try container.writeHead(makeHead(container.id)) }
        XCTAssertEqual(try folder.names("c"), [])
    }

    func testADamagedOrNewerMarkerIsReportedWithItsPath() throws {
        let folder = try TemporaryFolder()
        for (text, code) in [
            ("{", .damagedFile), (#"{"format":9}"#, .containerTooNew),
            (String(repeating: " ", count: 1 << 17), .damagedFile),
        ] as [(String, FerryError.Code)] {
            try folder.write(text, "container.json")
            assertThrows(code) { try Container.open(at: folder.path) }
            XCTAssertThrowsError(try Container.open(at: folder.path)) {
                XCTAssertEqual(($0 as? FerryError)?.path, folder.path("container.json"))
            }
        }
        try FileManager.default.removeItem(atPath: folder.path("container.json"))
        XCTAssertEqual(mkfifo(folder.path("container.json"), 0o600), 0)
        assertThrows(.damagedFile) { try Container.open(at: folder.path) }
    }

    // MARK: Devices and segments

    func testOnlyDirectoriesNamedLikeDevicesAreDevices() throws {
        let folder = try TemporaryFolder()
        let container = try Container.create(at: folder.path, name: "Test")
        for name in [
            deviceB.hex, deviceA.hex, "0A" + deviceA.hex.dropFirst(2), deviceA.description, deviceA.hex + " (1)",
            ".stfolder", "desktop", String(repeating: "g", count: 32), deviceA.hex.uppercased() + "x",
        ] {
            try FileManager.default.createDirectory(
                atPath: folder.path("devices/" + name), withIntermediateDirectories: false)
        }
        XCTAssertEqual(try container.devices(), [deviceA, deviceB])
    }

    func testSegmentsAreListedInOrderAfterASequenceNumberAndOtherNamesIgnored() throws {
        let folder = try TemporaryFolder()
        let container = try Container.create(at: folder.path, name: "Test")
        let segments = try [("a", 1, 1), ("b", 2, 5), ("c", 6, 6), ("rolled", 1, 6)].map {
            try makeSegment($0.0, UInt64($0.1), UInt64($0.2))
        }
        for segment in segments { try container.publish(segment.bytes, name: segment.name, of: deviceA) }
        let directory = "devices/\(deviceA.hex)/segments/"
        let copy = segments[1].name.fileName.replacingOccurrences(of: ".segment", with: " (1).segment")
        try folder.write("b", directory + copy)
        for name in [".DS_Store", ".syncthing.x.tmp", "desktop.ini", ".ferry-tmp-00"] {
            try folder.write("", directory + name)
        }
        let sorted = segments.map(\.name).sorted()
        XCTAssertEqual(try container.segments(of: deviceA), sorted)
        XCTAssertEqual(try container.segments(of: deviceA, after: 5), sorted.filter { $0.last == 6 })
        XCTAssertEqual(try container.segments(of: deviceA, after: 6), [])
        XCTAssertEqual(try container.segments(of: deviceB), [])
        let files = try container.segmentFiles(of: deviceA, after: 1)
        XCTAssertEqual(files.filter(\.isCopy).map(\.fileName), [copy])
        let found = try XCTUnwrap(files.first { $0.isCopy })
        XCTAssertEqual(try container.readSegment(found, of: deviceA), Array("b".utf8))
        XCTAssertNil(try container.readSegment(makeSegment("none", 9, 9).name, of: deviceA))
    }

    func testASegmentIsPublishedOnlyUnderItsOwnChecksum() throws {
        let folder = try TemporaryFolder()
        let container = try Container.create(at: folder.path, name: "Test")
        let segment = try makeSegment("one", 1, 1)
        assertThrows(.invalidArgument) { try container.publish([1, 2, 3], name: segment.name, of: deviceA) }
        XCTAssertEqual(try container.devices(), [])
    }

    func testPublishingAgainMendsADamagedSegment() throws {
        let folder = try TemporaryFolder()
        let container = try Container.create(at: folder.path, name: "Test")
        let segment = try makeSegment("one", 1, 1)
        let path = "devices/\(deviceA.hex)/segments/\(segment.name.fileName)"
        for damage in ["", "on", "two", "longer"] {
            try container.publish(segment.bytes, name: segment.name, of: deviceA)
            try folder.write(damage, path)
            try container.publish(segment.bytes, name: segment.name, of: deviceA)
            XCTAssertEqual(try container.readSegment(segment.name, of: deviceA), segment.bytes)
        }
        XCTAssertEqual(try folder.names("devices/\(deviceA.hex)/segments"), [segment.name.fileName])
    }

    func testAFIFOALinkOrADirectoryInPlaceOfAFileIsDamageOfThatDeviceAlone() throws {
        let folder = try TemporaryFolder()
        let container = try Container.create(at: folder.path, name: "Test")
        let segment = try makeSegment("one", 1, 1)
        for device in [deviceA, deviceB] {
            try container.publish(segment.bytes, name: segment.name, of: device)
            try container.writeHead(makeHead(container.id, device, sequence: 1))
        }
        let names = ["head", "segments/" + segment.name.fileName].map { "devices/\(deviceA.hex)/\($0)" }
        let plants: [(String) -> Int32] = [
            { mkfifo($0, 0o600) }, { symlink("/etc/passwd", $0) }, { symlink("/dev/zero", $0) }, { mkdir($0, 0o700) },
        ]
        for plant in plants {
            for name in names {
                try FileManager.default.removeItem(atPath: folder.path(name))
                XCTAssertEqual(plant(folder.path(name)), 0)
            }
            assertThrows(.damagedFile, "regular file") { try container.readHead(of: deviceA) }
            assertThrows(.damagedFile, "regular file") { try container.readSegment(segment.name, of: deviceA) }
            XCTAssertThrowsError(try container.readHead(of: deviceA)) {
                XCTAssertEqual(($0 as? FerryError)?.device, deviceA)
                XCTAssertEqual(($0 as? FerryError)?.path, folder.path(names[0]))
            }
            XCTAssertNotNil(try container.readHead(of: deviceB))
            XCTAssertNotNil(try container.readSegment(segment.name, of: deviceB))
        }
    }

    func testARemovedSegmentIsGone() throws {
        let folder = try TemporaryFolder()
        let container = try Container.create(at: folder.path, name: "Test")
        let segment = try makeSegment("one", 1, 1)
        try container.publish(segment.bytes, name: segment.name, of: deviceA)
        try container.removeSegments([segment.name], of: deviceA)
        try container.removeSegments([segment.name], of: deviceA)
        XCTAssertEqual(try container.segments(of: deviceA), [])
    }

    // MARK: Heads

    func testAHeadInTheWrongPlaceIsForeign() throws {
        let folder = try TemporaryFolder()
        let container = try Container.create(at: folder.path, name: "Test")
        XCTAssertNil(try container.readHead(of: deviceA))
        try container.writeHead(makeHead(container.id, deviceB))
        try container.writeHead(makeHead(container.id, deviceA))
        try FileManager.default.removeItem(atPath: folder.path("devices/\(deviceA.hex)/head"))
        try FileManager.default.copyItem(
            atPath: folder.path("devices/\(deviceB.hex)/head"), toPath: folder.path("devices/\(deviceA.hex)/head"))
        assertThrows(.foreignFile) { try container.readHead(of: deviceA) }
        assertThrows(.invalidArgument) { try container.writeHead(makeHead(ContainerID(high: 1, low: 1))) }
    }

    func testAnAbsurdlyLargeHeadIsDamaged() throws {
        let folder = try TemporaryFolder()
        let container = try Container.create(at: folder.path, name: "Test")
        try container.writeHead(makeHead(container.id))
        XCTAssertEqual(truncate(folder.path("devices/\(deviceA.hex)/head"), 1 << 40), 0)
        assertThrows(.damagedFile) { try container.readHead(of: deviceA) }
    }

    func testTheFoldersToWatchAreThoseInWhichNewsAppears() throws {
        let folder = try TemporaryFolder()
        let container = try Container.create(at: folder.path, name: "Test")
        XCTAssertEqual(
            container.watchedDirectories(of: [deviceA]),
            [
                "", "devices", "devices/\(deviceA.hex)", "devices/\(deviceA.hex)/segments",
                "devices/\(deviceA.hex)/values",
            ].map(folder.path))
    }
}
