/// The shorter ways that a store may take where a change concerns nothing else. Each comes to what the general path comes to
/// (Docs/Architecture/fast-paths.md), and each can be left out.
package struct FastPaths: OptionSet, Hashable, Sendable {
    package let rawValue: UInt8

    package init(rawValue: UInt8) { self.rawValue = rawValue }

    /// A flush of new rows is packed without an object in memory for each (`InsertionCapture`).
    package static let bulkInsertCapture = FastPaths(rawValue: 1)
    /// Replayed rows of new objects are written several at a time (`NewRows`).
    package static let bulkRowInsert = FastPaths(rawValue: 2)
    /// Updates are merged into the bytes of a state (`PlainUpdates`). Needs `statePrefetch` and `stampBatches`.
    package static let fastUpdates = FastPaths(rawValue: 4)
    /// States and rows are read several at a time before they are merged (`StatesAhead`).
    package static let statePrefetch = FastPaths(rawValue: 8)
    /// States of which stamps alone changed are written several at a time (`StampUpdates`).
    package static let stampBatches = FastPaths(rawValue: 16)
    /// A snapshot is loaded into a store without objects, and not merged (`SnapshotLoad`).
    package static let snapshotLoad = FastPaths(rawValue: 32)

    package static let all = FastPaths(rawValue: 63)
    /// Everything takes the general path.
    package static let none: FastPaths = []

    /// Each fast path with its name.
    package static let named: [(path: FastPaths, name: String)] = [
        (bulkInsertCapture, "bulkInsertCapture"), (bulkRowInsert, "bulkRowInsert"), (fastUpdates, "fastUpdates"),
        (statePrefetch, "statePrefetch"), (stampBatches, "stampBatches"), (snapshotLoad, "snapshotLoad"),
    ]
}

/// Why a fast path left something to the general path.
package enum FastPathDecline: Int, Error, CaseIterable, Sendable {
    /// It is switched off.
    case off
    /// Notes of other kinds than insertions.
    case otherNotes
    /// Rows are held back from deletion, and must be said again.
    case heldBackRows
    /// The app's functions or triggers are to be told of each row.
    case observed
    /// The identity is declared, or the table is about to become another generation.
    case identity
    /// The table has columns under a policy.
    case policies
    /// References that no foreign key checks.
    case uncheckedReferences
    /// Objects of the table, or near it, are not simply shown.
    case anomalies
    /// UNIQUE indexes on other columns than the key.
    case claims
    /// Rows may refer to links that the flush would have to insert.
    case links
    /// One key or one object twice.
    case repeated
    /// What a row refers to is not there, or has no row of its own.
    case missingTarget
    /// A row is not there any more.
    case missingRow
    /// Something is known of the object.
    case known
    /// The table or a column is not there, or the table has too many.
    case shape
    /// The key is none that is free by itself.
    case key
    /// It is no update, or carries more than values.
    case operation
    /// Other objects may depend on the column.
    case column
    /// The write is not later than what is known.
    case older
    /// SQLite refused the row.
    case refused
}

/// Counts how often each fast path was taken and why it was not, by rows, objects or flushes. Not safe to share; lives inside one
/// transaction.
final class FastPathLog {
    @exclusivity(unchecked) private var taken = [Int](repeating: 0, count: FastPaths.named.count)
    @exclusivity(unchecked) private var declined = [Int](
        repeating: 0, count: FastPaths.named.count * FastPathDecline.allCases.count)

    private func place(_ path: FastPaths) -> Int { path.rawValue.trailingZeroBitCount }

    func take(_ path: FastPaths, _ count: Int = 1) { taken[place(path)] += count }

    func decline(_ path: FastPaths, _ reason: FastPathDecline) {
        declined[place(path) * FastPathDecline.allCases.count + reason.rawValue] += 1
    }

    /// Counts a table that a path was taken for, or was not.
    func note(_ path: FastPaths, _ reason: FastPathDecline, _ isTaken: Bool) {
        if isTaken { take(path) } else { decline(path, reason) }
    }

    /// What was counted since the last time.
    func counts() -> FastPathCounts {
        var counts = FastPathCounts()
        for (place, named) in FastPaths.named.enumerated() {
            if taken[place] > 0 { counts.taken[named.name] = taken[place] }
            for reason in FastPathDecline.allCases {
                let count = declined[place * FastPathDecline.allCases.count + reason.rawValue]
                if count > 0 { counts.declined[named.name, default: [:]]["\(reason)"] = count }
            }
        }
        for place in taken.indices { taken[place] = 0 }
        for place in declined.indices { declined[place] = 0 }
        return counts
    }
}

/// How often fast paths were taken, and why they were not.
package struct FastPathCounts: Equatable, Sendable, Codable {
    /// By the path's name.
    package var taken: [String: Int] = [:]
    /// By the path's name and the reason.
    package var declined: [String: [String: Int]] = [:]

    package init() {}

    package mutating func add(_ other: FastPathCounts) {
        taken.merge(other.taken, uniquingKeysWith: +)
        for (path, reasons) in other.declined { declined[path, default: [:]].merge(reasons, uniquingKeysWith: +) }
    }
}
