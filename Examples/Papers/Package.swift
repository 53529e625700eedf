// swift-tools-version: 6.2
import PackageDescription

let package = Package(
    name: "papers",
    platforms: [.macOS(.v15)],
    dependencies: [
        .package(name: "ferry", path: "../.."),
        .package(url: "https://github.com/groue/GRDB.swift", from: "7.10.0"),
    ],
    targets: [
        .executableTarget(
            name: "Papers",
            dependencies: [.product(name: "Ferry", package: "ferry"), .product(name: "GRDB", package: "GRDB.swift")],
            swiftSettings: [.swiftLanguageMode(.v6)])
    ]
)
