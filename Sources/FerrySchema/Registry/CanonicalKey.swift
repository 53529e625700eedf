import FerryCore

/// The bytes by which keys are compared on every device. Values equal in SQLite under a collation have the same bytes;
/// unequal values have different bytes. Object IDs and tokens of UNIQUE values are derived from these bytes.
///
/// Source: https://www.sqlite.org/datatype3.html#comparison_expressions. Only SQLite can evaluate an app's own
/// collation. Such a collation counts as BINARY here; `KeyEquality` describes the consequences.
package struct CanonicalKey {
    private var writer = ByteWriter()

    package init(table: String) {
        writer.writeCounted(foldedText(table))
    }

    /// Starts a key of a UNIQUE index. The names keep indexes apart.
    package init(table: String, index: [String]) {
        self.init(table: table)
        for name in index { writer.writeCounted(foldedText(name)) }
    }

    package mutating func append(_ value: FieldValue, collation: String) {
        switch value {
        case .null:
            writer.write(0)
        case .integer(let integer):
            writer.write(1)
            writer.writeZigzag(integer)
        // SQLite stores NaN as NULL.
        case .real(let real) where real.isNaN:
            writer.write(0)
        case .real(let real):
            // 1.0 and 1 are equal keys; so are 0.0 and -0.0.
            if let integer = Int64(exactly: real) {
                writer.write(1)
                writer.writeZigzag(integer)
            } else {
                writer.write(2)
                writer.write64(real.bitPattern)
            }
        case .text(let bytes):
            writer.write(3)
            switch collation {
            case "NOCASE": writer.writeCounted(Self.withoutCase(bytes))
            case "RTRIM":
                let end = bytes.lastIndex { $0 != 0x20 }.map { $0 + 1 } ?? bytes.startIndex
                writer.writeCounted(bytes[bytes.startIndex..<end])
            default: writer.writeCounted(bytes)
            }
        case .blob(let bytes):
            writer.write(4)
            writer.writeCounted(bytes)
        case .reference(let object):
            writer.write(5)
            writer.write(object)
        }
    }

    /// Folds a text as NOCASE compares texts: ASCII letters in any case up to the first NUL, and after the NUL only the
    /// length. (`sqlite3_strnicmp` stops at a NUL.) Bytes behind the NUL become zeros, so the length stays.
    package static func withoutCase(_ bytes: ArraySlice<UInt8>) -> [UInt8] {
        var folded = bytes.map { (0x41...0x5a).contains($0) ? $0 + 0x20 : $0 }
        if let end = folded.firstIndex(of: 0) {
            for place in end..<folded.count { folded[place] = 0 }
        }
        return folded
    }

    package var id: ObjectID { ContentHash.hash(writer.bytes, in: ContentHash.objectNamespace) }
}

extension TrackedTable {
    /// Derives the ID of the object with these key values (*key* identity). Values come in key order, with references
    /// resolved to object IDs.
    package func derivedID(_ values: [FieldValue]) -> ObjectID { derivedID(values, collation: identityCollation) }

    private func derivedID(_ values: [FieldValue], collation: (Int) -> String) -> ObjectID {
        let ids = keyColumnIDs
        if values.count == 1, let id = usedAsItIs(values[0], columns[ids[0]], collation(0)) { return id }
        var key = CanonicalKey(table: name)
        for (place, value) in values.enumerated() { key.append(value, collation: collation(place)) }
        return key.id
    }

    /// True if an object has the ID of these key values, by the collations here, or by those of a device whose key has others.
    /// - Parameter values: as for `derivedID`, none of them NULL.
    package func isID(_ object: ObjectID, ofKey values: [FieldValue]) -> Bool {
        derivedID(values) == object
            || KeyEquality.builtIn.contains { collation in derivedID(values) { _ in collation } == object }
    }

    /// Derives the ID of the object with these portable values by column.
    package func derivedID(of values: ColumnValues) -> ObjectID { derivedID(keyColumnIDs.map { values[$0] ?? .null }) }

    /// Returns the ID for a key usable as an ID: 16 bytes, or a UUID's text in lower case.
    private func usedAsItIs(_ value: FieldValue, _ column: TrackedColumn, _ collation: String) -> ObjectID? {
        switch value {
        case .blob(let bytes) where bytes.count == 16 && column.affinity == .blob: return ObjectID(bytes: bytes)
        case .text(let bytes) where bytes.count == 36 && column.affinity == .text:
            // Only a single spelling may stand for the ID. A UUID in capitals is a different key, unless the collation
            // folds case.
            guard let id = ObjectID(String(decoding: bytes, as: UTF8.self)) else { return nil }
            let spelling =
                collation == "NOCASE"
                ? foldedText(String(decoding: bytes, as: UTF8.self))
                : String(decoding: bytes, as: UTF8.self)
            return equalBytes(spelling, id.description) ? id : nil
        case .reference(let object): return object
        default: return nil
        }
    }

    /// Derives the ID of an object with *declared* identity. `ordinal` distinguishes rows with the same values.
    package func declaredID(_ values: [FieldValue], ordinal: Int) -> ObjectID {
        // No caller asks for an object with a different identity.
        let names: [String] = if case .declared(let columns) = identity { columns } else { [] }
        var key = CanonicalKey(table: name, index: names)
        for (place, value) in values.enumerated() {
            let column = place < declaredColumns.count ? declaredColumns[place] : nil
            key.append(value, collation: column.map { columns[$0].collation } ?? "BINARY")
        }
        if ordinal > 0 { key.append(.integer(Int64(ordinal)), collation: "BINARY") }
        return key.id
    }

    /// Returns the token of a tuple of values under a UNIQUE index or key; `nil` if a value is NULL, since NULL claims
    /// nothing.
    package func uniqueToken(
        _ values: [FieldValue], names: [String], collations: [String]
    ) -> ObjectID? {
        var key = CanonicalKey(table: name, index: names)
        for (value, collation) in zip(values, collations) {
            if value.isNull { return nil }
            key.append(value, collation: collation)
        }
        return key.id
    }
}
