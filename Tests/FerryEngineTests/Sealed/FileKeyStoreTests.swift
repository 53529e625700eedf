import FerryContainer
import FerryCore
import FerryTestSupport
import Foundation
import XCTest

@testable import FerryEngine
@testable import FerrySeal

#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

/// Secret keys in files, in memory and on the disk.
final class FileKeyStoreTests: XCTestCase {
    private let container = ContainerID(high: 1, low: 2)
    private let random = SeededRandom(seed: 1)

    private func keyFile(_ highestEpoch: UInt32 = 0) throws -> KeyFile {
        try KeyFile(
            keys: DeviceKeys(mintedFor: container, random: random), genesis: [UInt8](repeating: 5, count: 32),
            highestEpoch: highestEpoch)
    }

    private func refuses(
        _ code: FerryError.Code, _ path: String, line: UInt = #line, _ body: () throws -> some Any
    ) {
        XCTAssertThrowsError(try body(), line: line) { error in
            XCTAssertEqual((error as? FerryError)?.code, code, "\(error)", line: line)
            XCTAssertEqual((error as? FerryError)?.path, path, line: line)
        }
    }

    func testKeysAreSavedLoadedListedAndRemoved() throws {
        let folder = try ScratchFolder()
        let store = FileKeyStore(directory: folder.path("share/ferry/keys/"))
        let (first, second) = (try keyFile(), try keyFile(3))
        XCTAssertNil(try store.load(first.device))
        XCTAssertEqual(try store.devices(), [])
        try store.remove(first.device)
        for file in [first, second, first] { try store.save(file) }
        XCTAssertEqual(try store.devices(), [first.device, second.device].sorted())
        XCTAssertEqual(try store.load(second.device), second)
        var changed = second
        changed.highestEpoch = 4
        try store.save(changed)
        XCTAssertEqual(try store.load(second.device)?.highestEpoch, 4)
        try store.remove(first.device)
        XCTAssertNil(try store.load(first.device))
        XCTAssertEqual(
            try FileManager.default.contentsOfDirectory(atPath: store.directory), ["\(second.device.hex).key"])
    }

    func testNobodyElseMayReadTheFilesOrTheFolder() throws {
        let folder = try ScratchFolder()
        let before = umask(0)
        defer { umask(before) }
        let store = FileKeyStore(directory: folder.path("keys"))
        let file = try keyFile()
        try store.save(file)
        XCTAssertEqual(try mode(store.directory), 0o700)
        XCTAssertEqual(try mode(store.path(of: file.device)), 0o600)
        for mode in [0o640, 0o604, 0o620, 0o666] as [mode_t] {
            XCTAssertEqual(chmod(store.path(of: file.device), mode), 0)
            refuses(.keyExposed, store.path(of: file.device)) { try store.load(file.device) as Any }
            refuses(.keyExposed, store.path(of: file.device)) { try store.save(file) }
        }
        XCTAssertEqual(chmod(store.path(of: file.device), 0o400), 0)
        XCTAssertEqual(try store.load(file.device), file)
        XCTAssertEqual(chmod(store.directory, 0o730), 0)
        refuses(.keyExposed, store.directory) { try store.load(file.device) as Any }
        refuses(.keyExposed, store.directory) { try store.save(file) }
        // Where a server keeps its secrets, others may look at the names.
        XCTAssertEqual(chmod(store.directory, 0o755), 0)
        XCTAssertEqual(try store.load(file.device), file)
    }

    private func mode(_ path: String) throws -> Int {
        let attributes = try FileManager.default.attributesOfItem(atPath: path)
        return try XCTUnwrap(attributes[.posixPermissions] as? Int)
    }

    func testALinkIsRefusedAsALink() throws {
        let folder = try ScratchFolder()
        let store = FileKeyStore(directory: folder.path("keys"))
        let file = try keyFile()
        try store.save(file)
        let path = store.path(of: file.device)
        try FileManager.default.moveItem(atPath: path, toPath: folder.path("real.key"))
        try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: folder.path("real.key"))
        XCTAssertThrowsError(try store.load(file.device)) { error in
            XCTAssertEqual((error as? FerryError)?.code, .keyExposed)
            XCTAssertTrue("\(error)".contains("symbolic link"), "\(error)")
            XCTAssertFalse("\(error)".contains("can read the secret keys"), "\(error)")
        }
        // A directory may be one.
        try FileManager.default.removeItem(atPath: path)
        try FileManager.default.moveItem(atPath: folder.path("real.key"), toPath: path)
        try FileManager.default.createSymbolicLink(
            atPath: folder.path("link"), withDestinationPath: folder.path("keys"))
        XCTAssertEqual(try FileKeyStore(directory: folder.path("link")).load(file.device), file)
    }

    func testAKeyFileThatIsDamagedOrAnotherDevicesIsRefused() throws {
        let files = MemoryFileSystem()
        let store = FileKeyStore(directory: "/keys", fileSystem: files, random: random)
        let (first, second) = (try keyFile(), try keyFile())
        for file in [first, second] { try store.save(file) }
        try files.rename(store.path(of: second.device), to: store.path(of: first.device))
        refuses(.damagedFile, store.path(of: first.device)) { try store.load(first.device) as Any }
        try files.removeFile(at: store.path(of: first.device))
        try files.write([1, 2, 3], toNewPrivateFileAt: store.path(of: first.device))
        refuses(.damagedFile, store.path(of: first.device)) { try store.load(first.device) as Any }
        try store.save(first)
        files.setExposed(store.path(of: first.device))
        refuses(.keyExposed, store.path(of: first.device)) { try store.load(first.device) as Any }
        files.setExposed(store.path(of: first.device), false)
        XCTAssertEqual(try store.load(first.device), first)
        // A file that somebody copied there without keeping its rights.
        let bytes = try XCTUnwrap(try files.readFile(at: store.path(of: first.device), maximumBytes: 10_000))
        try files.removeFile(at: store.path(of: first.device))
        try files.write(bytes, toNewFileAt: store.path(of: first.device))
        refuses(.keyExposed, store.path(of: first.device)) { try store.load(first.device) as Any }
    }

    /// Kills the process and takes away what is not durable at every step of a `save`: the keys before or the new ones are there.
    func testAfterACrashAtAnyStepOldOrNewKeysAreThere() throws {
        for isFirst in [true, false] {
            let (old, keys) = (try keyFile(1), try keyFile().keys)
            var steps = 0
            while true {
                let files = MemoryFileSystem()
                let store = FileKeyStore(directory: "/home/me/keys", fileSystem: files, random: random)
                let before = try KeyFile(keys: keys, genesis: old.genesis, highestEpoch: 1)
                if !isFirst { try store.save(before) }
                let after = try KeyFile(keys: keys, genesis: old.genesis, highestEpoch: 2)
                files.inject(.kill, afterSteps: steps)
                do {
                    try store.save(after)
                    files.removeFault()
                    files.crash()
                    XCTAssertEqual(try store.load(keys.device), after, "saved, and lost in a crash")
                    break
                } catch is SimulatedCrash {}
                files.crash()
                let found = try store.load(keys.device)
                XCTAssertTrue(
                    found == after || found == (isFirst ? nil : before), "step \(steps): \(String(describing: found))")
                // The next attempt succeeds, and leaves nothing beside the file.
                try store.save(after)
                files.crash()
                XCTAssertEqual(try store.load(keys.device), after, "step \(steps)")
                XCTAssertEqual(
                    try files.entryNames(ofDirectoryAt: "/home/me/keys", maximumCount: 10),
                    ["\(keys.device.hex).key"], "step \(steps)")
                steps += 1
            }
            XCTAssertGreaterThan(steps, isFirst ? 8 : 4)
        }
    }

    func testAFailedStepIsReportedAndKeepsWhatWasThere() throws {
        var failures = 0
        while true {
            let files = MemoryFileSystem()
            let store = FileKeyStore(directory: "/keys", fileSystem: files, random: random)
            var file = try keyFile(1)
            try store.save(file)
            file.highestEpoch = 2
            files.inject(.failure, afterSteps: failures)
            do {
                try store.save(file)
                break
            } catch {
                XCTAssertEqual((error as? FerryError)?.code, .inputOutput)
                XCTAssertNotNil(try store.load(file.device))
                failures += 1
            }
        }
        XCTAssertGreaterThan(failures, 3)
    }

    func testTheDirectoryFollowsTheEnvironment() {
        func directory(_ variables: [String: String]) -> String {
            FileKeyStore.directory(variables: variables.merging(["HOME": "/home/me"]) { given, _ in given })
        }
        XCTAssertEqual(directory([:]), "/home/me/.local/share/ferry/keys")
        XCTAssertEqual(directory(["XDG_DATA_HOME": "/data"]), "/data/ferry/keys")
        XCTAssertEqual(directory(["XDG_DATA_HOME": "data"]), "/home/me/.local/share/ferry/keys")
        XCTAssertEqual(directory(["HOME": "/srv/me"]), "/srv/me/.local/share/ferry/keys")
        XCTAssertEqual(directory(["HOME": "here"]), NSHomeDirectory() + "/.local/share/ferry/keys")
        XCTAssertEqual(directory(["XDG_DATA_HOME": "/data", "FERRY_KEYS": "/run/secrets"]), "/run/secrets")
        XCTAssertEqual(directory(["FERRY_KEYS": "", "XDG_DATA_HOME": ""]), "/home/me/.local/share/ferry/keys")
    }
}
