// swift-tools-version: 6.2
import PackageDescription

let strict: [SwiftSetting] = [.swiftLanguageMode(.v6), .treatAllWarnings(as: .error)]

let package = Package(
    name: "reader",
    platforms: [.macOS(.v15)],
    targets: [
        // Feeds as bytes, text and articles, and fetching them. Knows nothing of a database or of Ferry.
        .target(
            name: "Feeds", swiftSettings: strict,
            linkerSettings: [.linkedLibrary("iconv", .when(platforms: [.macOS]))]),
        // An HTTP server on loopback, in Python, that tests tell what to serve.
        .target(
            name: "FeedTestServer", path: "Tests/FeedTestServer", exclude: ["server.py"], swiftSettings: strict),
        .testTarget(name: "FeedsTests", dependencies: ["Feeds", "FeedTestServer"], swiftSettings: strict),
    ]
)
