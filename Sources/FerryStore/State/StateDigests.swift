import FerryCore
import FerrySQL
import FerrySchema

/// The digests of a store's tables, kept in `ferry_digest` as states are saved. A digest has the sum and the number of
/// the table's object checksums, and the same for the checksums of objects not shown as written.
///
/// An object that is not alive has the checksum 0 and counts for nothing. So digests do not depend on who remembers the
/// object.
///
/// Changes are gathered here during a transaction and written at the end. A caller that rolls back a savepoint must
/// also reset `changes`.
final class StateDigests {
    struct Change {
        var sum: UInt64 = 0
        var count = 0
        /// The sum and the number of the checksums of objects not shown as written.
        var shown: UInt64 = 0
        var exceptions = 0

        init() {}

        /// The change of a digest caused by a changed object checksum; 0 is the checksum of an object that is not
        /// alive.
        init(from former: UInt64, to check: UInt64) {
            sum = check &- former
            count = (check == 0 ? 0 : 1) - (former == 0 ? 0 : 1)
        }

        mutating func add(_ other: Change) {
            sum &+= other.sum
            count += other.count
            shown &+= other.shown
            exceptions += other.exceptions
        }
    }

    /// Changes by table, since the last `save`.
    @exclusivity(unchecked) var changes: [Int: Change] = [:]

    /// Records a changed object checksum; 0 if the object is not alive.
    func note(_ table: Int, from former: UInt64, to check: UInt64) {
        if former == check { return }
        changes[table, default: Change()].add(Change(from: former, to: check))
    }

    /// Records the checksums of several new objects of a table.
    func note(_ table: Int, _ added: Change) {
        changes[table, default: Change()].add(added)
    }

    /// Records a changed way of showing an object, by checksums of `VisibilityChecksums`.
    func recordShown(_ table: Int, from former: UInt64, to check: UInt64) {
        if former == check { return }
        let change = Change(from: former, to: check)
        changes[table, default: Change()].shown &+= change.sum
        changes[table, default: Change()].exceptions += change.count
    }

    func save(_ connection: SQLConnection) throws {
        for (table, change) in changes {
            try DigestTable(connection).change(table) { sums in
                sums.sum = Int64(bitPattern: UInt64(bitPattern: sums.sum) &+ change.sum)
                sums.count &+= Int64(change.count)
                sums.shown = Int64(bitPattern: UInt64(bitPattern: sums.shown) &+ change.shown)
                sums.exceptions &+= Int64(change.exceptions)
            }
        }
        changes = [:]
    }
}
