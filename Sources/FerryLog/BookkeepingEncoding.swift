import FerryCore

/// Encodes the rows of the tables in which migration tools note what they have run (Docs/Format.md, "Schemas").
enum BookkeepingEncoding {
    static func write(
        _ tables: [BookkeepingRows], budget: inout SegmentBudget, names: inout NameDictionary,
        to writer: inout ByteWriter
    ) throws(FerryError) {
        let values = tables.reduce(0) { $0 + $1.rows.count * $1.columns.count }
        try budget.check(values, atMost: BookkeepingRows.maximumValues, "values of migration tools in a schema")
        try budget.take(tables.count + values, .schemaEntries)
        writer.writeVarint(UInt64(tables.count))
        for table in tables {
            try budget.take(table.columns.count, .layoutColumns)
            writer.writeVarint(UInt64(try names.index(of: table.table)))
            writer.writeVarint(UInt64(table.columns.count))
            for column in table.columns { writer.writeVarint(UInt64(try names.index(of: column))) }
            writer.writeVarint(UInt64(table.rows.count))
            for value in table.rows.joined() {
                if case .reference = value {
                    throw FerryError(.internalInconsistency, "A row of a migration tool holds a reference.")
                }
                writer.write(value)
            }
        }
    }

    static func read(
        _ names: [String], budget: inout SegmentBudget, from reader: inout ByteReader
    ) throws(FerryError) -> [BookkeepingRows] {
        let count = try reader.readCount(minimumBytes: 3)
        try budget.take(count, .schemaEntries)
        var tables: [BookkeepingRows] = []
        var bytes = 0
        for _ in 0..<count {
            let table = try TableLayout.readName(names, from: &reader)
            let width = try reader.readCount(minimumBytes: 1)
            guard width >= 1, width <= SegmentLimits.columns else {
                throw ByteReader.malformed("a migration tool's table has no columns, or too many")
            }
            try budget.take(width, .layoutColumns)
            var columns: [String] = []
            for _ in 0..<width { columns.append(try TableLayout.readName(names, from: &reader)) }
            let rows = try reader.readCount(minimumBytes: width)
            guard rows <= BookkeepingRows.maximumValues / width else {
                throw ByteReader.malformed(
                    "a migration tool's table has more than \(BookkeepingRows.maximumValues) values")
            }
            try budget.take(rows * width, .schemaEntries)
            var read = BookkeepingRows(table: table, columns: columns, rows: [])
            for _ in 0..<rows {
                var row: [FieldValue] = []
                for _ in 0..<width { row.append(try readValue(&bytes, from: &reader)) }
                read.rows.append(row)
            }
            tables.append(read)
        }
        return tables
    }

    private static func readValue(
        _ bytes: inout Int, from reader: inout ByteReader
    ) throws(FerryError) -> FieldValue {
        let value = try reader.readValue()
        switch value {
        case .null, .integer, .real: return value
        case .text(let content), .blob(let content):
            bytes += content.count
            guard bytes <= BookkeepingRows.maximumBytes else {
                throw ByteReader.malformed(
                    "the rows of migration tools are larger than \(BookkeepingRows.maximumBytes) bytes")
            }
            return value
        case .reference: throw ByteReader.malformed("a row of a migration tool holds a reference")
        }
    }
}
