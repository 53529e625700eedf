// swift-tools-version: 6.2
import PackageDescription

// A package of its own, because an executable with a fuzzer's `main` cannot be part of `swift test`. `make fuzz-bytes`
// builds it with `--sanitize=fuzzer` and runs it; the main package's FerryFuzzTests runs the same checks over the corpora.
let package = Package(
    name: "ferry-fuzz",
    platforms: [.macOS(.v15)],
    dependencies: [.package(name: "ferry", path: "../..")],
    targets: [
        .target(
            name: "FuzzTargets", dependencies: [.product(name: "Ferry", package: "ferry")], path: "Targets",
            exclude: ["CorpusTests.swift"],
            swiftSettings: [.swiftLanguageMode(.v6), .unsafeFlags(["-sanitize=fuzzer"])]),
        .executableTarget(
            name: "FerryFuzzer", dependencies: ["FuzzTargets"], path: "Fuzzer",
            swiftSettings: [.swiftLanguageMode(.v6), .unsafeFlags(["-parse-as-library"])]),
    ]
)
