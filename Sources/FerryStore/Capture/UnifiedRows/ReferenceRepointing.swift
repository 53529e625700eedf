import FerryCore
import FerryMerge
import FerrySchema

/// An object's own parent key values, released for the values of its row.
struct ReleasedValues {
    var object: ObjectID
    /// All of the object's own values before.
    var former: ColumnValues
    /// The columns with new values.
    var columns: [Int]
    /// The successor for objects that referred by the key, with its values; `nil` if the object still exists.
    var successor: RekeyedLink?
}

/// Moves references by value when an object releases their value (`UniqueValueRelease`). As own operations, the
/// references get the values already shown by their rows. For the writing person nothing happened to the referenced
/// row. Otherwise the references would have no target, or a wrong target.
///
/// An object referring by its own key becomes a new object under the shown value (`LinkRekeying`).
struct ReferenceRepointing {
    let access: StoreAccess
    private let meaning: ReferenceTokens
    private let translator: ReferenceTranslator
    private let found: ValueReferences
    /// Number of given-up values already followed, by table.
    private var done: [Int: Int] = [:]

    init(_ access: StoreAccess) {
        self.access = access
        meaning = ReferenceTokens(registry: access.registry)
        translator = ReferenceTranslator(access)
        found = ValueReferences(access)
    }

    /// - Returns: the objects the rules may have to check.
    mutating func follow(_ flush: FlushWriter) throws -> [TouchedObject] {
        var touched: [TouchedObject] = []
        while true {
            let followed = touched.count
            // References to following objects may be by value too.
            for table in access.registry.parentsFirst {
                let values = flush.givenUp(in: table, from: done[table.id] ?? 0)
                done[table.id, default: 0] += values.count
                for given in values {
                    for (reference, shown, isKey) in try references(to: given, table) {
                        let child = access.registry[reference.table]
                        touched += try flush.write(to: child) { writer, clock in
                            try isKey
                                ? LinkRekeying(access, child).succeed(reference.id, shown, &writer, &clock)
                                : [writer.takeOver(shown, reference.id, &clock)]
                        }
                    }
                }
            }
            if touched.count == followed { return touched }
        }
    }

    /// The references to an object by a given-up value, their new values, and whether the values are part of the key.
    private func references(
        to given: ReleasedValues, _ table: TrackedTable
    ) throws -> [(child: RowToken, shown: ColumnValues, isKey: Bool)] {
        let object = RowToken(table: table.id, id: given.successor?.object ?? given.object)
        let row = try given.successor?.values ?? translator.row(showing: object)
        let hasGone = given.successor != nil
        let referring = try found.references(to: object, by: given.columns, includingKeys: hasGone)
        var result: [(child: RowToken, shown: ColumnValues, isKey: Bool)] = []
        for (incoming, offered) in found.incomingKeys(of: table, by: given.columns, includingKeys: hasGone) {
            let child = access.registry[incoming.table]
            let key = child.foreignKeys[incoming.foreignKey]
            let parts = offered.map { row[$0] ?? .null }
            guard let former = target(key, of: table, offered, offered.map { given.former[$0] ?? .null }),
                let present = target(key, of: table, offered, parts), former != present
            else { continue }
            var shown = ColumnValues()
            for (column, value) in zip(key.columns, parts) { shown[column] = value }
            let isKey = !child.keyGroupColumns.isDisjoint(with: key.columns)
            let rows = referring.filter { $0.child.table == incoming.table && $0.foreignKey == incoming.foreignKey }
            let children = try rows.map(\.child) + withoutRows(former, incoming.table)
            for child in children {
                let state = try access.objects(of: child.table).load(child.id)
                let row = state.shown.hasRow ? try translator.row(showing: child) : [:]
                guard meaning.target(key, row.overlaid(with: state.kept.fields)) == former else { continue }
                result.append((child, shown.overlaid(with: row.filter { key.columns.contains($0.key) }), isKey))
            }
        }
        return result
    }

    /// The target of a foreign key for given parent values.
    private func target(
        _ key: TrackedForeignKey, of table: TrackedTable, _ offered: [Int], _ parts: [FieldValue]
    ) -> RowToken? {
        guard case .key(let order) = key.target else { return meaning.offer(table, offered, parts) }
        return RowToken(table: table.id, id: table.derivedID(order.map { parts[$0] }))
    }

    /// The objects of a table concerned by a value and without an own row.
    private func withoutRows(_ token: RowToken, _ table: Int) throws -> [RowToken] {
        try access.anomalyTokens.objects(concernedBy: token).filter { object in
            guard object.table == table, let place = try access.objects(of: table).place(of: object.id) else {
                return false
            }
            return place.shown == .joined || place.shown == .hidden
        }
    }
}
