import FerryContainer
import FerryCore
import FerryMembers
import FerrySeal
import FerryStore
import Foundation
import XCTest

@testable import FerryEngine

/// No secret lies where it must not: not in the folder, not in a database, not in an error or a report.
final class SealedSecretsTests: XCTestCase {
    /// So many bytes of a secret in a row betray it.
    fileprivate static let telling = 8

    /// All beginnings of so many bytes in secrets.
    private struct Secrets {
        private var windows: Set<[UInt8]> = []

        mutating func add(_ secret: [UInt8]) {
            guard secret.count >= SealedSecretsTests.telling else { return }
            for start in 0...(secret.count - SealedSecretsTests.telling) {
                windows.insert(Array(secret[start..<start + SealedSecretsTests.telling]))
            }
        }

        mutating func add(_ text: String) { add(Array(text.utf8)) }

        func found(in bytes: [UInt8]) -> Bool {
            guard bytes.count >= SealedSecretsTests.telling else { return false }
            for start in 0...(bytes.count - SealedSecretsTests.telling)
            where windows.contains(Array(bytes[start..<start + SealedSecretsTests.telling])) {
                return true
            }
            return false
        }

        var count: Int { windows.count }
    }

    private func secrets(_ home: SealedHome, _ codes: [SecretCode]) throws -> Secrets {
        var secrets = Secrets()
        for code in codes {
            secrets.add(code.words)
            secrets.add(String(code.text.dropFirst("FERRY1I".count)))
        }
        for computer in home.computers {
            for device in try computer.keys.devices() {
                let file = try XCTUnwrap(computer.keys.load(device))
                try file.withEncoded { bytes in
                    // The two seeds, and the keys of open invitations.
                    secrets.add(Array(bytes[40..<72]))
                    secrets.add(Array(bytes[72..<104]))
                    for number in file.invitations.indices {
                        let start = bytes.count - 16 - (file.invitations.count - number) * 104
                        secrets.add(Array(bytes[start..<start + 32]))
                        secrets.add(Array(bytes[start + 32..<start + 64]))
                    }
                }
            }
        }
        return secrets
    }

    func testNoSecretLiesInFolderDatabaseReportOrError() throws {
        let home = try SealedHome()
        try home.found()
        try home.write(0, "first")
        let code = try home.replica(0).invite().code
        let index = home.addComputer()
        let enrolment = try home.begin(index, .code(code))
        let open = try home.replica(0).invite().code
        var told: [String] = []
        let report = try home.replica(0).sync()
        told.append(String(decoding: try JSONEncoder().encode(report), as: UTF8.self))
        try home.join(index, enrolment)
        try home.settle()
        told.append(String(decoding: try JSONEncoder().encode(home.replica(0).rotateKeys()), as: UTF8.self))
        told.append(String(decoding: try JSONEncoder().encode(home.replica(1).renewKeys()), as: UTF8.self))
        told.append(String(decoding: try JSONEncoder().encode(home.replica(0).status()), as: UTF8.self))
        told.append(String(decoding: try JSONEncoder().encode(home.replica(0).devices()), as: UTF8.self))
        do { _ = try home.replica(1).remove("device0") } catch { told.append("\(error) \(String(reflecting: error))") }
        do {
            _ = try home.replica(1).remove("device0", recovery: code)
        } catch {
            told.append("\(error) \(String(reflecting: error))")
        }
        told.append("\(code) \(String(reflecting: enrolment)) \(try home.replica(0).keyFile())")
        let recovery = try XCTUnwrap(home.recovery)
        let secrets = try secrets(home, [code, open, recovery])
        XCTAssertGreaterThan(secrets.count, 300)

        for text in told { XCTAssertFalse(secrets.found(in: Array(text.utf8)), text) }
        for (path, bytes) in try home.allFiles() { XCTAssertFalse(secrets.found(in: bytes), path) }
        for number in 0...1 {
            for suffix in ["", "-wal"] {
                let path = home.databasePath(number) + suffix
                guard let data = FileManager.default.contents(atPath: path) else { continue }
                XCTAssertFalse(secrets.found(in: Array(data)), path)
            }
        }
        // The search finds what is there.
        XCTAssertTrue(secrets.found(in: Array("Type: \(recovery.words)".utf8)))
    }

    func testNoRowOrNameOfATableLiesInTheFolder() throws {
        let home = try SealedHome()
        try home.found()
        let marked = "a value that nobody but members may read"
        try home.write(0, marked)
        try home.invite(by: 0)
        try home.settle()
        for (path, bytes) in try home.allFiles() {
            for word in [marked, "item", "device0"] {
                XCTAssertFalse(contains(bytes, Array(word.utf8)), "\(word) in \(path)")
            }
        }
        XCTAssertEqual(try home.names(1), [marked])
    }

    private func contains(_ bytes: [UInt8], _ word: [UInt8]) -> Bool {
        guard bytes.count >= word.count else { return false }
        return (0...(bytes.count - word.count)).contains { bytes[$0..<$0 + word.count].elementsEqual(word) }
    }
}
