import CSQLiteSession

/// A prepared statement. Binding starts at the first parameter after each run.
final class Statement {
    private let pointer: OpaquePointer
    private unowned let database: Database
    private var place: Int32 = 1
    // SQLite copies the bytes before it returns: https://www.sqlite.org/c3ref/c_static.html
    private static let transient = unsafeBitCast(-1, to: sqlite3_destructor_type.self)

    init(_ pointer: OpaquePointer, _ database: Database) {
        self.pointer = pointer
        self.database = database
    }

    func finalize() { sqlite3_finalize(pointer) }

    // MARK: Binding

    @discardableResult
    func bind(_ value: Int) -> Statement {
        sqlite3_bind_int64(pointer, place, Int64(value))
        place += 1
        return self
    }

    @discardableResult
    func bind(_ value: Double) -> Statement {
        sqlite3_bind_double(pointer, place, value)
        place += 1
        return self
    }

    @discardableResult
    func bind(_ value: String) -> Statement {
        sqlite3_bind_text(pointer, place, value, -1, Self.transient)
        place += 1
        return self
    }

    @discardableResult
    func bind(_ value: [UInt8]) -> Statement {
        sqlite3_bind_blob(pointer, place, value, Int32(value.count), Self.transient)
        place += 1
        return self
    }

    /// Binds bytes that lie among others.
    @discardableResult
    func bind(_ value: ArraySlice<UInt8>, isText: Bool) -> Statement {
        value.withUnsafeBytes { bytes in
            let count = Int32(bytes.count)
            if isText {
                let text = bytes.baseAddress?.assumingMemoryBound(to: CChar.self)
                sqlite3_bind_text(pointer, place, text, count, Self.transient)
            } else {
                sqlite3_bind_blob(pointer, place, bytes.baseAddress, count, Self.transient)
            }
        }
        place += 1
        return self
    }

    /// Binds 16 bytes.
    @discardableResult
    func bind(_ identifier: LeastID) -> Statement {
        withUnsafeBytes(of: (identifier.high.bigEndian, identifier.low.bigEndian)) { bytes in
            _ = sqlite3_bind_blob(pointer, place, bytes.baseAddress, Int32(bytes.count), Self.transient)
        }
        place += 1
        return self
    }

    @discardableResult
    func bind(_ value: Value) -> Statement {
        switch value {
        case .null:
            sqlite3_bind_null(pointer, place)
            place += 1
            return self
        case .integer(let integer): return bind(integer)
        case .real(let real): return bind(real)
        case .text(let text): return bind(text)
        case .blob(let bytes): return bind(bytes)
        }
    }

    // MARK: Running

    func run() throws {
        if database.script != nil { return try write() }
        let code = sqlite3_step(pointer)
        sqlite3_reset(pointer)
        place = 1
        try database.check(code)
    }

    /// Adds the statement to the database's script.
    private func write() throws {
        guard let text = sqlite3_expanded_sql(pointer) else { throw BenchmarkError("a statement is too long") }
        database.script?.append(String(cString: text) + ";\n")
        sqlite3_free(text)
        place = 1
    }

    /// The first column of the first row.
    func integer() throws -> Int {
        defer { rewind() }
        return try step() ? integer(0) : 0
    }

    // MARK: Reading rows

    /// - Returns: whether there is a row; whoever has what it wants rewinds.
    func step() throws -> Bool {
        let code = sqlite3_step(pointer)
        try database.check(code)
        return code == SQLITE_ROW
    }

    func rewind() {
        sqlite3_reset(pointer)
        place = 1
    }

    func integer(_ column: Int32) -> Int { Int(sqlite3_column_int64(pointer, column)) }

    var columnCount: Int32 { sqlite3_column_count(pointer) }

    func value(_ column: Int32) -> Value {
        switch sqlite3_column_type(pointer, column) {
        case SQLITE_INTEGER: .integer(integer(column))
        case SQLITE_FLOAT: .real(sqlite3_column_double(pointer, column))
        case SQLITE_TEXT: .text(String(cString: sqlite3_column_text(pointer, column)))
        case SQLITE_BLOB: .blob(blob(column))
        default: .null
        }
    }

    private func blob(_ column: Int32) -> [UInt8] {
        let start = sqlite3_column_blob(pointer, column)
        return Array(UnsafeRawBufferPointer(start: start, count: Int(sqlite3_column_bytes(pointer, column))))
    }

    /// The values of the present row, for whoever keeps them.
    var values: [Value] { (0..<columnCount).map { value($0) } }

    /// Has SQLite find every value of the present row, and copies none.
    /// - Returns: how many bytes the texts and blobs have.
    func touchValues() -> Int {
        (0..<columnCount).reduce(0) { sum, column in
            switch sqlite3_column_type(pointer, column) {
            case SQLITE_INTEGER: return sum + (sqlite3_column_int64(pointer, column) == 0 ? 0 : 1)
            case SQLITE_FLOAT: return sum + (sqlite3_column_double(pointer, column) == 0 ? 0 : 1)
            case SQLITE_TEXT, SQLITE_BLOB:
                return sum
                    + (sqlite3_column_blob(pointer, column) == nil ? 0 : Int(sqlite3_column_bytes(pointer, column)))
            default: return sum
            }
        }
    }
}

/// A value of SQLite's.
enum Value {
    case null
    case integer(Int)
    case real(Double)
    case text(String)
    case blob([UInt8])
}
