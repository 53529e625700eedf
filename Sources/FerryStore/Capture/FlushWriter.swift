import FerryCore
import FerryMerge
import FerrySchema

/// The owner of a flush's output: a writer for each table, and the clock that the writers advance.
///
/// Invariants:
/// - A table has at most one writer, made when the table is first written to.
/// - `write` lends a writer out alone: meanwhile nobody else holds the writer, so nothing of the writer is copied.
/// - The clock is later than every time that a writer assigned.
final class FlushWriter {
    let access: StoreAccess
    /// True if writers record what written objects refer to.
    let tracksReferences: Bool
    @exclusivity(unchecked) var clock: HybridClock
    @exclusivity(unchecked) private var writers: [Int: LocalChangeWriter] = [:]

    init(_ access: StoreAccess, _ clock: HybridClock, tracksReferences: Bool) {
        self.access = access
        self.clock = clock
        self.tracksReferences = tracksReferences
    }

    /// Takes over a writer that has written a table's captured objects.
    func enter(_ writer: LocalChangeWriter) { writers[writer.table.id] = writer }

    /// Writes to a table.
    func write<Result>(
        to table: TrackedTable, _ body: (inout LocalChangeWriter, inout HybridClock) throws -> Result
    ) throws -> Result {
        var writer =
            try writers.removeValue(forKey: table.id)
            ?? LocalChangeWriter(access, table, notesReferences: tracksReferences)
        defer { writers[table.id] = writer }
        return try body(&writer, &clock)
    }

    /// True if a table was written to.
    func hasWritten(to table: TrackedTable) -> Bool { writers[table.id] != nil }

    // MARK: What was written

    /// The targets of the written columns of written objects.
    var references: Set<RowToken> { writers.values.reduce(into: []) { $0.formUnion($1.references.tokens) } }

    /// Links that written objects refer to under a key of a different object's row.
    var retainedLinks: Set<RowToken> { writers.values.reduce(into: []) { $0.formUnion($1.references.retainedLinks) } }

    /// The object in place of a replaced one; `nil` if the object was not replaced.
    func successor(of object: RowToken) -> RekeyedLink? { writers[object.table]?.successor(of: object.id) }

    /// Values released by a table's objects, in the order of their release.
    /// - Parameter start: how many of them are left out.
    func givenUp(in table: TrackedTable, from start: Int) -> [ReleasedValues] {
        Array(writers[table.id]?.givenUp.dropFirst(start) ?? [])
    }

    /// The changes of all tables, parents before children.
    var changes: [TableChanges] {
        access.registry.parentsFirst.compactMap { writers[$0.id]?.changes }.filter { !$0.isEmpty }.map(\.changes)
    }
}
