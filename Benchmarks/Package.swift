// swift-tools-version: 6.2
import PackageDescription

// A package of its own, so that an app that uses Ferry builds nothing of it. `make bench` runs it.
let package = Package(
    name: "ferry-benchmarks",
    platforms: [.macOS(.v14)],
    dependencies: [.package(name: "ferry", path: "..")],
    targets: [
        // SQLite with the session extension's declarations, as a baseline.
        .systemLibrary(name: "CSQLiteSession", providers: [.apt(["libsqlite3-dev"]), .brew(["sqlite3"])]),
        .executableTarget(
            name: "FerryBenchmark",
            dependencies: ["CSQLiteSession", .product(name: "Ferry", package: "ferry")],
            swiftSettings: [.swiftLanguageMode(.v6)]),
    ]
)
