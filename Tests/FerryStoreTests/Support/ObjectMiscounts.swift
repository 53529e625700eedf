import FerrySchema

@testable import FerryStore

extension Store {
    /// Where the counts of a status are not those of all objects, looked at one by one.
    func miscounts() throws -> [String] {
        try readAccess { access in
            let counts = try ObjectCounts(access.connection)
            return try access.registry.tables.values.flatMap { table -> [String] in
                func all(_ condition: String) throws -> Int {
                    try access.connection.count("SELECT count(*) FROM \(table.objectTable) WHERE \(condition)")
                }
                let present = try all("\(Visibility.way) NOT IN (0, 4)")
                let left = try all(
                    "\(Visibility.way) = 0 AND NOT (shown & 8) AND state IS NOT NULL "
                        + "AND instr('13579BDF', substr(hex(substr(state, 1, 1)), 2, 1)) = 0")
                let found = (try counts.present(in: table), try counts.left(in: table))
                if found == (present, left) { return [] }
                return ["\(table.localName): \(found) objects are present and left, and \((present, left)) are told"]
            }
        }
    }
}
