import FerryContent
import FerryCore
import FerrySchema

/// What the changes of a transaction say of contents, for the look at references at its end (`StoreSession.insertContentsAgain`).
///
/// Invariant: every reference that the transaction changed is a candidate, or the look is wide.
struct ContentNews {
    /// True if all references are to be looked at: a content or a version was deleted, or a column declared.
    private(set) var isWide = false
    /// The contents that changed references lead to.
    private(set) var candidates: Set<ContentID> = []
    /// What was known of contents before their deletion came.
    private(set) var before: [ContentID: ContentStanding?] = [:]

    /// True if no look is needed.
    var isEmpty: Bool { !isWide && candidates.isEmpty }

    /// Looks at everything: nobody lists what a snapshot changes.
    mutating func widen() { isWide = true }

    /// Takes in changes: those of other devices before they are merged, those of this device before or after.
    mutating func note(_ tables: [TableChanges], _ access: StoreAccess, areOwn: Bool) throws {
        guard let standings = try ContentStandings(access) else { return }
        var references: ContentReferences?
        for changes in tables {
            switch foldedName(changes.name) {
            case DocumentTables.content:
                for operation in changes.operations where operation.kind == .delete {
                    isWide = true
                    if areOwn { continue }
                    let content = ContentID(high: operation.object.high, low: operation.object.low)
                    if before[content] == nil { before[content] = try standings.standing(of: content) }
                }
            case DocumentTables.version:
                if changes.operations.contains(where: { $0.kind == .delete }) { isWide = true }
            case DocumentTables.attachment: isWide = true
            case DocumentTables.pack, DocumentTables.document, DocumentTables.setting: continue
            default:
                if isWide { continue }
                let known = try references ?? ContentReferences(access)
                references = known
                if try !known.declared.isEmpty && standings.hasDeleted() { note(changes, known) }
            }
        }
    }

    private mutating func note(_ changes: TableChanges, _ references: ContentReferences) {
        var names: Set<String> = []
        for (table, columns) in references.declared where equalNames(table.name, changes.name) {
            for column in columns { names.insert(foldedName(table.columns[column].travellingName)) }
        }
        let places = Set(changes.columns.indices.filter { names.contains(foldedName(changes.columns[$0])) })
        if places.isEmpty { return }
        // Values that are made only when somebody asks, and parts of policies, are not read twice.
        if changes.source != nil || places.contains(where: { changes.payload(of: $0) != nil }) {
            isWide = true
            return
        }
        for operation in changes.operations where operation.kind != .delete {
            let values = zip(changes.shapes[operation.shape], changes.values(of: operation))
            for (column, value) in values where places.contains(column) {
                if let content = ContentID(content: value) { candidates.insert(content) }
            }
        }
    }
}
