// swift-tools-version: 6.2
import PackageDescription

// Layers, lowest first; a target imports only what is listed below it. FerrySQL makes SQLite's statements. FerryStore,
// FerryLive and FerryDocuments alone know GRDB. FerrySeal and FerryRemote alone know swift-crypto: one seals files, the other signs
// requests.
// Docs/Architecture.md says what lives in which.
var strict: [SwiftSetting] = [.swiftLanguageMode(.v6), .treatAllWarnings(as: .error)]
// Scripts/fuzz-bytes sets it: only Ferry's own modules guide the fuzzers.
if Context.environment["FERRY_FUZZ"] != nil { strict.append(.unsafeFlags(["-sanitize=fuzzer"])) }

let package = Package(
    name: "ferry",
    platforms: [.macOS(.v15), .iOS(.v18)],
    products: [
        .library(name: "Ferry", targets: ["Ferry"]),
        .library(name: "FerryRemote", targets: ["FerryRemote"]),
        .executable(name: "ferry", targets: ["FerryCommand"]),
    ],
    dependencies: [
        .package(url: "https://github.com/groue/GRDB.swift", from: "7.10.0"),
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
        .package(url: "https://github.com/apple/swift-crypto", from: "4.5.2"),
        // Serves the page of `ferry ui`: of the command, and of no library.
        .package(url: "https://github.com/swhitty/FlyingFox", exact: "0.27.1"),
    ],
    targets: [
        .systemLibrary(name: "CFerryZlib", providers: [.apt(["zlib1g-dev"])]),
        // The headers of libcurl alone: the library is loaded when it is first needed.
        .target(name: "CFerryCurl"),
        .target(name: "CFerryFiles"),
        .target(name: "CFerrySQLite", linkerSettings: [.linkedLibrary("sqlite3")]),
        .target(name: "FerryCore", swiftSettings: strict),
        .target(name: "FerryMerge", dependencies: ["FerryCore"], swiftSettings: strict),
        // The rows of a state by the plainest code. Verification and the tests hold the store against it.
        .target(name: "FerryReferenceModel", dependencies: ["FerryCore"], swiftSettings: strict),
        .target(name: "FerryLog", dependencies: ["FerryCore", "CFerryZlib"], swiftSettings: strict),
        .target(
            name: "FerrySeal", dependencies: ["FerryCore", .product(name: "Crypto", package: "swift-crypto")],
            swiftSettings: strict),
        .target(name: "FerryContainer", dependencies: ["FerryCore", "CFerryFiles"], swiftSettings: strict),
        // Bytes of contents: chunks, packs, and the directory beside the database. No SQL.
        .target(
            name: "FerryContent", dependencies: ["FerryCore", "FerryLog", "FerrySeal", "FerryContainer"],
            swiftSettings: strict),
        .target(
            name: "FerryMembers", dependencies: ["FerryCore", "FerrySeal", "FerryContainer"], swiftSettings: strict),
        .target(name: "FerrySQL", dependencies: ["FerryCore", "CFerrySQLite"], swiftSettings: strict),
        .target(
            name: "FerrySchema", dependencies: ["FerryCore", "FerryMerge", "FerrySQL", "CFerrySQLite"],
            swiftSettings: strict),
        .target(
            name: "FerryStore",
            dependencies: [
                "FerryCore", "FerryMerge", "FerryReferenceModel", "FerryContent", "FerrySQL", "FerrySchema",
                "CFerrySQLite",
                .product(name: "GRDB", package: "GRDB.swift"), .product(name: "GRDBSQLite", package: "GRDB.swift"),
            ],
            swiftSettings: strict),
        .target(
            name: "FerryEngine",
            dependencies: [
                "FerryCore", "FerryMerge", "FerryLog", "FerrySeal", "FerryContainer", "FerryContent", "FerryMembers",
                "FerrySchema", "FerryStore",
                .product(name: "Logging", package: "swift-log"),
            ],
            swiftSettings: strict),
        // Containers beyond a folder. Whoever uses folders alone builds and links nothing of it.
        .target(
            name: "FerryRemote",
            dependencies: [
                "FerryCore", "FerryContainer", "CFerryCurl", .product(name: "Crypto", package: "swift-crypto"),
            ],
            swiftSettings: strict),
        .target(
            name: "FerryKeyValue",
            dependencies: ["FerryCore", "FerryContainer", "FerrySQL", "FerrySchema", "FerryStore", "FerryEngine"],
            swiftSettings: strict),
        // Documents: what is shown, and changes of it. The rules are pure; DocumentStore is the face for apps.
        .target(
            name: "FerryDocuments",
            dependencies: [
                "FerryCore", "FerryContainer", "FerryContent", "FerrySQL", "FerrySchema", "FerryStore", "FerryEngine",
                .product(name: "GRDB", package: "GRDB.swift"),
            ],
            swiftSettings: strict),
        // A directory that is kept in step with documents.
        .target(
            name: "FerryMirror",
            dependencies: [
                "FerryCore", "FerryContainer", "FerrySQL", "FerrySchema", "FerryStore", "FerryEngine", "FerryDocuments",
                "CFerryFiles",
            ],
            swiftSettings: strict),
        .target(
            name: "FerryLive",
            dependencies: [
                "FerryCore", "FerryContainer", "FerrySQL", "FerryStore", .product(name: "GRDB", package: "GRDB.swift"),
            ],
            swiftSettings: strict),
        .target(
            name: "Ferry",
            dependencies: [
                "FerryCore", "FerrySeal", "FerrySchema", "FerryStore", "FerryEngine", "FerryKeyValue", "FerryLive",
                "FerryDocuments", "FerryMirror",
            ],
            swiftSettings: strict),
        // The page of `ferry ui`: its files, who may ask it what, and HTTP. It knows no database: the command answers.
        .target(
            name: "FerryUI",
            dependencies: [
                "FerryCore", .product(name: "FlyingSocks", package: "FlyingFox"),
            ],
            resources: [.embedInCode("Resources")], swiftSettings: strict),
        .executableTarget(
            name: "FerryCommand",
            dependencies: [
                "Ferry", "FerryContainer", "FerryDocuments", "FerryMirror", "FerryRemote", "FerrySeal", "FerryStore",
                "FerryUI",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "Logging", package: "swift-log"),
            ],
            swiftSettings: strict),
        // What several test targets use: seeds, and faults of SQLite's files.
        .target(name: "CFerryFaultVFS", path: "Tests/CFerryFaultVFS", linkerSettings: [.linkedLibrary("sqlite3")]),
        .target(
            name: "FerryTestSupport", dependencies: ["CFerryFaultVFS", "FerryCore"], path: "Tests/FerryTestSupport",
            swiftSettings: strict),
        .testTarget(name: "FerryCoreTests", dependencies: ["FerryCore"], swiftSettings: strict),
        .testTarget(
            name: "FerryMergeTests", dependencies: ["FerryMerge", "FerryCore", "FerryTestSupport"],
            swiftSettings: strict),
        .testTarget(
            name: "FerryLogTests", dependencies: ["FerryLog", "FerryCore", "FerryTestSupport"], exclude: ["Golden"],
            swiftSettings: strict),
        .testTarget(
            name: "FerrySealTests",
            dependencies: [
                "FerrySeal", "FerryCore", "FerryTestSupport", .product(name: "Crypto", package: "swift-crypto"),
            ],
            swiftSettings: strict),
        .testTarget(
            name: "FerryContentTests",
            dependencies: [
                "FerryContent", "FerryCore", "FerryLog", "FerrySeal", "FerryContainer", "FerryTestSupport",
            ], exclude: ["Golden"],
            swiftSettings: strict),
        .testTarget(
            name: "FerryDocumentsTests",
            dependencies: [
                "FerryDocuments", "FerryMirror", "FerryEngine", "FerrySQL", "FerrySchema", "FerryStore",
                "FerryContainer",
                "FerryContent", "FerryLog", "FerrySeal", "FerryCore", "FerryTestSupport",
                .product(name: "GRDB", package: "GRDB.swift"),
            ],
            swiftSettings: strict),
        .testTarget(
            name: "FerryMembersTests",
            dependencies: ["FerryMembers", "FerrySeal", "FerryContainer", "FerryCore", "FerryTestSupport"],
            exclude: ["Golden"],
            swiftSettings: strict),
        .testTarget(
            name: "FerryContainerTests", dependencies: ["FerryContainer", "FerryCore", "FerryTestSupport"],
            exclude: ["Golden"],
            swiftSettings: strict),
        .testTarget(
            name: "FerryRemoteTests",
            dependencies: ["FerryRemote", "FerryContainer", "FerryCore", "CFerryCurl", "FerryTestSupport"],
            swiftSettings: strict),
        .testTarget(
            name: "FerryStoreTests",
            dependencies: [
                "FerryStore", "FerrySchema", "FerrySQL", "FerryReferenceModel", "FerryMerge", "FerryLog", "FerryCore",
                "FerryTestSupport",
                .product(name: "GRDB", package: "GRDB.swift"), .product(name: "GRDBSQLite", package: "GRDB.swift"),
            ],
            swiftSettings: strict),
        .testTarget(
            name: "FerryEngineTests",
            dependencies: [
                "FerryEngine", "FerryMerge", "FerrySQL", "FerrySchema", "FerryStore", "FerryMembers", "FerryContainer",
                "FerryContent", "FerrySeal",
                "FerryLog",
                "FerryCore", "FerryTestSupport",
                .product(name: "GRDB", package: "GRDB.swift"),
            ],
            swiftSettings: strict),
        .testTarget(
            name: "FerryKeyValueTests",
            dependencies: [
                "FerryKeyValue", "FerryEngine", "FerryStore", "FerryContainer", "FerryCore",
                .product(name: "GRDB", package: "GRDB.swift"),
            ],
            swiftSettings: strict),
        .testTarget(
            name: "FerryLiveTests",
            dependencies: [
                "FerryLive", "FerryEngine", "FerryStore", "FerryCore", "FerryTestSupport",
                .product(name: "GRDB", package: "GRDB.swift"),
            ],
            swiftSettings: strict),
        // The app that the tutorial builds, which lies beside its test. It sees what an app sees.
        .testTarget(
            name: "FerryTutorialTests",
            dependencies: ["Ferry", "FerryTestSupport", .product(name: "GRDB", package: "GRDB.swift")],
            packageAccess: false, swiftSettings: strict),
        // The simulator is production code's proof, and no product.
        .target(
            name: "FerrySimulator",
            dependencies: [
                "FerryEngine", "FerryMembers", "FerryStore", "FerryLog", "FerryContainer", "FerryDocuments",
                "FerrySeal",
                "FerryCore", "FerryTestSupport",
                "CFerrySQLite", .product(name: "GRDB", package: "GRDB.swift"),
            ],
            path: "Tests/FerrySimulator", swiftSettings: strict),
        .executableTarget(
            name: "ferry-simulate",
            dependencies: [
                "FerrySimulator", .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "Logging", package: "swift-log"),
            ],
            path: "Tests/FerrySimulate", swiftSettings: strict),
        .testTarget(
            name: "FerrySimulationTests",
            dependencies: [
                "FerrySimulator", "ferry-simulate", "FerryTestSupport", .product(name: "Logging", package: "swift-log"),
            ],
            swiftSettings: strict),
        .testTarget(name: "FerryUITests", dependencies: ["FerryUI", "FerryCore"], swiftSettings: strict),
        .testTarget(
            name: "FerryCommandTests", dependencies: ["FerryCommand", "Ferry", "FerryTestSupport"], exclude: ["Golden"],
            swiftSettings: strict),
    ]
)

// What uses the insides of Ferry and is no part of an app's build. A target of this package sees what has the access level
// `package`; an environment variable adds it, so that nobody else builds it.
if Context.environment["FERRY_FUZZ"] != nil {
    // Scripts/fuzz-bytes: an executable with a fuzzer's `main` cannot be part of `swift test`.
    package.targets += [
        .target(
            name: "FuzzTargets",
            dependencies: [
                "FerryEngine", "FerryStore", "FerrySchema", "FerryContainer", "FerryContent", "FerryMembers",
                "FerryMirror", "FerrySeal", "FerryLog", "FerryMerge",
                "FerryCore", .product(name: "Crypto", package: "swift-crypto"),
            ],
            path: "Tests/Fuzz/Targets", exclude: ["CorpusTests.swift"], swiftSettings: strict),
        .executableTarget(
            name: "FerryFuzzer", dependencies: ["FuzzTargets"], path: "Tests/Fuzz/Fuzzer",
            swiftSettings: [.swiftLanguageMode(.v6), .unsafeFlags(["-parse-as-library"])]),
    ]
} else {
    // The same checks as the fuzzers make, over their corpora.
    package.targets.append(
        .testTarget(
            name: "FerryFuzzTests",
            dependencies: [
                "FerryEngine", "FerryStore", "FerrySchema", "FerryContainer", "FerryContent", "FerryMembers",
                "FerryMirror", "FerrySeal", "FerryLog", "FerryMerge",
                "FerryCore", .product(name: "Crypto", package: "swift-crypto"),
            ],
            path: "Tests/Fuzz/Targets", swiftSettings: strict))
}
if Context.environment["FERRY_BENCHMARKS"] != nil {
    package.targets += [
        // SQLite with the session extension's declarations, as a baseline.
        .systemLibrary(
            name: "CSQLiteSession", path: "Benchmarks/Sources/CSQLiteSession",
            providers: [.apt(["libsqlite3-dev"]), .brew(["sqlite3"])]),
        .executableTarget(
            name: "FerryBenchmark",
            dependencies: [
                "CSQLiteSession", "FerryKeyValue", "FerryEngine", "FerryStore", "FerrySchema", "FerryContainer",
                "FerryRemote", "FerrySeal",
                "FerryLog", "FerrySimulator", "FerryTestSupport",
                "FerryCore",
            ],
            path: "Benchmarks/Sources/FerryBenchmark", swiftSettings: [.swiftLanguageMode(.v6)]),
    ]
}
