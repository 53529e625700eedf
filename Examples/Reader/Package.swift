// swift-tools-version: 6.2
import PackageDescription

let strict: [SwiftSetting] = [.swiftLanguageMode(.v6), .treatAllWarnings(as: .error)]

let package = Package(
    name: "reader",
    platforms: [.macOS(.v15)],
    products: [.executable(name: "reader", targets: ["Reader"])],
    dependencies: [
        .package(name: "ferry", path: "../.."),
        .package(url: "https://github.com/groue/GRDB.swift", from: "7.10.0"),
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
    ],
    targets: [
        // Feeds as bytes, text and articles, and fetching them. Knows nothing of a database or of Ferry.
        .target(
            name: "Feeds", swiftSettings: strict,
            linkerSettings: [.linkedLibrary("iconv", .when(platforms: [.macOS]))]),
        // The database: schema, import, queries, and all there is to do for Ferry. Knows nothing of a terminal.
        .target(
            name: "ReaderStore",
            dependencies: [
                "Feeds", .product(name: "Ferry", package: "ferry"), .product(name: "GRDB", package: "GRDB.swift"),
            ],
            swiftSettings: strict),
        // The command `reader`, and its full-screen mode.
        .executableTarget(
            name: "Reader",
            dependencies: [
                "ReaderStore", "Feeds", .product(name: "Ferry", package: "ferry"),
                .product(name: "GRDB", package: "GRDB.swift"),
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ],
            swiftSettings: strict),
        // An HTTP server on loopback, in Python, that tests tell what to serve.
        .target(
            name: "FeedTestServer", path: "Tests/FeedTestServer", exclude: ["server.py"], swiftSettings: strict),
        .testTarget(name: "FeedsTests", dependencies: ["Feeds", "FeedTestServer"], swiftSettings: strict),
        .testTarget(
            name: "ReaderTests",
            dependencies: [
                "Reader", "ReaderStore", "Feeds", "FeedTestServer", .product(name: "Ferry", package: "ferry"),
                .product(name: "GRDB", package: "GRDB.swift"),
            ],
            exclude: ["terminal.py"], swiftSettings: strict),
    ]
)
