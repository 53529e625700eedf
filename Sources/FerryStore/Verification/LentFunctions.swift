import CFerrySQLite
import FerryCore
import FerrySQL

/// Lends the collations and functions of an app's connection to a second connection. Whenever SQLite calls a lent
/// function, the app's connection computes the result.
///
/// https://www.sqlite.org/appfunc.html. Both connections are used by a single thread, and the borrower is closed before
/// this object is freed. Not thread-safe.
final class LentFunctions {
    /// A lent collation or function: the query for the app's connection.
    fileprivate final class Loan {
        let lender: SQLConnection
        let sql: String
        /// SQLite's first error.
        var failure: (any Error)?

        init(_ lender: SQLConnection, _ sql: String) {
            self.lender = lender
            self.sql = sql
        }

        func answer(_ values: [FieldValue]) -> FieldValue {
            do {
                let statement = try lender.prepare(sql)
                defer { statement.reset() }
                for (place, value) in values.enumerated() { statement.bind(value, Int32(place + 1)) }
                return try statement.step() ? statement.value(0) : .null
            } catch {
                failure = failure ?? error
                return .null
            }
        }
    }

    private var loans: [Loan] = []

    /// The first error of the app's connection.
    var failure: (any Error)? { loans.lazy.compactMap(\.failure).first }

    /// Registers the app connection's own functions with the borrower.
    /// - Parameter borrower: a connection without any registered functions.
    init(of lender: SQLConnection, to borrower: OpaquePointer) throws {
        for name in try Self.collations(lender) { try lendCollation(name, lender, borrower) }
        let plain = SQLConnection(borrower)
        defer { plain.finalizeStatements() }
        for name in ["NOCASE", "RTRIM"] where try Self.order(by: name, lender) != Self.order(by: name, plain) {
            try lendCollation(name, lender, borrower)
        }
        let functions = try lender.rows(
            "SELECT DISTINCT name, narg, flags FROM pragma_function_list WHERE NOT builtin AND type = 's' ORDER BY 1, 2"
        )
        for function in functions {
            guard case .text(let name) = function[0], case .integer(let count) = function[1],
                case .integer(let flags) = function[2]
            else { continue }
            try lendFunction(
                String(decoding: name, as: UTF8.self), Int32(count), Int32(truncatingIfNeeded: flags), lender, borrower)
        }
    }

    /// The app's own collations. SQLite also lists unregistered collations named by the schema.
    private static func collations(_ lender: SQLConnection) throws -> [String] {
        try lender.rows("SELECT name FROM pragma_collation_list").map { $0[0].text }.filter { name in
            if ["BINARY", "NOCASE", "RTRIM"].contains(name.uppercased()) { return false }
            return try lender.hasCollation(name)
        }
    }

    /// The order of sample texts that reveals an app's collation under a built-in name: such apps compare letters
    /// beyond ASCII.
    private static func order(by collation: String, _ connection: SQLConnection) throws -> [FieldValue] {
        let texts = ["É", "é", "e", "ß", "SS", "a", "A", "_", "a ", "ı", "I", "Я", "я"].map { "('\($0)')" }
        return try connection.rows(
            """
            WITH text(value) AS (VALUES \(texts.joined(separator: ", ")))
            SELECT a.value = b.value COLLATE \(collation), a.value < b.value COLLATE \(collation)
            FROM text a, text b ORDER BY CAST(a.value AS BLOB), CAST(b.value AS BLOB)
            """
        ).flatMap { $0 }
    }

    private func lendCollation(_ name: String, _ lender: SQLConnection, _ borrower: OpaquePointer) throws {
        let collation = quoted(name)
        let loan = Loan(
            lender,
            "SELECT CASE WHEN ?1 = ?2 COLLATE \(collation) THEN 0 WHEN ?1 < ?2 COLLATE \(collation) THEN -1 ELSE 1 END")
        loans.append(loan)
        let code = sqlite3_create_collation_v2(
            borrower, name, SQLITE_UTF8, Unmanaged.passUnretained(loan).toOpaque(),
            { context, leftCount, left, rightCount, right in
                guard let context else { return 0 }
                // Both have exactly the given lengths, and are copied here.
                let values = [(left, leftCount), (right, rightCount)].map { bytes, count in
                    FieldValue.text([UInt8](UnsafeRawBufferPointer(start: bytes, count: Int(count)))[...])
                }
                let answer = Unmanaged<Loan>.fromOpaque(context).takeUnretainedValue().answer(values)
                return if case .integer(let order) = answer { Int32(truncatingIfNeeded: order) } else { 0 }
            }, nil)
        if code != SQLITE_OK { throw SQLConnection.error(code, message: "collation \(name)", while: "register it") }
    }

    private func lendFunction(
        _ name: String, _ count: Int32, _ flags: Int32, _ lender: SQLConnection, _ borrower: OpaquePointer
    ) throws {
        // A function with any number of arguments is called with the given number of arguments.
        let most = count >= 0 ? Int(count) : 8
        for arguments in count >= 0 ? [most] : Array(0...most) {
            let places = (0..<arguments).map { "?\($0 + 1)" }.joined(separator: ", ")
            let loan = Loan(lender, "SELECT \(quoted(name))(\(places))")
            loans.append(loan)
            let code = sqlite3_create_function_v2(
                borrower, name, Int32(arguments), SQLITE_UTF8 | (flags & SQLITE_DETERMINISTIC),
                Unmanaged.passUnretained(loan).toOpaque(),
                { context, count, arguments in
                    guard let user = sqlite3_user_data(context) else { return }
                    let loan = Unmanaged<Loan>.fromOpaque(user).takeUnretainedValue()
                    let values = (0..<Int(count)).map { FieldValue(argument: arguments?[$0]) }
                    loan.answer(values).become(resultOf: context)
                    if let failure = loan.failure as? FerryError {
                        sqlite3_result_error(context, failure.message, -1)
                    }
                }, nil, nil, nil)
            if code != SQLITE_OK { throw SQLConnection.error(code, message: "function \(name)", while: "register it") }
        }
    }
}

extension SQLConnection {
    /// True if this connection has the collation: a schema may name a collation of the app's process.
    func hasCollation(_ name: String) throws -> Bool {
        do {
            _ = try rows("SELECT 'a' = 'b' COLLATE \(quoted(name))")
            return true
        } catch let error as FerryError where error.code == .missingFunction {
            return false
        }
    }
}

extension FieldValue {
    /// Reads an argument of an SQL function; copies bytes.
    fileprivate init(argument: OpaquePointer?) {
        switch sqlite3_value_type(argument) {
        case SQLITE_INTEGER: self = .integer(sqlite3_value_int64(argument))
        case SQLITE_FLOAT: self = .real(sqlite3_value_double(argument))
        case SQLITE_TEXT:
            let text = UnsafeRawPointer(sqlite3_value_text(argument))
            self = .text([UInt8](UnsafeRawBufferPointer(start: text, count: Int(sqlite3_value_bytes(argument))))[...])
        case SQLITE_BLOB:
            let blob = sqlite3_value_blob(argument)
            self = .blob([UInt8](UnsafeRawBufferPointer(start: blob, count: Int(sqlite3_value_bytes(argument))))[...])
        default: self = .null
        }
    }

    /// Sets the result of an SQL function; copies bytes.
    fileprivate func become(resultOf context: OpaquePointer?) {
        switch self {
        case .integer(let integer): sqlite3_result_int64(context, integer)
        case .real(let real): sqlite3_result_double(context, real)
        case .text(let bytes):
            bytes.withUnsafeBytes { ferry_sqlite3_result_text_copy(context, $0.baseAddress, Int32($0.count)) }
        case .blob(let bytes):
            bytes.withUnsafeBytes { ferry_sqlite3_result_blob_copy(context, $0.baseAddress, Int32($0.count)) }
        case .null, .reference: sqlite3_result_null(context)
        }
    }
}
