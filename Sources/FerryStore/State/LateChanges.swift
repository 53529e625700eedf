import FerryCore

/// Changesets that hold changes of before the ones that precede them in their log (`ferry_meta`, `late`).
///
/// That is what a device writes again, each as soon after its own time as can be told from it (`UnsentRewriting`). Elsewhere a
/// log that is known up to a time holds nothing more of before it. Here that is so only once it is known up to the last such
/// changeset, and deletions are not forgotten before (`TombstoneCollection`).
enum LateChanges {
    /// Whether some change of a changeset is no later than the log was before it. Rows of an unknown time do not count.
    static func isLate(_ tables: [TableChanges], after preceding: HybridTime) -> Bool {
        if !preceding.isKnown { return false }
        return tables.contains { changes in
            changes.operations.contains { $0.time <= preceding && $0.time.isKnown }
        }
    }

    static func note(_ found: [DeviceID: UInt64], _ meta: StoreMeta) throws {
        if found.isEmpty { return }
        var known = try meta.json(.late, as: [String: UInt64].self) ?? [:]
        for (device, sequence) in found { known[device.hex] = max(known[device.hex] ?? 0, sequence) }
        try meta.set(.late, json: known)
    }

    static func all(_ meta: StoreMeta) throws -> [DeviceID: UInt64] {
        let known = try meta.json(.late, as: [String: UInt64].self) ?? [:]
        return Dictionary(uniqueKeysWithValues: known.compactMap { hex, last in DeviceID(hex).map { ($0, last) } })
    }
}
