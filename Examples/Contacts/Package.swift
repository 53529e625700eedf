// swift-tools-version: 6.2
import PackageDescription

let package = Package(
    name: "contacts",
    platforms: [.macOS(.v15)],
    products: [.executable(name: "contacts", targets: ["ContactsCommand"])],
    dependencies: [
        .package(name: "ferry", path: "../.."),
        .package(url: "https://github.com/groue/GRDB.swift", from: "7.10.0"),
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
    ],
    targets: [
        // The app: what Docs/CoreData.md shows, and the slow way beside it.
        .target(
            name: "ContactBook",
            dependencies: [.product(name: "Ferry", package: "ferry"), .product(name: "GRDB", package: "GRDB.swift")],
            swiftSettings: [.swiftLanguageMode(.v6)]),
        .executableTarget(
            name: "ContactsCommand",
            dependencies: [
                "ContactBook", .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ],
            swiftSettings: [.swiftLanguageMode(.v6)]),
        .testTarget(
            name: "ContactBookTests", dependencies: ["ContactBook"], swiftSettings: [.swiftLanguageMode(.v6)]),
    ]
)
