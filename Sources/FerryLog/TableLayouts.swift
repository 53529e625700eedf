import FerryCore

/// The names that occur in a segment, compared as bytes: `String` takes canonically equivalent names for equal, SQLite
/// does not.
struct NameDictionary {
    private(set) var names: [[UInt8]] = []
    private var indices: [[UInt8]: Int] = [:]

    mutating func index(of name: String) throws(FerryError) -> Int {
        let bytes = Array(name.utf8)
        if let index = indices[bytes] { return index }
        guard bytes.count <= SegmentLimits.nameBytes else {
            throw FerryError(
                .limitExceeded,
                "The name “\(name.prefix(40))…” is longer than \(SegmentLimits.nameBytes) bytes. "
                    + "Choose a shorter one.")
        }
        indices[bytes] = names.count
        names.append(bytes)
        return names.count - 1
    }
}

/// The constant part of blocks of a table's changes: name, identity, columns, and the payload of each column.
struct TableLayout {
    var name: String
    var identity: TableIdentity
    var columns: [String]
    var payloads: [PayloadKind?]

    static func read(
        formatVersion: UInt8, names: [String], budget: inout SegmentBudget, from reader: inout ByteReader
    ) throws(FerryError) -> TableLayout {
        let name = try readName(names, from: &reader)
        let identity = try readIdentity(names, budget: &budget, from: &reader)
        let columns = try readNames(names, budget: &budget, from: &reader)
        var payloads: [PayloadKind?] = []
        if formatVersion >= SegmentHeader.payloadVersion {
            payloads = try readPayloads(columnCount: columns.count, from: &reader)
        }
        return TableLayout(name: name, identity: identity, columns: columns, payloads: payloads)
    }

    private static func readPayloads(
        columnCount: Int, from reader: inout ByteReader
    ) throws(FerryError) -> [PayloadKind?] {
        let count = try reader.readCount(minimumBytes: 2)
        guard count <= columnCount else { throw ByteReader.malformed("more columns carry payloads than there are") }
        if count == 0 { return [] }
        var payloads: [PayloadKind?] = Array(repeating: nil, count: columnCount)
        var next = 0
        for _ in 0..<count {
            let distance = try reader.readVarint()
            guard distance < UInt64(columnCount - next) else { throw ByteReader.malformed("an index is out of range") }
            let column = next + Int(distance)
            let code = try reader.readByte()
            guard let kind = PayloadKind(rawValue: code) else {
                throw FerryError(
                    .formatTooNew,
                    "The segment holds values under a policy that this Ferry does not know (\(code)). "
                        + "Update Ferry on this device.")
            }
            payloads[column] = kind
            next = column + 1
        }
        return payloads
    }

    static func readIdentity(
        _ names: [String], budget: inout SegmentBudget, from reader: inout ByteReader
    ) throws(FerryError) -> TableIdentity {
        switch try reader.readByte() {
        case 0: return .surrogate
        case 1: return .key(try readNames(names, budget: &budget, from: &reader))
        case 2: return .declared(try readNames(names, budget: &budget, from: &reader))
        case 3:
            try budget.take(1, .layoutColumns)
            return .surrogateBy(try readName(names, from: &reader))
        default: throw ByteReader.malformed("a table has an unknown identity")
        }
    }

    static func readName(_ names: [String], from reader: inout ByteReader) throws(FerryError) -> String {
        let index = try reader.readVarint()
        guard index < UInt64(names.count) else { throw ByteReader.malformed("an index is out of range") }
        return names[Int(index)]
    }

    private static func readNames(
        _ names: [String], budget: inout SegmentBudget, from reader: inout ByteReader
    ) throws(FerryError) -> [String] {
        let count = try reader.readCount()
        guard count <= SegmentLimits.columns else {
            throw ByteReader.malformed("a table has more than \(SegmentLimits.columns) columns")
        }
        try budget.take(count, .layoutColumns)
        var result: [String] = []
        result.reserveCapacity(count)
        for _ in 0..<count { result.append(try readName(names, from: &reader)) }
        return result
    }
}

extension TableIdentity {
    /// The number of named columns.
    var columnCount: Int {
        switch self {
        case .surrogate: 0
        case .surrogateBy: 1
        case .key(let columns), .declared(let columns): columns.count
        }
    }
}

/// The table layouts of a segment, in the order of their first occurrence, each as the written numbers.
struct LayoutDictionary {
    private(set) var layouts: [[Int]] = []
    private var indices: [[Int]: Int] = [:]
    private let formatVersion: UInt8

    init(formatVersion: UInt8) { self.formatVersion = formatVersion }

    mutating func index(
        of table: TableChanges, names: inout NameDictionary, budget: inout SegmentBudget
    ) throws(FerryError) -> Int {
        var numbers = [try names.index(of: table.name)]
        try Self.append(table.identity, to: &numbers, names: &names)
        try Self.append(table.columns, to: &numbers, names: &names)
        if formatVersion >= SegmentHeader.payloadVersion { Self.append(table.payloads, to: &numbers) }
        if let index = indices[numbers] { return index }
        try budget.take(table.identity.columnCount + table.columns.count, .layoutColumns)
        indices[numbers] = layouts.count
        layouts.append(numbers)
        return layouts.count - 1
    }

    private static func append(_ payloads: [PayloadKind?], to numbers: inout [Int]) {
        let carrying = payloads.indices.filter { payloads[$0] != nil }
        numbers.append(carrying.count)
        var next = 0
        for column in carrying {
            numbers.append(column - next)
            // A varint below 128 is the byte itself.
            numbers.append(Int(payloads[column]?.rawValue ?? 0))
            next = column + 1
        }
    }

    static func append(
        _ identity: TableIdentity, to numbers: inout [Int], names: inout NameDictionary
    ) throws(FerryError) {
        switch identity {
        case .surrogate: numbers.append(0)
        case .surrogateBy(let column):
            numbers.append(3)
            numbers.append(try names.index(of: column))
        case .key(let columns):
            numbers.append(1)
            try append(columns, to: &numbers, names: &names)
        case .declared(let columns):
            numbers.append(2)
            try append(columns, to: &numbers, names: &names)
        }
    }

    private static func append(
        _ columns: [String], to numbers: inout [Int], names: inout NameDictionary
    ) throws(FerryError) {
        guard columns.count <= SegmentLimits.columns else {
            throw FerryError(
                .limitExceeded, "A table has more than \(SegmentLimits.columns) columns, which Ferry cannot carry.")
        }
        numbers.append(columns.count)
        for column in columns { numbers.append(try names.index(of: column)) }
    }
}
