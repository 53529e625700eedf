import FerryCore

/// The part of a column under `firstWriterWins` or a hook, beside its plain value. It has the writes that nobody has
/// replaced yet, and all known writes, so that a replaced write does not come back.
///
/// A multi-value register: concurrent writes stand side by side, and a write that knew them stands in their place. A
/// count of generations would do with less. But then a device that writes twice would silently outdo a device that
/// wrote once at the same time.
package struct VersionsPart: Hashable, Sendable {
    /// By ascending stamp; at most one of each device.
    package var versions: [StampedValue]
    /// For each device the time of its last known write.
    package var seen: [DeviceID: HybridTime]

    package init(versions: [StampedValue], seen: [DeviceID: HybridTime]) {
        self.versions = versions
        self.seen = seen
        for version in versions { see(version.stamp) }
        sort()
    }

    var newest: Stamp? { versions.last?.stamp }

    func knows(_ stamp: Stamp) -> Bool { seen[stamp.device].map { stamp.time <= $0 } ?? false }

    private mutating func see(_ stamp: Stamp) { seen[stamp.device] = max(seen[stamp.device] ?? .zero, stamp.time) }

    mutating func merge(_ other: VersionsPart) {
        var kept: [Stamp: FieldValue] = [:]
        for version in versions where !other.knows(version.stamp) { kept[version.stamp] = version.value }
        for version in other.versions where !knows(version.stamp) { kept[version.stamp] = version.value }
        for version in versions {
            // Two copies of a device may have given two values the same stamp.
            for same in other.versions where same.stamp == version.stamp {
                kept[version.stamp] = max(version.value, same.value)
            }
        }
        seen.merge(other.seen) { max($0, $1) }
        versions = kept.map { StampedValue($0, $1) }
        sort()
    }

    private mutating func sort() { versions.sort { $0.stamp < $1.stamp } }

    /// The writes side by side, by ascending stamp. A plain write later than all of them stands alone; an earlier plain
    /// write that none of them knew joins them.
    static func standing(_ part: VersionsPart?, _ plain: StampedValue?) -> [StampedValue] {
        guard let part, !part.versions.isEmpty else { return plain.map { [$0] } ?? [] }
        guard let plain, !part.knows(plain.stamp) else { return part.versions }
        if part.versions.allSatisfy({ $0.stamp < plain.stamp }) { return [plain] }
        return (part.versions + [plain]).sorted { $0.stamp < $1.stamp }
    }

    /// Writes in their order under `firstWriterWins`. The values of a database that joined have no time of writing: they are
    /// not the first, but yield to everything written, and to the values that were in the container before them.
    static func byPrecedence(_ standing: [StampedValue]) -> [StampedValue] {
        standing.filter(\.stamp.time.isKnown) + standing.filter { !$0.stamp.time.isKnown }.reversed()
    }

    /// The part that a local write makes: it knows all known writes.
    static func written(
        _ value: FieldValue, _ stamp: Stamp, over part: VersionsPart?, _ plain: StampedValue?
    ) -> VersionsPart {
        var made = VersionsPart(versions: [StampedValue(stamp, value)], seen: part?.seen ?? [:])
        if let plain { made.see(plain.stamp) }
        return made
    }
}
