import FerryCore
import FerryMerge

/// An object's own values that foreign keys refer to, which it gave up for those that its row shows.
struct GivenUpValues {
    var object: ObjectID
    /// All of its own values before.
    var former: FieldValues
    /// The columns in which it has others now.
    var columns: [Int]
}

/// Lets references by value follow an object that gave up the value by which they mean it (`FreedClaims`): they are given
/// what their rows show already, as operations of their own. To the person who writes nothing happened to the row that they
/// refer to, and without that they would refer to nothing.
///
/// A reference in a key stays: it is the object's identity.
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
                    for (reference, shown) in try references(to: given, table) {
                        let child = reference.table
                        var writer =
                            try writers[child]
                            ?? CapturedWriter(access, access.registry[child], notesReferences: notesReferences)
                        touched.append(try writer.takeOver(shown, reference.id, &clock))
                        writers[child] = writer
                    }
                }
            }
            if touched.count == followed { return touched }
        }
    }

    /// Who means an object by a value that it gave up, and what it is to refer to instead.
    private func references(
        to given: GivenUpValues, _ table: TrackedTable
    ) throws -> [(child: RowToken, shown: FieldValues)] {
        let object = RowToken(table: table.id, id: given.object)
        let row = try travelling.row(showing: object)
        let referring = try found.references(to: object, by: given.columns)
        var result: [(child: RowToken, shown: FieldValues)] = []
        for (incoming, offered) in found.incomingKeys(of: table, by: given.columns) {
            let key = access.registry[incoming.table].foreignKeys[incoming.foreignKey]
            let parts = offered.map { row[$0] ?? .null }
            guard let former = meaning.offer(table, offered, offered.map { given.former[$0] ?? .null }),
                let present = meaning.offer(table, offered, parts), former != present,
                access.registry[incoming.table].keyGroupColumns.isDisjoint(with: key.columns)
            else { continue }
            var shown = FieldValues()
            for (column, value) in zip(key.columns, parts) { shown[column] = value }
            let rows = referring.filter { $0.child.table == incoming.table && $0.foreignKey == incoming.foreignKey }
            let children = try rows.map(\.child) + withoutRows(former, incoming.table)
            for child in children {
                let state = try access.objects(of: child.table).load(child.id)
                let row = state.shown.hasRow ? try travelling.row(showing: child) : [:]
                guard meaning.target(key, row.overlaid(with: state.kept.fields)) == former else { continue }
                result.append((child, shown.overlaid(with: row.filter { key.columns.contains($0.key) })))
            }
        }
        return result
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
