import FerryCore

@testable import FerryLog

/// Changesets, a chunk and a manifest with values that lie in parts.
enum LargeValueSamples {
    static let settings: LargeValueSettings = {
        var settings = LargeValueSettings()
        settings.threshold = 40
        settings.partBytes = 64
        return settings
    }()

    static func text(_ count: Int) -> FieldValue {
        .text((0..<count).map { UInt8(97 + $0 % 26) }[...])
    }

    static func blob(_ count: Int, _ seed: Int = 0) -> FieldValue {
        .blob((0..<count).map { UInt8(truncatingIfNeeded: ($0 * 2_654_435_761 + seed) >> 7) }[...])
    }

    private static func photo(_ suffix: UInt64) -> ObjectID {
        ObjectID(high: 0x018b_cfe5_6800_1234, low: 0x5678_9abc << 32 | suffix)
    }

    /// Texts and blobs of one part and of several, one that stands twice, one at the threshold, and small ones between.
    static func changesets() -> [Changeset] {
        let photos = TableChanges(
            name: "photo", identity: .surrogate, columns: ["title", "image", "note"], shapes: [[0, 1, 2], [1]],
            operations: [
                ObjectOperation(
                    object: photo(1), kind: .insert, time: Samples.start, key: .integer(1), shape: 0, firstValue: 0),
                ObjectOperation(
                    object: photo(2), kind: .insert, time: Samples.start, key: .integer(2), shape: 0, firstValue: 3),
                ObjectOperation(
                    object: photo(2), kind: .update, time: Samples.start.next, shape: 1, firstValue: 6),
            ],
            values: [
                text(41), blob(150), .null, .text("small"), blob(64, 5), text(40), blob(150),
            ])
        return [
            Changeset(
                device: Samples.device, sequence: 9, time: Samples.start.next, context: VersionVector(),
                tables: [photos])
        ]
    }

    static func chunk() -> SnapshotChunk {
        let stamp = Stamp(time: Samples.start, device: Samples.device)
        return SnapshotChunk(
            table: "photo", identity: .surrogate, columns: [.init(name: "image"), .init(name: "title")],
            shapes: [[0, 1]],
            objects: [
                .init(id: photo(1), inserted: stamp, deleted: nil, key: .integer(1), shape: 0, firstCell: 0),
                .init(id: photo(2), inserted: stamp, deleted: nil, key: .integer(2), shape: 0, firstCell: 2),
            ],
            cells: [
                .init(stamp: stamp, content: blob(150)), .init(stamp: stamp, content: text(41)),
                .init(stamp: stamp, content: .null), .init(stamp: stamp, content: .text("small")),
            ])
    }

    static func manifest() -> SnapshotManifest {
        SnapshotManifest(
            container: Samples.container,
            positions: [
                Samples.device: .init(log: LogPosition(sequence: 9, time: Samples.start.next))
            ],
            tables: [
                .init(
                    name: "photo", identity: .surrogate,
                    chunks: [
                        .init(
                            checksum: Checksum(high: 1, low: 2), bytes: 300, objects: 2,
                            parts: [.init(checksum: Checksum(high: 3, low: 4), bytes: 120)]),
                        .init(checksum: Checksum(high: 5, low: 6), bytes: 200, objects: 1),
                    ])
            ])
    }
}
