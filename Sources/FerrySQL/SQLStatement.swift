import CFerrySQLite
import FerryCore

/// A prepared statement: among the few places touching SQLite's C interface.
///
/// Bounds: SQLite checks parameter and column indices (an index out of range binds nothing or reads NULL). A column's
/// bytes are copied before the next step.
///
/// Bound bytes are copied, up to 32 of them into the statement's own buffer with a slot for each parameter, so SQLite
/// allocates nothing. Exception: with `bind(lasting:_:)` the caller keeps the bytes.
///
/// Not thread-safe; lives inside a single access to the database.
@usableFromInline package final class SQLStatement {
    @usableFromInline package let handle: OpaquePointer
    @usableFromInline unowned let connection: SQLConnection
    /// True if SQLite must translate texts to UTF-8, because the database stores UTF-16.
    @usableFromInline let translatesText: Bool
    /// True if the statement ran since the last rewind.
    @usableFromInline @exclusivity(unchecked) var hasRun = false
    /// The bound IDs and short texts and blobs, by parameter.
    @usableFromInline let places: UnsafeMutableRawBufferPointer
    @usableFromInline static let placeSize = 32
    /// The reason the bindings cannot run. Thrown at the run, so binding needs no check.
    @usableFromInline @exclusivity(unchecked) var fault: FerryError?

    package init(_ sql: String, on connection: SQLConnection) throws {
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

    /// Rewinds the statement and clears all bindings.
    @inlinable package func reset() {
        rewind()
        fault = nil
        sqlite3_clear_bindings(handle)
    }

    /// Rewinds the statement for the next run. Bindings remain: the caller binds every parameter anew. For hot paths,
    /// because clearing bindings costs as much as binding.
    @inlinable package func rewind() {
        if !hasRun { return }
        sqlite3_reset(handle)
        hasRun = false
    }

    // MARK: Parameters, numbered from 1

    @inlinable package func bind(_ integer: Int64, _ index: Int32) { sqlite3_bind_int64(handle, index, integer) }
    @inlinable package func bind(_ integer: Int, _ index: Int32) { sqlite3_bind_int64(handle, index, Int64(integer)) }
    @inlinable package func bind(_ string: String, _ index: Int32) {
        var copy = string
        copy.withUTF8 { bindBytes(UnsafeRawBufferPointer($0), index, isText: true) }
    }
    @inlinable package func bind<Kind>(_ id: UniqueID<Kind>, _ index: Int32) {
        guard let place = place(index) else {
            fault = FerryError(
                .internalInconsistency, "An ID is bound to a parameter that the statement does not have.")
            return
        }
        place.storeBytes(of: id.high.bigEndian, as: UInt64.self)
        place.storeBytes(of: id.low.bigEndian, toByteOffset: 8, as: UInt64.self)
        sqlite3_bind_blob(handle, index, place.baseAddress, 16, nil)
    }

    /// The slot for a parameter's bytes; `nil` without such a parameter.
    @inlinable func place(_ index: Int32) -> UnsafeMutableRawBufferPointer? {
        let start = Int(index - 1) * Self.placeSize
        guard start >= 0, start < places.count else { return nil }
        return UnsafeMutableRawBufferPointer(rebasing: places[start..<start + Self.placeSize])
    }
    @inlinable package func bind(blob bytes: [UInt8], _ index: Int32) {
        bytes.withUnsafeBytes { bindBytes($0, index, isText: false) }
    }
    @inlinable package func bind(blob bytes: [UInt8]?, _ index: Int32) {
        if let bytes { bind(blob: bytes, index) } else { bindNull(index) }
    }
    @inlinable package func bindNull(_ index: Int32) { sqlite3_bind_null(handle, index) }

    /// Binds a value. Running throws for a reference: resolve references to local keys first.
    @inlinable package func bind(_ value: FieldValue, _ index: Int32) {
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

    @inlinable func checkBindings() throws {
        guard let fault else { return }
        self.fault = nil
        throw fault
    }

    /// Binds a value like `bind(_:_:)`, without copying the bytes.
    ///
    /// The caller keeps the value until the statement is rewound; `run` rewinds. A slice's bytes stay in place while
    /// the buffer is kept and unchanged. Bind a new value before running the statement again.
    @inlinable package func bind(lasting value: FieldValue, _ index: Int32) {
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

    @inlinable func bindBytes(_ bytes: UnsafeRawBufferPointer, _ index: Int32, isText: Bool) {
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

    /// Steps to the next row.
    /// - Returns: true if a row is available.
    @inlinable package func step() throws -> Bool {
        try checkBindings()
        hasRun = true
        switch sqlite3_step(handle) {
        case SQLITE_ROW: return true
        case SQLITE_DONE: return false
        case let code: throw connection.error(code, while: String(cString: sqlite3_sql(handle)))
        }
    }

    /// Runs a statement without result rows, and rewinds. Bindings remain.
    @inlinable package func run() throws {
        defer { rewind() }
        while try step() {}
    }

    /// Runs a statement without result rows.
    /// - Returns: `nil` on success, or the extended result code if a constraint refused the write.
    @inlinable package func runUnlessRefused() throws -> Int32? {
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

    @inlinable package var columnCount: Int32 { sqlite3_column_count(handle) }

    @inlinable package func isNull(_ column: Int32) -> Bool { sqlite3_column_type(handle, column) == SQLITE_NULL }
    @inlinable package func integer(_ column: Int32) -> Int64 { sqlite3_column_int64(handle, column) }
    @inlinable package func int(_ column: Int32) -> Int { Int(sqlite3_column_int64(handle, column)) }
    @inlinable package func double(_ column: Int32) -> Double { sqlite3_column_double(handle, column) }

    @inlinable package func string(_ column: Int32) -> String {
        String(decoding: bytes(column), as: UTF8.self)
    }

    @inlinable package func optionalString(_ column: Int32) -> String? { isNull(column) ? nil : string(column) }

    /// The bytes of a text, as UTF-8, or of a blob.
    @inlinable package func bytes(_ column: Int32) -> [UInt8] { withBytes(column) { [UInt8]($0) } }

    /// Passes the bytes of a text or blob in SQLite's own memory.
    @inlinable package func withBytes<Result>(_ column: Int32, _ body: (UnsafeRawBufferPointer) throws -> Result)
        rethrows -> Result
    {
        // `sqlite3_column_bytes` follows `sqlite3_column_blob`: https://www.sqlite.org/c3ref/column_blob.html
        let isTranslated = translatesText && sqlite3_column_type(handle, column) == SQLITE_TEXT
        let address =
            isTranslated
            ? UnsafeRawPointer(sqlite3_column_text(handle, column)) : sqlite3_column_blob(handle, column)
        guard let address else { return try body(UnsafeRawBufferPointer(start: nil, count: 0)) }
        return try body(UnsafeRawBufferPointer(start: address, count: Int(sqlite3_column_bytes(handle, column))))
    }

    /// A 16-byte ID; `nil` for any different content.
    @inlinable package func id<Kind>(_ column: Int32) -> UniqueID<Kind>? {
        guard let address = sqlite3_column_blob(handle, column), sqlite3_column_bytes(handle, column) == 16
        else { return nil }
        let words = UnsafeRawBufferPointer(start: address, count: 16)
        return UniqueID(
            high: UInt64(bigEndian: words.loadUnaligned(as: UInt64.self)),
            low: UInt64(bigEndian: words.loadUnaligned(fromByteOffset: 8, as: UInt64.self)))
    }

    /// True if a column holds text, false for a blob; `nil` for anything else.
    @inlinable package func isText(_ column: Int32) -> Bool? {
        switch sqlite3_column_type(handle, column) {
        case SQLITE_TEXT: true
        case SQLITE_BLOB: false
        default: nil
        }
    }

    @inlinable package func value(_ column: Int32) -> FieldValue {
        switch sqlite3_column_type(handle, column) {
        case SQLITE_INTEGER: .integer(integer(column))
        case SQLITE_FLOAT: .real(double(column))
        case SQLITE_TEXT: .text(bytes(column)[...])
        case SQLITE_BLOB: .blob(bytes(column)[...])
        default: .null
        }
    }
}
