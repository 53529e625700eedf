import FerryCore

/// Computes IDs anew from values, for objects with IDs derived from the primary key. An ID for two keys, or the ID of a
/// wrong key, is damage nothing else reveals.
///
/// Built-in functions of SQLite find the texts equal under a collation: `lower` folds as NOCASE, `rtrim` cuts as RTRIM.
/// https://www.sqlite.org/datatype3.html#collating_sequences
///
/// Not thread-safe.
package final class ModelIdentity {
    private let equality: ModelEquality
    /// A database without anything of an app's: IDs are the same on all devices.
    private let plain: any ModelDatabase

    /// - Parameters:
    ///   - equality: what says what columns make of values.
    ///   - plain: a database without collations or functions of an app's.
    package init(equality: ModelEquality, asking plain: any ModelDatabase) {
        self.equality = equality
        self.plain = plain
    }

    /// True if an object has the ID of its key, or nothing tells. A device whose key has another built-in collation gives the ID by
    /// that one.
    package func isOwn(_ object: ModelObject, in table: ModelSchema.Table) throws -> Bool {
        guard let id = try id(of: object, in: table) else { return true }
        return try id == object.id
            || ["NOCASE", "RTRIM", "BINARY"].contains { try self.id(of: object, in: table, under: $0) == object.id }
    }

    /// - Parameter collation: a collation for all columns of the key; `nil` for their own.
    /// - Returns: `nil` if values are missing.
    package func id(
        of object: ModelObject, in table: ModelSchema.Table, under collation: String? = nil
    ) throws -> ObjectID? {
        guard !table.isMapped, !table.key.isEmpty else { return nil }
        var values: [FieldValue] = []
        for column in table.key {
            guard let value = object.fields[table.columns[column].name]?.value, value != .null else { return nil }
            values.append(value)
        }
        return try id(ofKey: values, in: table, under: collation)
    }

    /// - Parameters:
    ///   - values: the key's portable values, none of them NULL.
    ///   - collation: a collation for all columns of the key; `nil` for their own.
    package func id(
        ofKey values: [FieldValue], in table: ModelSchema.Table, under collation: String? = nil
    ) throws -> ObjectID {
        let collations = table.key.indices.map { place in
            if let collation { return collation }
            // Only a built-in collation shared by column and key may decide an ID.
            if place < table.formerCollations.count { return table.formerCollations[place] }
            let own = table.columns[table.key[place]].collation
            return own == table.keyCollations[place] && ["NOCASE", "RTRIM"].contains(own) ? own : "BINARY"
        }
        if values.count == 1, let id = itself(values[0], table.columns[table.key[0]], collations[0]) { return id }
        var writer = ByteWriter()
        writer.writeCounted(foldedText(table.name))
        for (value, collation) in zip(values, collations) { try write(value, collation, &writer) }
        return ContentHash.hash(writer.bytes, in: ContentHash.objectNamespace)
    }

    /// The ID of a key usable as an ID: a reference, 16 bytes, or a UUID's text in lower case.
    private func itself(_ value: FieldValue, _ column: ModelSchema.Column, _ collation: String) -> ObjectID? {
        // The conversion of a number and a digit reveals the column's affinity.
        let (number, digit) = (FieldValue.integer(1), FieldValue.text([0x31]))
        switch value {
        case .reference(let id): return id
        case .blob(let bytes) where bytes.count == 16:
            let takesAll = equality.kept(number, in: column) == number && equality.kept(digit, in: column) == digit
            return takesAll ? ObjectID(bytes: bytes) : nil
        case .text(let bytes) where bytes.count == 36 && equality.kept(number, in: column) == digit:
            let text = String(decoding: bytes, as: UTF8.self)
            guard let id = ObjectID(text) else { return nil }
            return (collation == "NOCASE" ? foldedText(text) : text) == id.description ? id : nil
        default: return nil
        }
    }

    private func write(_ value: FieldValue, _ collation: String, _ writer: inout ByteWriter) throws {
        switch equality.form(value, "BINARY") {
        case .null: writer.write(0)
        case .integer(let integer):
            writer.write(1)
            writer.writeZigzag(integer)
        case .real(let real):
            writer.write(2)
            writer.write64(real.bitPattern)
        case .text(let bytes):
            writer.write(3)
            writer.writeCounted(try representative(of: bytes, collation))
        case .blob(let bytes):
            writer.write(4)
            writer.writeCounted(bytes)
        case .reference(let id):
            writer.write(5)
            writer.write(id)
        }
    }
    /// The representative of all texts equal under a built-in collation.
    private func representative(of text: ArraySlice<UInt8>, _ collation: String) throws -> ArraySlice<UInt8> {
        let function: String
        switch collation {
        case "NOCASE": function = "lower(?)"
        case "RTRIM": function = "rtrim(?, ' ')"
        default: return text
        }
        guard case .text(var bytes)? = try plain.firstValue("SELECT \(function)", .text(text)) else { return text }
        // Behind a NUL, NOCASE compares only the length.
        if collation == "NOCASE", let end = bytes.firstIndex(of: 0) {
            for place in end..<bytes.endIndex { bytes[place] = 0 }
        }
        return bytes
    }
}
