import Ferry

/// A place in a table, as an opaque text for the page to hand back. Pure.
enum RowPlace {
    static func text(_ key: [FieldValue]) -> String {
        var writer = ByteWriter()
        for value in key { writer.write(value) }
        return hexString(writer.bytes)
    }

    /// - Throws: `invalidArgument` for a text not made by `text(_:)`.
    static func key(_ text: String) throws -> [FieldValue] {
        let digits = text.utf8.compactMap { hexDigitValue($0) }
        let wrong = FerryError(.invalidArgument, "That is no place in a table. Begin at the first page.")
        guard !digits.isEmpty, digits.count == text.utf8.count, digits.count.isMultiple(of: 2) else { throw wrong }
        let bytes = stride(from: 0, to: digits.count, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
        var reader = ByteReader(bytes[...])
        var key: [FieldValue] = []
        do {
            while !reader.isAtEnd { key.append(try reader.readValue()) }
        } catch {
            throw wrong
        }
        return key
    }
}
