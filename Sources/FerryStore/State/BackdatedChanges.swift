import FerryCore
import FerrySchema

/// Changesets with backdated changes: older than the preceding changesets of their log (`ferry_meta`, `late`).
///
/// A device writes changes again at times just after their original times (`UnpublishedRestamping`). Without backdated
/// changes, a log known up to a time holds nothing older after that. With them, this holds only once the last such
/// changeset is replayed. Deletions are not forgotten before (`TombstoneCollector`).
enum BackdatedChanges {
    /// True if some change of a changeset is no later than the log before the changeset. Rows of an unknown time do not
    /// count.
    static func isLate(_ tables: [TableChanges], after preceding: HybridTime) -> Bool {
        if !preceding.isKnown { return false }
        return tables.contains { changes in
            changes.operations.contains { $0.time <= preceding && $0.time.isKnown }
        }
    }

    static func note(_ found: [DeviceID: UInt64], _ meta: MetaTable) throws {
        if found.isEmpty { return }
        var known = try meta.json(.late, as: [String: UInt64].self) ?? [:]
        for (device, sequence) in found { known[device.hex] = max(known[device.hex] ?? 0, sequence) }
        try meta.set(.late, json: known)
    }

    static func all(_ meta: MetaTable) throws -> [DeviceID: UInt64] {
        let known = try meta.json(.late, as: [String: UInt64].self) ?? [:]
        return Dictionary(uniqueKeysWithValues: known.compactMap { hex, last in DeviceID(hex).map { ($0, last) } })
    }
}
