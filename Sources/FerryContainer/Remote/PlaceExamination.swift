import FerryCore

/// What a storage says about itself, for `ferry doctor`. `nil` where the key may not ask.
package struct StorageExamination: Hashable, Sendable {
    /// How far the storage's clock is ahead of this computer's, in milliseconds.
    package var clockOffsetMilliseconds: Int64 = 0
    /// Whether removed and replaced objects stay as old versions.
    package var keepsVersions: Bool?
    /// Whether a rule removes the old versions of all objects of the container after a while.
    package var expiresVersions: Bool?
    /// The names of rules that remove objects of the container after a while.
    package var expiringRules: [String]?
    /// True for a bucket, which may have rules and keep versions.
    package var isBucket = false

    package init() {}

    /// A difference between clocks in words: `14 minutes`, `3 hours`, `20 days`.
    package static func span(milliseconds: Int64) -> String {
        let minutes = milliseconds.magnitude / 60_000
        let (number, unit) =
            minutes < 120 ? (minutes, "minute") : minutes < 2880 ? (minutes / 60, "hour") : (minutes / 1440, "day")
        return "\(number) \(unit)\(number == 1 ? "" : "s")"
    }
}

/// What was found by trying a place.
package struct PlaceExamination: Sendable {
    package var storage: StorageExamination
    /// What is wrong with the object `latest`; `nil` where the object is sound, or missing.
    package var latestProblem: FerryError?
    /// Whether the storage keeps what is there where a writer asks for that.
    package var honoursConditions: Bool
    /// How long five requests took, in milliseconds.
    package var milliseconds: Int64
}

extension ObjectStorage {
    /// What the storage says about itself; nothing, unless a storage knows more.
    package func examine() throws -> StorageExamination { StorageExamination() }
}

extension RemoteBackend {
    package func examine() throws -> PlaceExamination? {
        let start = clock.milliseconds()
        let honours = try probe()
        let milliseconds = max(clock.milliseconds() - start, 0)
        return PlaceExamination(
            storage: try storage.examine(), latestProblem: try latestProblem(), honoursConditions: honours,
            milliseconds: milliseconds)
    }
}
