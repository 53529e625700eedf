import CFerrySQLite
import FerryCore

/// A prepared statement: one of the few places that touch SQLite's C interface.
///
/// Bounds: parameter and column indices are checked by SQLite (an index out of range binds nothing or reads NULL); the
/// bytes of a column are copied before the next step. Bytes are copied when they are bound, up to 32 of them into the
/// statement's own buffer with a place for each parameter, so that SQLite allocates nothing; but for `bind(lasting:_:)`,
/// where the caller keeps them. Not thread-safe; lives inside one access to the database.
final class SQLStatement {
    let handle: OpaquePointer
    private unowned let connection: SQLConnection
    /// Whether SQLite has to be asked for a text's bytes as UTF-8, because the database holds it in UTF-16.
    private let translatesText: Bool
    /// Whether it ran since it was last made ready.
    @exclusivity(unchecked) private var hasRun = false
    /// The IDs and the short texts and blobs that are bound, by parameter.
    private let places: UnsafeMutableRawBufferPointer
    private static let placeSize = 32
    /// Why what is bound cannot be run. Told when it is run, so that nobody who binds has to ask.
    @exclusivity(unchecked) private var fault: FerryError?

    init(_ sql: String, on connection: SQLConnection) throws {
        var statement: OpaquePointer?
        let code = sqlite3_prepare_v3(connection.handle, sql, -1, 0, &statement, nil)
        guard code == SQLITE_OK, let statement else {
            throw connection.error(code, while: sql)
        }
        handle = statement
        self.connection = connection
        translatesText = connection.isUTF16
        places = .allocate(byteCount: Int(sqlite3_bind_parameter_count(statement)) * Self.placeSize, alignment: 8)
    }

    deinit {
        sqlite3_finalize(handle)
        places.deallocate()
    }

    /// Starts again with no parameter bound.
    func reset() {
        rewind()
        fault = nil
        sqlite3_clear_bindings(handle)
    }

    /// Makes it ready for the next run. What is bound stays bound: who runs it again binds every parameter. For hot paths,
    /// where clearing what is bound anew would cost as much as binding it.
    func rewind() {
        if !hasRun { return }
        sqlite3_reset(handle)
        hasRun = false
    }

    // MARK: Parameters, numbered from 1

    func bind(_ integer: Int64, _ index: Int32) { sqlite3_bind_int64(handle, index, integer) }
    func bind(_ integer: Int, _ index: Int32) { sqlite3_bind_int64(handle, index, Int64(integer)) }
    func bind(_ string: String, _ index: Int32) {
        var copy = string
        copy.withUTF8 { bindBytes(UnsafeRawBufferPointer($0), index, isText: true) }
    }
    func bind<Kind>(_ id: UniqueID<Kind>, _ index: Int32) {
        guard let place = place(index) else {
            fault = FerryError(
                .internalInconsistency, "An ID is bound to a parameter that the statement does not have.")
            return
        }
        place.storeBytes(of: id.high.bigEndian, as: UInt64.self)
        place.storeBytes(of: id.low.bigEndian, toByteOffset: 8, as: UInt64.self)
        sqlite3_bind_blob(handle, index, place.baseAddress, 16, nil)
    }

    /// Where a parameter's bytes may lie; `nil` where the statement has no such parameter.
    private func place(_ index: Int32) -> UnsafeMutableRawBufferPointer? {
        let start = Int(index - 1) * Self.placeSize
        guard start >= 0, start < places.count else { return nil }
        return UnsafeMutableRawBufferPointer(rebasing: places[start..<start + Self.placeSize])
    }
    func bind(blob bytes: [UInt8], _ index: Int32) { bytes.withUnsafeBytes { bindBytes($0, index, isText: false) } }
    func bind(blob bytes: [UInt8]?, _ index: Int32) {
        if let bytes { bind(blob: bytes, index) } else { bindNull(index) }
    }
    func bindNull(_ index: Int32) { sqlite3_bind_null(handle, index) }

    /// Binds a value; a reference must have been resolved to a local key before, or running the statement throws.
    func bind(_ value: FieldValue, _ index: Int32) {
        switch value {
        case .null: bindNull(index)
        case .integer(let integer): bind(integer, index)
        case .real(let real): sqlite3_bind_double(handle, index, real)
        case .text(let bytes): bytes.withUnsafeBytes { bindBytes($0, index, isText: true) }
        case .blob(let bytes): bytes.withUnsafeBytes { bindBytes($0, index, isText: false) }
        case .reference:
            fault = FerryError(
                .internalInconsistency, "A reference to a row stands where only a value of its own can stand.")
        }
    }

    private func checkBindings() throws {
        guard let fault else { return }
        self.fault = nil
        throw fault
    }

    /// Binds a value as `bind(_:_:)` does, without copying its bytes.
    ///
    /// The caller keeps the value until the statement is reset, which `run` does: a slice's bytes stay where they are as long
    /// as its buffer is kept and nobody writes to it. The statement is not run again before another value is bound.
    func bind(lasting value: FieldValue, _ index: Int32) {
        switch value {
        case .text(let bytes) where !bytes.isEmpty:
            bytes.withUnsafeBytes {
                let characters = $0.baseAddress?.assumingMemoryBound(to: CChar.self)
                sqlite3_bind_text(handle, index, characters, Int32($0.count), nil)
            }
        case .blob(let bytes) where !bytes.isEmpty:
            _ = bytes.withUnsafeBytes { sqlite3_bind_blob(handle, index, $0.baseAddress, Int32($0.count), nil) }
        default: bind(value, index)
        }
    }

    private func bindBytes(_ bytes: UnsafeRawBufferPointer, _ index: Int32, isText: Bool) {
        if bytes.count <= Self.placeSize, let place = place(index), let address = place.baseAddress {
            if !bytes.isEmpty { place.copyMemory(from: bytes) }
            if isText {
                let characters = address.assumingMemoryBound(to: CChar.self)
                sqlite3_bind_text(handle, index, characters, Int32(bytes.count), nil)
            } else {
                sqlite3_bind_blob(handle, index, address, Int32(bytes.count), nil)
            }
            return
        }
        if isText {
            ferry_sqlite3_bind_text_copy(handle, index, bytes.baseAddress, Int32(bytes.count))
        } else {
            ferry_sqlite3_bind_blob_copy(handle, index, bytes.baseAddress, Int32(bytes.count))
        }
    }

    // MARK: Running

    /// Runs to the next row.
    /// - Returns: whether there is one.
    func step() throws -> Bool {
        try checkBindings()
        hasRun = true
        switch sqlite3_step(handle) {
        case SQLITE_ROW: return true
        case SQLITE_DONE: return false
        case let code: throw connection.error(code, while: String(cString: sqlite3_sql(handle)))
        }
    }

    /// Runs a statement that returns no rows, and makes it ready for the next run. Bindings are kept.
    func run() throws {
        defer { rewind() }
        while try step() {}
    }

    /// Runs a statement that returns no rows.
    /// - Returns: `nil`, or the extended result code where a constraint refused it.
    func runUnlessRefused() throws -> Int32? {
        try checkBindings()
        hasRun = true
        defer { rewind() }
        while true {
            let code = sqlite3_step(handle)
            if code == SQLITE_DONE { return nil }
            if code == SQLITE_ROW { continue }
            let extended = sqlite3_extended_errcode(connection.handle)
            if code & 0xff == SQLITE_CONSTRAINT || code & 0xff == SQLITE_MISMATCH || code & 0xff == SQLITE_TOOBIG {
                return extended
            }
            throw connection.error(code, while: String(cString: sqlite3_sql(handle)))
        }
    }

    // MARK: Columns, numbered from 0

    var columnCount: Int32 { sqlite3_column_count(handle) }

    func isNull(_ column: Int32) -> Bool { sqlite3_column_type(handle, column) == SQLITE_NULL }
    func integer(_ column: Int32) -> Int64 { sqlite3_column_int64(handle, column) }
    func int(_ column: Int32) -> Int { Int(sqlite3_column_int64(handle, column)) }
    func double(_ column: Int32) -> Double { sqlite3_column_double(handle, column) }

    func string(_ column: Int32) -> String {
        String(decoding: bytes(column), as: UTF8.self)
    }

    func optionalString(_ column: Int32) -> String? { isNull(column) ? nil : string(column) }

    /// The bytes of text, as UTF-8, or of a blob.
    func bytes(_ column: Int32) -> [UInt8] { withBytes(column) { [UInt8]($0) } }

    /// The bytes of text or a blob where SQLite has them.
    func withBytes<Result>(_ column: Int32, _ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result {
        // sqlite3_column_bytes follows sqlite3_column_blob: https://www.sqlite.org/c3ref/column_blob.html
        let isTranslated = translatesText && sqlite3_column_type(handle, column) == SQLITE_TEXT
        let address =
            isTranslated
            ? UnsafeRawPointer(sqlite3_column_text(handle, column)) : sqlite3_column_blob(handle, column)
        guard let address else { return try body(UnsafeRawBufferPointer(start: nil, count: 0)) }
        return try body(UnsafeRawBufferPointer(start: address, count: Int(sqlite3_column_bytes(handle, column))))
    }

    /// A 16-byte ID, or `nil` where the column holds anything else.
    func id<Kind>(_ column: Int32) -> UniqueID<Kind>? {
        guard let address = sqlite3_column_blob(handle, column), sqlite3_column_bytes(handle, column) == 16
        else { return nil }
        let words = UnsafeRawBufferPointer(start: address, count: 16)
        return UniqueID(
            high: UInt64(bigEndian: words.loadUnaligned(as: UInt64.self)),
            low: UInt64(bigEndian: words.loadUnaligned(fromByteOffset: 8, as: UInt64.self)))
    }

    /// Whether a column holds text; `nil` where that is neither text nor a blob.
    func isText(_ column: Int32) -> Bool? {
        switch sqlite3_column_type(handle, column) {
        case SQLITE_TEXT: true
        case SQLITE_BLOB: false
        default: nil
        }
    }

    func value(_ column: Int32) -> FieldValue {
        switch sqlite3_column_type(handle, column) {
        case SQLITE_INTEGER: .integer(integer(column))
        case SQLITE_FLOAT: .real(double(column))
        case SQLITE_TEXT: .text(bytes(column)[...])
        case SQLITE_BLOB: .blob(bytes(column)[...])
        default: .null
        }
    }
}
