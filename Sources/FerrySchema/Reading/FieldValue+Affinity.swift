import FerryCore
import Foundation

extension FieldValue {
    /// Converts the value as a column of this affinity stores the value, and as SQLite compares values with such a
    /// column. SQLite applies a parent key's affinity to the child's value before comparing the two.
    /// https://www.sqlite.org/datatype3.html#type_affinity
    @usableFromInline package func taken(by affinity: SchemaColumn.Affinity) -> FieldValue {
        switch (affinity, self) {
        // https://www.sqlite.org/datatype3.html: SQLite stores no NaN, and takes one for NULL.
        case (_, .real(let real)) where real.isNaN: return .null
        case (.text, .integer(let integer)): return .text("\(integer)")
        case (.text, .real(let real)): return .text(Self.text(of: real))
        case (.integer, .text(let bytes)), (.numeric, .text(let bytes)):
            return Self.number(bytes).map(\.asWholeNumber) ?? self
        case (.integer, .real), (.numeric, .real): return asWholeNumber
        case (.real, .text(let bytes)):
            if case .integer(let integer)? = Self.number(bytes) { return .real(Double(integer)) }
            return Self.number(bytes) ?? self
        case (.real, .integer(let integer)): return .real(Double(integer))
        default: return self
        }
    }

    /// True if a column of this affinity stores the value unchanged.
    ///
    /// Values of devices with the same schema always do. While a migration has given the column another type on one
    /// device, values of the other devices may not.
    @inlinable @inline(__always)
    package func isStored(by affinity: SchemaColumn.Affinity) -> Bool {
        switch (self, affinity) {
        case (.real(let real), _) where real.isNaN: false
        case (.null, _), (.blob, _), (.reference, _), (_, .blob), (.text, .text), (.integer, .integer),
            (.integer, .numeric), (.real, .real):
            true
        default: taken(by: affinity) == self
        }
    }

    /// The integer key a value stands for; `nil` where the value stands for no integer.
    package var integerKey: FieldValue? {
        if case .integer = taken(by: .integer) { taken(by: .integer) } else { nil }
    }

    /// A real with an integral value becomes an integer; any different value stays as given.
    private var asWholeNumber: FieldValue {
        if case .real(let real) = self, let integer = Int64(exactly: real) { return .integer(integer) }
        return self
    }

    /// Parses a text as a number, ignoring white space around the number; `nil` for any different text.
    /// https://www.sqlite.org/lang_expr.html#literal_values_constants_
    private static func number(_ bytes: ArraySlice<UInt8>) -> FieldValue? {
        func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || (0x09...0x0d).contains(byte) }
        let text = bytes.drop(while: isSpace).reversed().drop(while: isSpace).reversed()
        // `Double` accepts more than SQLite does: names such as `inf`, and hexadecimal digits.
        let isDecimal = text.allSatisfy { (0x30...0x39).contains($0) || [0x2b, 0x2d, 0x2e, 0x45, 0x65].contains($0) }
        guard isDecimal, !text.isEmpty else { return nil }
        let string = String(decoding: text, as: UTF8.self)
        if let integer = Int64(string) { return .integer(integer) }
        return Double(string).map { .real($0) }
    }

    /// Formats a real as SQLite does: 15 digits, always with a decimal point.
    private static func text(of real: Double) -> String {
        let text = String(format: "%.15g", real)
        if text.contains(".") || !real.isFinite { return text }
        let digits = text.prefix { $0 != "e" }
        return digits + ".0" + text.dropFirst(digits.count)
    }
}
