@testable import FerryStore

extension TestDevice {
    /// All rows of the app's tables and of Ferry's, by table. Two devices of one number that did the same have the same.
    func content() throws -> [String: [String]] {
        let tables = try query(
            """
            SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite/_%' ESCAPE '/'
                AND name NOT IN ('ferry_meta', 'ferry_pending') ORDER BY name
            """)
        var content: [String: [String]] = [:]
        for table in tables { content[table] = try query("SELECT * FROM \"\(table)\"") }
        return content
    }
}
