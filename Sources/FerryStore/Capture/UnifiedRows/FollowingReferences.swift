import FerryCore
import FerryMerge

/// An object's own values that foreign keys refer to, which it gave up for those that its row shows.
struct GivenUpValues {
    var object: ObjectID
    /// All of its own values before.
    var former: FieldValues
    /// The columns in which it has others now.
    var columns: [Int]
    /// Whom those mean now who knew it by its key, and what they are to say; `nil` where it is there still.
    var successor: LinkSuccessor?
}

/// Lets references by value follow an object that gave up the value by which they mean it (`FreedClaims`): they are given
/// what their rows show already, as operations of their own. To the person who writes nothing happened to the row that they
/// refer to, and without that they would refer to nothing, or to somebody else.
///
/// What refers by its key is another object under the value that it shows (`LinkSuccession`).
struct FollowingReferences {
    let access: StoreAccess
    private let meaning: References
    private let travelling: Travelling
    private let found: ValueReferences
    /// How much of what each table gave up has been followed.
    private var done: [Int: Int] = [:]

    init(_ access: StoreAccess) {
        self.access = access
        meaning = References(registry: access.registry)
        travelling = Travelling(access)
        found = ValueReferences(access)
    }

    /// - Parameter writers: by table; those that are missing are made.
    /// - Returns: what the rules have to look at.
    mutating func follow(
        _ writers: inout [Int: CapturedWriter], _ clock: inout HybridClock, notesReferences: Bool
    ) throws -> [TouchedObject] {
        var touched: [TouchedObject] = []
        while true {
            let followed = touched.count
            // What follows may be referred to by value itself.
            for table in access.registry.parentsFirst {
                let values = writers[table.id]?.givenUp.dropFirst(done[table.id] ?? 0) ?? []
                done[table.id, default: 0] += values.count
                for given in values {
                    for (reference, shown, isKey) in try references(to: given, table) {
                        let child = access.registry[reference.table]
                        var writer =
                            try writers[child.id] ?? CapturedWriter(access, child, notesReferences: notesReferences)
                        if isKey {
                            touched += try LinkSuccession(access, child).succeed(reference.id, shown, &writer, &clock)
                        } else {
                            touched.append(try writer.takeOver(shown, reference.id, &clock))
                        }
                        writers[child.id] = writer
                    }
                }
            }
            if touched.count == followed { return touched }
        }
    }

    /// Who means an object by a value that it gave up, what it is to refer to instead, and whether it is known by that.
    private func references(
        to given: GivenUpValues, _ table: TrackedTable
    ) throws -> [(child: RowToken, shown: FieldValues, isKey: Bool)] {
        let object = RowToken(table: table.id, id: given.successor?.object ?? given.object)
        let row = try given.successor?.values ?? travelling.row(showing: object)
        let hasGone = given.successor != nil
        let referring = try found.references(to: object, by: given.columns, includingKeys: hasGone)
        var result: [(child: RowToken, shown: FieldValues, isKey: Bool)] = []
        for (incoming, offered) in found.incomingKeys(of: table, by: given.columns, includingKeys: hasGone) {
            let child = access.registry[incoming.table]
            let key = child.foreignKeys[incoming.foreignKey]
            let parts = offered.map { row[$0] ?? .null }
            guard let former = target(key, of: table, offered, offered.map { given.former[$0] ?? .null }),
                let present = target(key, of: table, offered, parts), former != present
            else { continue }
            var shown = FieldValues()
            for (column, value) in zip(key.columns, parts) { shown[column] = value }
            let isKey = !child.keyGroupColumns.isDisjoint(with: key.columns)
            let rows = referring.filter { $0.child.table == incoming.table && $0.foreignKey == incoming.foreignKey }
            let children = try rows.map(\.child) + withoutRows(former, incoming.table)
            for child in children {
                let state = try access.objects(of: child.table).load(child.id)
                let row = state.shown.hasRow ? try travelling.row(showing: child) : [:]
                guard meaning.target(key, row.overlaid(with: state.kept.fields)) == former else { continue }
                result.append((child, shown.overlaid(with: row.filter { key.columns.contains($0.key) }), isKey))
            }
        }
        return result
    }

    /// What a foreign key means by values of the columns that it refers to.
    private func target(
        _ key: TrackedForeignKey, of table: TrackedTable, _ offered: [Int], _ parts: [FieldValue]
    ) -> RowToken? {
        guard case .key(let order) = key.target else { return meaning.offer(table, offered, parts) }
        return RowToken(table: table.id, id: table.derivedID(order.map { parts[$0] }))
    }

    /// The objects of a table that a value concerns and that have no row of their own.
    private func withoutRows(_ token: RowToken, _ table: Int) throws -> [RowToken] {
        try access.exceptionTokens.objects(concernedBy: token).filter { object in
            guard object.table == table, let place = try access.objects(of: table).place(of: object.id) else {
                return false
            }
            return place.shown == .joined || place.shown == .hidden
        }
    }
}
