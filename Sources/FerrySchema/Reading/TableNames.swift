import FerryCore
import FerrySQL

/// The travelling names of tables that this database knows under another name (`ferry_meta`, `tableNames`).
///
/// A table goes on travelling under its first name after `ALTER TABLE … RENAME TO`. So its rows stay the same objects,
/// and every device may rename the table at any time (Docs/Architecture/schema-changes.md, "Renamed tables").
package struct TableNames: Codable, Equatable, Sendable {
    /// The name in the database by the exact key of the travelling name, as registered.
    @ComparedByBytes package private(set) var local: [String: String]

    package init(_ local: [String: String] = [:]) { self.local = local.byExactKeys }

    /// Decodes JSON. An earlier version of Ferry wrote names in place of their keys.
    package init(from decoder: any Decoder) throws {
        self.init(try decoder.container(keyedBy: CodingKeys.self).decode([String: String].self, forKey: .local))
    }

    /// The renamed tables of a schema record.
    package init(_ tracked: [TrackedTableRecord]) {
        let renamed = tracked.compactMap { table in table.localName.map { (exactKey(table.name), $0) } }
        // A record from the container must not give an app's table the role of a table of Ferry's.
        local = Dictionary(renamed.filter { !isFerryName($0.0) && !isFerryName($0.1) }) { first, _ in first }
    }

    /// The names recorded in a database; none in an untracked database.
    package static func load(_ connection: SQLConnection) throws -> TableNames {
        guard try OwnNames.areMade(connection) else { return TableNames() }
        return try MetaTable(connection: connection).json(.tableNames) ?? TableNames()
    }

    package func save(_ meta: MetaTable) throws { try meta.set(.tableNames, json: self) }

    /// The travelling name of each table that has another one in the database, by the key of the name in the database.
    ///
    /// An entry applies while the database has the table. A table with the travelling name of another one travels under a
    /// name of its own (`free`).
    /// - Parameter present: the names of the database's tables.
    package func travelling(among present: [String]) -> [String: String] {
        if local.isEmpty { return [:] }
        let there = Set(present.map(foldedName))
        var names: [String: String] = [:]
        for (travelling, name) in local.sorted(by: { $0.key < $1.key }) where there.contains(foldedName(name)) {
            names[foldedName(name)] = names[foldedName(name)] ?? plainText(travelling)
        }
        var taken = Set(names.values.map(foldedName))
        for name in present where names[foldedName(name)] == nil && taken.contains(foldedName(name)) {
            let own = Self.free(name) { taken.contains($0) || there.contains($0) }
            names[foldedName(name)] = own
            taken.insert(foldedName(own))
        }
        return names
    }

    /// The name under which a table travels if another table travels under the table's own name: `item (2)`. Devices that
    /// run the same migration choose the same name.
    package static func free(_ name: String, _ isTaken: (_ folded: String) -> Bool) -> String {
        var number = 2
        while isTaken(foldedName("\(name) (\(number))")) { number += 1 }
        return "\(name) (\(number))"
    }

    /// The name under which a table of the database travels.
    package func travelling(_ name: String) -> String {
        local.first { equalNames($0.value, name) }.map { plainText($0.key) } ?? name
    }

    /// The name in the database of a table that travels under a name.
    package func local(_ travelling: String) -> String {
        local.first { equalNames($0.key, travelling) }?.value ?? travelling
    }

    /// Records a table's present name; `nil` for a table that is not there. The travelling name itself needs no entry.
    package mutating func set(_ name: String?, for travelling: String) {
        let known = local.keys.first { equalNames($0, travelling) } ?? exactKey(travelling)
        local[known] = name.flatMap { equalNames($0, travelling) ? nil : $0 }
    }
}
