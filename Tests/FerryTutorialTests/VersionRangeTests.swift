import FerryTestSupport
import Foundation
import XCTest

/// An app chooses its version of GRDB: Ferry takes each of the same first number, from its own on. A package that stands in for GRDB has
/// the versions, so the test says what resolves, and not whether Ferry builds with a version that is not there yet.
final class VersionRangeTests: XCTestCase {
    private static let root = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
    private static let address = "https://github.com/groue/GRDB.swift"

    @discardableResult
    private func run(_ arguments: [String], in folder: String) throws -> (status: Int32, output: String) {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = arguments
        process.currentDirectoryURL = URL(fileURLWithPath: folder)
        let file = folder + "/output"
        XCTAssertTrue(FileManager.default.createFile(atPath: file, contents: nil))
        let output = try XCTUnwrap(FileHandle(forWritingAtPath: file))
        (process.standardOutput, process.standardError) = (output, output)
        try process.run()
        process.waitUntilExit()
        return (process.terminationStatus, try String(contentsOfFile: file, encoding: .utf8))
    }

    private func write(_ text: String, _ path: String) throws {
        let url = URL(fileURLWithPath: path)
        try FileManager.default.createDirectory(
            at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
        try Data(text.utf8).write(to: url)
    }

    /// A repository in GRDB's place, with versions.
    private func makeStandIn(_ folder: String, versions: [String]) throws {
        try write(
            """
            // swift-tools-version: 6.0
            import PackageDescription
            let package = Package(
                name: "GRDB",
                products: [.library(name: "GRDB", targets: ["GRDB"]), .library(name: "GRDBSQLite", targets: ["GRDBSQLite"])],
                targets: [.target(name: "GRDB"), .target(name: "GRDBSQLite")])
            """, folder + "/Package.swift")
        for target in ["GRDB", "GRDBSQLite"] { try write("", folder + "/Sources/\(target)/Empty.swift") }
        let author = ["-c", "user.name=test", "-c", "user.email=test@example.org"]
        let commands =
            [["init", "-q"], ["add", "Package.swift", "Sources"], author + ["commit", "-q", "-m", "Stands in"]]
            + versions.map { ["tag", "v" + $0] }
        for command in commands {
            let (status, output) = try run(["git"] + command, in: folder)
            XCTAssertEqual(status, 0, "\(command): \(output)")
        }
    }

    /// Resolves an app that asks for versions of GRDB.
    /// - Returns: the version that it gets; `nil` where there is none.
    private func version(asking requirement: String, in app: String) throws -> String? {
        try write(
            """
            // swift-tools-version: 6.2
            import PackageDescription
            let package = Package(
                name: "App", platforms: [.macOS(.v15), .iOS(.v18)],
                dependencies: [
                    .package(path: "../ferry"), .package(url: "\(Self.address)", \(requirement)),
                ],
                targets: [
                    .executableTarget(
                        name: "App",
                        dependencies: [
                            .product(name: "Ferry", package: "ferry"), .product(name: "GRDB", package: "GRDB.swift"),
                        ])
                ])
            """, app + "/Package.swift")
        let (status, output) = try run(["swift", "package", "resolve"], in: app)
        if status != 0 {
            // Anything else is a failure to reach the other packages.
            guard output.contains("could not be resolved") else { throw XCTSkip("no packages: \(output)") }
            return nil
        }
        struct Pins: Decodable {
            struct Pin: Decodable {
                struct State: Decodable { var version: String? }
                var identity: String
                var state: State
            }
            var pins: [Pin]
        }
        let data = try Data(contentsOf: URL(fileURLWithPath: app + "/Package.resolved"))
        return try JSONDecoder().decode(Pins.self, from: data).pins.first { $0.identity == "grdb.swift" }?.state.version
    }

    func testAnAppChoosesItsVersionOfGRDB() throws {
        let scratch = try ScratchFolder()
        let (app, ferry, standIn) = (scratch.path("app"), scratch.path("ferry"), scratch.path("GRDB.swift"))
        try write("", app + "/Sources/App/main.swift")
        try FileManager.default.createDirectory(atPath: ferry, withIntermediateDirectories: false)
        for entry in ["Package.swift", "Sources", "Tests"] {
            try FileManager.default.createSymbolicLink(
                atPath: ferry + "/" + entry, withDestinationPath: Self.root.appendingPathComponent(entry).path)
        }
        try makeStandIn(standIn, versions: ["7.9.0", "7.10.0", "7.10.1", "7.11.0", "8.0.0"])
        try write("// swift-tools-version: 6.2", app + "/Package.swift")
        let mirror = ["swift", "package", "config", "set-mirror", "--original", Self.address, "--mirror"]
        let (status, output) = try run(mirror + ["file://" + standIn], in: app)
        XCTAssertEqual(status, 0, output)
        for (requirement, expected) in [
            ("exact: \"7.10.0\"", "7.10.0"), ("exact: \"7.11.0\"", "7.11.0"), ("from: \"7.10.1\"", "7.11.0"),
            ("exact: \"7.9.0\"", nil), ("from: \"8.0.0\"", nil),
        ] {
            XCTAssertEqual(try version(asking: requirement, in: app), expected, requirement)
        }
    }
}
