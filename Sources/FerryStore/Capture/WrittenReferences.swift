import FerryCore
import FerryMerge
import FerrySchema

/// The targets of captured objects of a table, by written columns.
struct WrittenReferences {
    private let registry: Registry
    private let table: TrackedTable
    /// True if any object is retained, so targets matter.
    private let areWanted: Bool
    private(set) var tokens: Set<RowToken> = []
    /// The targets that are identified by references themselves, and would be retained (`RetainedLinks`).
    private(set) var retainedLinks: Set<RowToken> = []

    /// - Parameter areWanted: false to record nothing.
    init(_ registry: Registry, _ table: TrackedTable, areWanted: Bool) {
        self.registry = registry
        self.table = table
        self.areWanted = areWanted
    }

    /// Records an object's targets.
    /// - Parameter own: the object's values before the operations.
    mutating func note(_ operations: [CapturedOperation], _ own: @autoclosure () -> ColumnValues) {
        if !areWanted { return }
        var written: ColumnValues = [:]
        for operation in operations { written = written.overlaid(with: operation.values) }
        if written.isEmpty { return }
        let values = own().overlaid(with: written)
        for (place, token) in ReferenceTokens(registry: registry).targets(of: table, values)
        where written.hasAny(of: table.foreignKeys[place].columns) {
            tokens.insert(token)
            if RetainedLinks.holds(table.foreignKeys[place], registry) { retainedLinks.insert(token) }
        }
    }
}
