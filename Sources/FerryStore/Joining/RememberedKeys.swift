import FerryCore
import FerrySchema

/// Which rows a database's integer keys mean, where the integers alone do not tell: a device may have given a row another integer than
/// other devices did. A database that leaves its container keeps this for the case that it joins again (`JoinOptions.Match.keys`).
package struct RememberedKeys: Codable, Equatable, Sendable {
    package struct Table: Codable, Equatable, Sendable {
        /// The objects of rows, as hexadecimal digits, by the integers in decimal digits.
        package var objects: [String: String] = [:]
        /// The integers of rows that no other device knows.
        package var own: [Int64] = []

        package init() {}
    }

    /// The container's ID.
    package var container: String
    /// The tables by travelling name in lower case. A table without such rows is left out.
    package var tables: [String: Table] = [:]

    package init(container: ContainerID) { self.container = container.description }

    /// The number of rows.
    package var count: Int { tables.values.reduce(0) { $0 + $1.objects.count + $1.own.count } }

    /// Returns the objects of integer keys by what is remembered.
    /// - Parameter holders: for each table, by name in lower case, the object that each key was given to.
    package func applied(
        to holders: [String: [FieldValue: ObjectID]]
    ) -> [String: [FieldValue: ObjectID]] {
        var result = holders
        for (name, table) in tables {
            var known: [FieldValue: ObjectID] = [:]
            for (key, object) in table.objects {
                guard let key = Int64(key), let object = ObjectID(object) else { continue }
                known[.integer(key)] = object
            }
            let objects = Set(known.values)
            var rest = result[name, default: [:]].filter { !objects.contains($0.value) }
            for key in table.own { rest[.integer(key)] = nil }
            result[name] = rest.merging(known) { $1 }
        }
        return result
    }
}

/// Finds the rows to remember.
struct AmbiguousKeys {
    let access: StoreAccess

    func remembered(in container: ContainerID) throws -> RememberedKeys {
        var remembered = RememberedKeys(container: container)
        for table in access.registry.tables.values where table.isLocal && table.identity.isSurrogate {
            var found = RememberedKeys.Table()
            found.objects = try objects(of: table)
            try access.connection.forEachRow(
                """
                SELECT \(table.keyList) FROM \(table.rows) EXCEPT SELECT k0 FROM \(table.objectTable)
                WHERE \(Visibility.way) IN (\(Visibility.row.rawValue), \(Visibility.anomalousRow.rawValue)) ORDER BY 1
                """
            ) { row in if case .integer(let key) = row.value(0) { found.own.append(key) } }
            if !found.objects.isEmpty || !found.own.isEmpty { remembered.tables[foldedName(table.name)] = found }
        }
        return remembered
    }

    /// The rows that another object's author gave the same integer, and the rows with another integer than their own author gave.
    private func objects(of table: TrackedTable) throws -> [String: String] {
        let states = access.objects(of: table.id)
        var given: [FieldValue: Int] = [:]
        var rows: [(object: ObjectID, key: FieldValue, given: FieldValue?)] = []
        try access.connection.forEachRow(
            "SELECT object FROM \(table.objectTable) WHERE state IS NOT NULL ORDER BY object"
        ) {
            guard let id: ObjectID = $0.id(0) else { return }
            let state = try states.load(id)
            if let key = state.givenKey { given[key, default: 0] += 1 }
            if state.shown.hasRow, let key = state.key.first { rows.append((id, key, state.givenKey)) }
        }
        var found: [String: String] = [:]
        for row in rows where row.key != row.given || given[row.key, default: 0] > 1 {
            if case .integer(let key) = row.key { found["\(key)"] = row.object.hex }
        }
        return found
    }
}
