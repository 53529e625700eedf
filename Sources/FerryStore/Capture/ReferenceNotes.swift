import FerryCore
import FerryMerge

/// What captured objects of one table refer to by columns that were written.
struct ReferenceNotes {
    private let registry: Registry
    private let table: TrackedTable
    /// Whether anything is held back from deletion, so that it matters what is referred to.
    private let areWanted: Bool
    private(set) var tokens: Set<RowToken> = []
    /// Those of them by which rows would be held back that are known by references themselves (`HeldLinks`).
    private(set) var heldLinks: Set<RowToken> = []

    /// - Parameter areWanted: otherwise nothing is noted.
    init(_ registry: Registry, _ table: TrackedTable, areWanted: Bool) {
        self.registry = registry
        self.table = table
        self.areWanted = areWanted
    }

    /// Notes what an object refers to.
    /// - Parameter own: its values before the operations.
    mutating func note(_ operations: [CapturedOperation], _ own: @autoclosure () -> FieldValues) {
        if !areWanted { return }
        var written: FieldValues = [:]
        for operation in operations { written = written.overlaid(with: operation.values) }
        if written.isEmpty { return }
        let values = own().overlaid(with: written)
        for (place, token) in References(registry: registry).targets(of: table, values)
        where written.hasAny(of: table.foreignKeys[place].columns) {
            tokens.insert(token)
            if HeldLinks.holds(table.foreignKeys[place], registry) { heldLinks.insert(token) }
        }
    }
}
