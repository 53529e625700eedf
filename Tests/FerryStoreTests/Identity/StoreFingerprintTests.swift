import FerryCore
import XCTest

@testable import FerryStore

final class StoreFingerprintTests: XCTestCase {
    private struct Host: HostIdentity {
        var machine: String?
        var file: UInt64? = 7

        func machineID() -> String? { machine }
        func fileNumber(at path: String) -> UInt64? { file }
    }

    private func change(
        from former: (path: String, host: Host), to present: (path: String, host: Host)
    ) -> StoreFingerprint.Change {
        StoreFingerprint(path: present.path, on: present.host)
            .change(since: StoreFingerprint(path: former.path, on: former.host))
    }

    func testADatabaseThatStaysIsNoCopy() {
        XCTAssertEqual(change(from: ("/a", Host(machine: "m")), to: ("/a", Host(machine: "m"))), .none)
    }

    func testAnotherMachineMeansACopyWhereverItLies() {
        XCTAssertEqual(change(from: ("/a", Host(machine: "m")), to: ("/a", Host(machine: "n"))), .copied)
        XCTAssertEqual(change(from: ("/a", Host(machine: "m")), to: ("/b", Host(machine: "n", file: 8))), .copied)
    }

    func testAnotherFileInAnotherPlaceIsACopy() {
        XCTAssertEqual(change(from: ("/a", Host(machine: "m")), to: ("/b", Host(machine: "m", file: 8))), .copied)
        XCTAssertEqual(change(from: ("/a", Host()), to: ("/b", Host(file: 8))), .copied)
    }

    func testAMovedFileAndAReplacedOneAreNoCopies() {
        // A renamed folder; an app on iOS after an update.
        XCTAssertEqual(change(from: ("/a", Host(machine: "m")), to: ("/b", Host(machine: "m"))), .moved)
        // VACUUM INTO and a rename; a network folder that numbers its files anew.
        XCTAssertEqual(change(from: ("/a", Host(machine: "m")), to: ("/a", Host(machine: "m", file: 8))), .moved)
    }

    func testWhatIsNotKnownIsNoEvidence() {
        XCTAssertEqual(change(from: ("/a", Host(machine: nil)), to: ("/a", Host(machine: "n"))), .moved)
        XCTAssertEqual(change(from: ("/a", Host(machine: "m")), to: ("/b", Host(machine: nil, file: nil))), .moved)
        XCTAssertEqual(change(from: ("", Host(machine: "m")), to: ("", Host(machine: "n"))), .none)
    }

    func testAFingerprintComesBackFromItsText() {
        for host in [Host(machine: "m"), Host(machine: nil, file: nil)] {
            let fingerprint = StoreFingerprint(path: "/a", on: host)
            XCTAssertEqual(StoreFingerprint(text: fingerprint.text), fingerprint)
        }
        XCTAssertNil(StoreFingerprint(text: "x"))
    }

    func testThisComputerTellsItsFilesApart() throws {
        let host = SystemHost()
        XCTAssertNotNil(host.fileNumber(at: "/"))
        XCTAssertNil(host.fileNumber(at: "/no such file"))
        XCTAssertEqual(host.machineID(), host.machineID())
    }
}
