import FerryCore
import FerrySQL

/// Finds the former columns of new columns: a migration made the table anew with other columns, or a column travels under
/// another name.
///
/// Nobody wrote the values of such a column when the migration ran. They count as written just after the values of the
/// former columns (`TrackedColumn.precursors`), so every device may migrate at a time of its own.
package struct ColumnOrigins {
    /// The columns of a table that travel under another name: present numbers by former numbers.
    package typealias Renamed = [Int: Int]

    private let connection: SQLConnection
    private var meta: MetaTable { MetaTable(connection: connection) }

    package init(_ connection: SQLConnection) { self.connection = connection }

    /// Records the former columns of all new columns.
    /// - Parameters:
    ///   - registry: the present tables, with new columns registered.
    ///   - moved: the columns that travel under another name from now on.
    ///   - remade: the columns from before the migration of each table made anew, by the table's number.
    /// - Returns: the columns of each table with another number, by the table's number; empty without any.
    package func update(
        _ registry: Registry, _ moved: [SchemaNews.Moved], remade: [Int: [Int]]
    ) throws -> [Int: Renamed] {
        let before = try Generations.load(meta)
        var generations = before
        var renamed: [Int: Renamed] = [:]
        for table in registry.tables.values where table.isLocal && !registry.leaving.contains(table.id) {
            var origins: [Int: [Int]] = [:]
            if let columns = remade[table.id] {
                let gone = columns.filter { table.columns.indices.contains($0) && isGone(table.columns[$0], table) }
                for column in table.localColumns
                where !gone.isEmpty && !columns.contains(column.id) && !table.keyColumnIDs.contains(column.id) {
                    origins[column.id] = gone
                }
            }
            let pairs = moved.first { $0.table == table.id }?.pairs ?? []
            let columns = Dictionary(pairs.map { ($0.from, $0.to) }) { first, _ in first }
            for (former, present) in columns { origins[present] = [former] }
            if !columns.isEmpty { renamed[table.id] = columns }
            for (column, formers) in origins {
                let name = foldedName(table.columns[column].name)
                generations.origins["\(table.id)", default: [:]][name] = formers.sorted()
            }
        }
        if generations != before { try generations.save(meta) }
        return renamed
    }

    /// True for a column that the table had before, outside its key. A column with a new meaning is still there
    /// (`ColumnMeanings`).
    private func isGone(_ column: TrackedColumn, _ table: TrackedTable) -> Bool {
        !column.isLocal && !table.keyColumnIDs.contains(column.id) && !column.isHidden
            && !table.localColumns.contains { equalNames($0.baseName, column.baseName) }
    }

    /// Reads the columns from `INSERT INTO ferry_old_3(sequence, c0, c2) VALUES (last_insert_rowid(), OLD."a", OLD."b")`.
    /// - Returns: the names by the columns' numbers; empty for another text.
    package static func recordedColumns(_ trigger: String, in table: String) -> [Int: String] {
        guard let start = trigger.ranges(of: "INSERT INTO \(table)(sequence").last?.upperBound,
            let end = trigger[start...].firstIndex(of: ")"),
            let values = trigger[end...].firstRange(of: "last_insert_rowid()")?.upperBound
        else { return [:] }
        let numbers = trigger[start..<end].split(separator: ", c").compactMap { Int($0) }
        var names: [String] = []
        // Scalars: a quote and a combining mark behind the quote are one character.
        var rest = trigger[values...].unicodeScalars
        let opening = ", OLD.\"".unicodeScalars
        while rest.starts(with: opening) {
            rest = rest.dropFirst(opening.count)
            var name = String.UnicodeScalarView()
            while let quote = rest.firstIndex(of: "\"") {
                name += rest[..<quote]
                rest = rest[rest.index(after: quote)...]
                if rest.first != "\"" { break }
                // A doubled quote stands for one in the name.
                name.append("\"")
                rest = rest.dropFirst()
            }
            names.append(String(name))
        }
        guard names.count == numbers.count else { return [:] }
        return Dictionary(zip(numbers, names)) { first, _ in first }
    }
}
