import FerryCore

/// Schema records (Docs/Format.md, "Schemas"); names come from the segment's dictionary, statements stand in place.
enum SchemaEncoding {
    /// The byte before a changeset's schema (Docs/Format.md, "Bodies").
    enum Form: UInt8 {
        case absent = 0
        case plain = 1
        /// References that no foreign key declares follow the tracked tables.
        case withReferences = 2
        /// Tables that travel otherwise than the statements describe them follow the references.
        case withPast = 3
        /// Rows of the tables in which migration tools note what they have run follow the tables with a past.
        case withBookkeeping = 4
    }

    /// Reads the byte before a schema.
    /// - Throws: `formatTooNew` for a form of a later Ferry.
    static func readForm(from reader: inout ByteReader) throws(FerryError) -> Form {
        let byte = try reader.readByte()
        guard let form = Form(rawValue: byte) else {
            throw FerryError(
                .formatTooNew,
                "A schema is of form \(byte), this Ferry reads up to \(Form.withBookkeeping.rawValue). "
                    + "Update Ferry on this device.")
        }
        return form
    }

    static func form(of schema: SchemaRecord?) -> Form {
        guard let schema else { return .absent }
        if !schema.bookkeeping.isEmpty { return .withBookkeeping }
        if schema.tracked.contains(where: \.hasPast) { return .withPast }
        return schema.references.isEmpty ? .plain : .withReferences
    }

    static func write(
        _ schema: SchemaRecord, budget: inout SegmentBudget, names: inout NameDictionary, to writer: inout ByteWriter
    ) throws(FerryError) {
        try budget.check(schema.statements.count, atMost: SegmentLimits.statements, "statements in a schema")
        try budget.check(schema.tracked.count, atMost: SegmentLimits.tables, "tables in a schema")
        try budget.take(schema.statements.count + schema.tracked.count, .schemaEntries)
        writer.writeZigzag(schema.userVersion)
        writer.writeZigzag(schema.applicationID)
        writer.writeVarint(UInt64(schema.statements.count))
        for statement in schema.statements {
            try budget.check(
                statement.sql.utf8.count, atMost: SegmentLimits.statementBytes, "bytes in a statement of a schema")
            writer.writeVarint(UInt64(try names.index(of: statement.type)))
            writer.writeVarint(UInt64(try names.index(of: statement.name)))
            writer.writeVarint(UInt64(try names.index(of: statement.table)))
            writer.writeCounted(statement.sql)
        }
        writer.writeVarint(UInt64(schema.tracked.count))
        for table in schema.tracked {
            try budget.take(table.identity.columnCount, .layoutColumns)
            var numbers = [try names.index(of: table.name)]
            try LayoutDictionary.append(table.identity, to: &numbers, names: &names)
            for number in numbers { writer.writeVarint(UInt64(number)) }
        }
        let form = form(of: schema)
        if form == .plain { return }
        try budget.check(schema.references.count, atMost: SegmentLimits.references, "references in a schema")
        try budget.take(schema.references.count, .schemaEntries)
        writer.writeVarint(UInt64(schema.references.count))
        for reference in schema.references {
            for name in [reference.table, reference.column, reference.parent] {
                writer.writeVarint(UInt64(try names.index(of: name)))
            }
        }
        if form == .withReferences { return }
        try writePast(schema.tracked, names: &names, to: &writer)
        if form == .withPast { return }
        try BookkeepingEncoding.write(schema.bookkeeping, budget: &budget, names: &names, to: &writer)
    }

    /// Writes how many tables have a past. Then come each table's place, the name in the statements, the collations, the
    /// columns of the identity, and the renamed columns.
    private static func writePast(
        _ tracked: [TrackedTableRecord], names: inout NameDictionary, to writer: inout ByteWriter
    ) throws(FerryError) {
        let tables = tracked.enumerated().filter { $1.hasPast }
        writer.writeVarint(UInt64(tables.count))
        for (place, table) in tables {
            writer.writeVarint(UInt64(place))
            writer.writeVarint(UInt64(try names.index(of: table.statementName)))
            for list in [table.keyCollations, table.identityColumns] {
                writer.writeVarint(UInt64(list.count))
                for name in list { writer.writeVarint(UInt64(try names.index(of: name))) }
            }
            writer.writeVarint(UInt64(table.renamedColumns.count))
            for column in table.renamedColumns {
                writer.writeVarint(UInt64(try names.index(of: column.name)))
                writer.writeVarint(UInt64(try names.index(of: column.localName)))
            }
        }
    }

    static func read(
        _ form: Form, names: [String], budget: inout SegmentBudget, from reader: inout ByteReader
    ) throws(FerryError) -> SchemaRecord {
        var schema = SchemaRecord(
            userVersion: try reader.readZigzag(), applicationID: try reader.readZigzag(), statements: [], tracked: [])
        let statements = try reader.readCount(minimumBytes: 4)
        guard statements <= SegmentLimits.statements else {
            throw ByteReader.malformed("a schema has more than \(SegmentLimits.statements) statements")
        }
        try budget.take(statements, .schemaEntries)
        for _ in 0..<statements {
            let type = try TableLayout.readName(names, from: &reader)
            let name = try TableLayout.readName(names, from: &reader)
            let table = try TableLayout.readName(names, from: &reader)
            let sql = try reader.readString()
            guard sql.utf8.count <= SegmentLimits.statementBytes else {
                throw ByteReader.malformed("a schema's statement is longer than \(SegmentLimits.statementBytes) bytes")
            }
            schema.statements.append(SchemaRecord.Statement(type: type, name: name, table: table, sql: sql))
        }
        let tracked = try reader.readCount(minimumBytes: 2)
        guard tracked <= SegmentLimits.tables else {
            throw ByteReader.malformed("a schema has more than \(SegmentLimits.tables) tables")
        }
        try budget.take(tracked, .schemaEntries)
        for _ in 0..<tracked {
            let name = try TableLayout.readName(names, from: &reader)
            let identity = try TableLayout.readIdentity(names, budget: &budget, from: &reader)
            schema.tracked.append(TrackedTableRecord(name: name, identity: identity))
        }
        if form == .plain { return schema }
        schema.references = try readReferences(names, budget: &budget, from: &reader)
        if form == .withReferences { return schema }
        try readPast(&schema.tracked, names, budget: &budget, from: &reader)
        if form == .withPast { return schema }
        schema.bookkeeping = try BookkeepingEncoding.read(names, budget: &budget, from: &reader)
        return schema
    }

    private static func readPast(
        _ tracked: inout [TrackedTableRecord], _ names: [String], budget: inout SegmentBudget,
        from reader: inout ByteReader
    ) throws(FerryError) {
        let count = try reader.readCount(minimumBytes: 5)
        guard count <= tracked.count else { throw ByteReader.malformed("a schema tells of more tables than it tracks") }
        try budget.take(count, .schemaEntries)
        for _ in 0..<count {
            let place = try reader.readVarint()
            guard place < UInt64(tracked.count), !tracked[Int(place)].hasPast else {
                throw ByteReader.malformed("a schema tells twice of a table, or of one that it does not track")
            }
            let name = try TableLayout.readName(names, from: &reader)
            if !equalBytes(name, tracked[Int(place)].name) { tracked[Int(place)].localName = name }
            let columns = tracked[Int(place)].identity.columnCount
            tracked[Int(place)].keyCollations = try readList(atMost: columns, names, budget: &budget, from: &reader)
            tracked[Int(place)].identityColumns = try readList(atMost: columns, names, budget: &budget, from: &reader)
            tracked[Int(place)].renamedColumns = try readRenamed(names, budget: &budget, from: &reader)
        }
    }

    private static func readList(
        atMost maximum: Int, _ names: [String], budget: inout SegmentBudget, from reader: inout ByteReader
    ) throws(FerryError) -> [String] {
        let count = try reader.readCount(minimumBytes: 1)
        guard count <= maximum else { throw ByteReader.malformed("a table's past has more columns than its identity") }
        try budget.take(count, .layoutColumns)
        var list: [String] = []
        for _ in 0..<count { list.append(try TableLayout.readName(names, from: &reader)) }
        return list
    }

    private static func readRenamed(
        _ names: [String], budget: inout SegmentBudget, from reader: inout ByteReader
    ) throws(FerryError) -> [RenamedColumn] {
        let count = try reader.readCount(minimumBytes: 2)
        try budget.take(count, .layoutColumns)
        var columns: [RenamedColumn] = []
        for _ in 0..<count {
            columns.append(
                RenamedColumn(
                    name: try TableLayout.readName(names, from: &reader),
                    localName: try TableLayout.readName(names, from: &reader)))
        }
        return columns
    }

    private static func readReferences(
        _ names: [String], budget: inout SegmentBudget, from reader: inout ByteReader
    ) throws(FerryError) -> [UndeclaredReference] {
        let count = try reader.readCount(minimumBytes: 3)
        guard count <= SegmentLimits.references else {
            throw ByteReader.malformed("a schema has more than \(SegmentLimits.references) references")
        }
        try budget.take(count, .schemaEntries)
        var references: [UndeclaredReference] = []
        for _ in 0..<count {
            references.append(
                UndeclaredReference(
                    table: try TableLayout.readName(names, from: &reader),
                    column: try TableLayout.readName(names, from: &reader),
                    parent: try TableLayout.readName(names, from: &reader)))
        }
        return references
    }
}
