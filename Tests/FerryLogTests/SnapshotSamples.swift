import FerryCore

@testable import FerryLog

extension Samples {
    private static func song(_ suffix: UInt64) -> ObjectID {
        ObjectID(high: 0x018b_cfe5_6800_1234, low: 0x5678_9abc << 32 | suffix)
    }

    /// A chunk with every kind of register, value and shape.
    static func chunk() -> SnapshotChunk {
        let own = Stamp(time: start, device: device)
        let other = Stamp(time: HybridTime(milliseconds: 1_700_000_100_000), device: otherDevice)
        let old = Stamp(time: .unknown, device: otherDevice)
        return SnapshotChunk(
            table: "song", identity: .surrogate,
            columns: [
                .init(name: "artist"), .init(name: "price"), .init(name: "rating", isRegister: true),
                .init(name: "title"),
            ], shapes: [[0, 1, 3], [0, 1, 2, 3], [], [3]],
            objects: [
                .init(id: song(1), inserted: own, deleted: nil, key: .integer(1), shape: 0, firstCell: 0),
                .init(id: song(2), inserted: own, deleted: other, key: .integer(2), shape: 1, firstCell: 3),
                // Nothing but deletions is known.
                .init(
                    id: song(3), inserted: nil, deleted: other, earlierDeletions: [old, own], key: nil, shape: 2,
                    firstCell: 7),
                // Nothing but an update is known.
                .init(id: song(4), inserted: nil, deleted: nil, key: nil, shape: 3, firstCell: 7),
                .init(
                    id: ObjectID(high: 0xffff << 48, low: 1), inserted: old, deleted: own, earlierDeletions: [old],
                    key: .text("a key"), shape: 0, firstCell: 8),
            ],
            cells: [
                .init(stamp: own, content: .reference(song(9))), .init(stamp: own, content: .real(12.5)),
                .init(stamp: other, content: .text("Naïve\u{0}song")),
                .init(stamp: own, content: .null), .init(stamp: other, content: .integer(.min)),
                .init(stamp: own, content: .blob([0, 1, 0])), .init(stamp: own, content: .blob([0, 255, 1])),
                .init(stamp: other, content: .text("")),
                .init(stamp: old, content: .reference(song(2))), .init(stamp: old, content: .real(-0.0)),
                .init(stamp: own, content: .null),
            ])
    }

    static func manifest() -> SnapshotManifest {
        SnapshotManifest(
            container: container,
            positions: [
                device: .init(log: LogPosition(sequence: 12, time: start), checksum: Checksum(high: 1, low: 2)),
                otherDevice: .init(
                    log: LogPosition(sequence: 1 << 40, time: HybridTime(milliseconds: 1_700_000_100_000))),
            ],
            contexts: [
                .init(author: device, other: otherDevice, time: start, seen: start.next),
                .init(author: DeviceID(high: 0x77, low: 0), other: device, time: .unknown, seen: start),
            ],
            schema: StampedSchema(record: schema, stamp: Stamp(time: start, device: otherDevice)),
            tables: [
                .init(name: "kind", identity: .declared(["name"]), chunks: []),
                .init(
                    name: "song", identity: .surrogate,
                    chunks: [
                        .init(checksum: Checksum(high: 3, low: 4), bytes: 70_000, objects: 812),
                        .init(checksum: Checksum(high: 5, low: 6), bytes: 81, objects: 1),
                    ]),
                .init(name: "tag", identity: .key(["song_id", "name"]), chunks: []),
            ])
    }

    /// The same, of a log that holds changes of before (version 2).
    static func lateManifest() -> SnapshotManifest {
        var manifest = manifest()
        manifest.positions[device]?.lastLate = 9
        return manifest
    }

    /// The same with a table of which there are three generations (version 3).
    static func manifestOfGenerations() -> SnapshotManifest {
        var manifest = lateManifest()
        guard let last = manifest.tables.last else { return manifest }
        manifest.tables.removeLast()
        for identity in [TableIdentity.surrogate, .key(["code"]), .key(["code", "part"])] {
            manifest.tables.append(.init(name: last.name, identity: identity, chunks: last.chunks))
        }
        return manifest
    }
}
