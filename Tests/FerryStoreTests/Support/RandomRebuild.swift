import FerrySQL
import FerryTestSupport

@testable import FerryStore

extension TestDevice {
    /// Makes a table anew as a migration does, so that no trigger of Ferry's stands on it any more.
    func rebuild(_ table: String) throws {
        let name = quoted(table)
        let columns = try rows("SELECT name FROM pragma_table_info('\(table)')").map { quoted($0[0].text) }
            .joined(separator: ", ")
        let texts = try rows(
            "SELECT sql FROM sqlite_schema WHERE tbl_name = '\(table)' AND type IN ('table', 'index') AND sql IS NOT NULL "
                + "ORDER BY type = 'index'"
        ).map { $0[0].text }
        var script = "BEGIN; CREATE TEMP TABLE aside AS SELECT \(columns) FROM main.\(name); DROP TABLE main.\(name);"
        script += "\(texts[0]); INSERT INTO \(name)(\(columns)) SELECT \(columns) FROM aside; DROP TABLE temp.aside;"
        script += texts.dropFirst().map { "\($0);" }.joined() + "COMMIT"
        try run(script, foreignKeys: false)
    }
}

extension RandomHistory {
    /// Makes a table anew on a device, now and then, or drops one of its triggers.
    /// - Returns: whether it did.
    mutating func rebuild(on device: TestDevice) throws -> Bool {
        if !rebuildChance.oneIn(3) { return false }
        let table = rebuildChance.pick(tables)
        if rebuildChance.oneIn(5) {
            let number = try device.query("SELECT number FROM ferry_table WHERE name = '\(table)'").first ?? "0"
            let trigger = rebuildChance.pick(["insert", "update_0", "delete"])
            note("\(device.id.low): drop trigger ferry_\(number)_\(trigger)")
            try device.run("DROP TRIGGER IF EXISTS ferry_\(number)_\(trigger)")
        } else {
            note("\(device.id.low): rebuild \(table)")
            try device.rebuild(table)
        }
        return true
    }
}
