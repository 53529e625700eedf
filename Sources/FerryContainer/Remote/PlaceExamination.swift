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
}

/// What was found by trying a place.
package struct PlaceExamination: Hashable, Sendable {
    package var storage: StorageExamination
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
        return PlaceExamination(storage: try storage.examine(), honoursConditions: honours, milliseconds: milliseconds)
    }
}
