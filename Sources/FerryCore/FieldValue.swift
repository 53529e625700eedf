/// A value of a field: SQLite's five storage classes, and a reference to an object.
///
/// Text is bytes, because SQLite keeps NULs and invalid UTF-8 in text and so does Ferry. Slices may share the buffer of
/// a decoded segment.
public enum FieldValue: Sendable {
    case null
    case integer(Int64)
    case real(Double)
    case text(ArraySlice<UInt8>)
    case blob(ArraySlice<UInt8>)
    /// A foreign key to a table whose keys differ from device to device travels as the target's object ID.
    case reference(ObjectID)

    /// The text of a string's UTF-8.
    public static func text(_ string: String) -> FieldValue { .text(ArraySlice(string.utf8)) }

    /// The value in readable form.
    public var text: String {
        switch self {
        case .null: "NULL"
        case .integer(let integer): "\(integer)"
        case .real(let real): "\(real)"
        case .text(let bytes): String(decoding: bytes, as: UTF8.self)
        case .blob(let bytes): "x'" + hexString(bytes) + "'"
        case .reference(let object): object.description
        }
    }

    /// The order number of the storage class; also the tag in the format (Docs/Format.md, "Values").
    @inlinable
    package var tag: UInt8 {
        switch self {
        case .null: 0
        case .integer: 1
        case .real: 2
        case .text: 3
        case .blob: 4
        case .reference: 5
        }
    }

    /// The tag of a text, or of a blob.
    @inlinable package static func tag(isText: Bool) -> UInt8 { isText ? 3 : 4 }

    /// The bytes of text and blobs; eight or sixteen for other values.
    @inlinable package var byteCount: Int {
        switch self {
        case .null: 0
        case .integer, .real: 8
        case .text(let bytes), .blob(let bytes): bytes.count
        case .reference: 16
        }
    }
}

extension FieldValue: Hashable {
    /// Identity of representation: reals are compared by their bits, and an integer never equals a real.
    @inlinable
    public static func == (left: FieldValue, right: FieldValue) -> Bool {
        switch (left, right) {
        case (.null, .null): true
        case (.integer(let a), .integer(let b)): a == b
        case (.real(let a), .real(let b)): a.bitPattern == b.bitPattern
        case (.text(let a), .text(let b)), (.blob(let a), .blob(let b)): a == b
        case (.reference(let a), .reference(let b)): a == b
        default: false
        }
    }

    public func hash(into hasher: inout Hasher) {
        hasher.combine(tag)
        switch self {
        case .null: break
        case .integer(let value): hasher.combine(value)
        case .real(let value): hasher.combine(value.bitPattern)
        case .text(let bytes), .blob(let bytes): hasher.combine(bytes)
        case .reference(let object): hasher.combine(object)
        }
    }
}

extension FieldValue {
    /// The same value in a buffer of its own: a slice holds the whole segment in memory.
    package var copied: FieldValue {
        switch self {
        case .text(let bytes): .text(Array(bytes)[...])
        case .blob(let bytes): .blob(Array(bytes)[...])
        default: self
        }
    }
}

extension FieldValue: Comparable {
    /// A total order that decides between values with equal stamps, without any further meaning.
    public static func < (left: FieldValue, right: FieldValue) -> Bool {
        if left.tag != right.tag { return left.tag < right.tag }
        switch (left, right) {
        case (.integer(let a), .integer(let b)): return a < b
        case (.real(let a), .real(let b)): return a.bitPattern < b.bitPattern
        case (.text(let a), .text(let b)), (.blob(let a), .blob(let b)): return a.lexicographicallyPrecedes(b)
        case (.reference(let a), .reference(let b)): return a < b
        default: return false
        }
    }
}
