import FerryCore
import Foundation

/// A question of a view of the page. A question changes nothing.
package enum PageQuestion: Equatable, Sendable {
    /// The facts for every view: names, and counts beside the names of views.
    case summary
    case overview
    /// Conflicts, the newest first, before a number.
    case conflicts(table: String?, isResolved: Bool, before: Int64?)
    case tables
    /// A page of a table's rows behind a place, with a text.
    case rows(table: String, after: String?, search: String)
    /// The rows with a key, and their past.
    case row(table: String, key: [String])
    /// A row by the ID of the row's object, if the key is unknown.
    case object(table: String, id: String)
    case hidden(table: String?)
    case container
    case verify

    /// The most bytes of a parameter.
    static let maximumBytes = 4096
    /// The most parts of a key.
    static let maximumKeyParts = 32

    /// The question of a path below `/api/`; `nil` if there is none.
    /// - Throws: `invalidArgument` for a missing parameter, and for a parameter with a wrong or too long value.
    init?(_ name: some StringProtocol, _ query: PageQuery) throws {
        switch name {
        case "summary": self = .summary
        case "overview": self = .overview
        case "conflicts":
            self = .conflicts(
                table: try Self.text("table", query), isResolved: try query.value("resolved") == "true",
                before: try query.number("before", in: 1...Int64.max))
        case "tables": self = .tables
        case "rows":
            self = .rows(
                table: try Self.required("table", query), after: try Self.text("after", query),
                search: try Self.text("search", query) ?? "")
        case "row":
            let table = try Self.required("table", query)
            if let id = try Self.text("object", query) {
                self = .object(table: table, id: id)
            } else {
                self = .row(table: table, key: try PageQuestion.key(query.values("key")))
            }
        case "hidden": self = .hidden(table: try Self.text("table", query))
        case "container": self = .container
        case "verify": self = .verify
        default: return nil
        }
    }

    /// - Throws: `invalidArgument` for an empty or too long key.
    static func key(_ parts: [String]) throws -> [String] {
        if parts.isEmpty { throw FerryError(.invalidArgument, "The key of the row is missing.") }
        if parts.count > maximumKeyParts || parts.contains(where: { $0.utf8.count > maximumBytes }) {
            throw FerryError(.invalidArgument, "The key of the row is too long for this page. Use `ferry history`.")
        }
        return parts
    }

    private static func text(_ name: String, _ query: PageQuery) throws -> String? {
        guard let text = try query.value(name) else { return nil }
        if text.utf8.count > maximumBytes { throw FerryError(.invalidArgument, "The parameter \(name) is too long.") }
        return text
    }

    private static func required(_ name: String, _ query: PageQuery) throws -> String {
        let text = try query.required(name)
        if text.isEmpty || text.utf8.count > maximumBytes {
            throw FerryError(.invalidArgument, "The parameter \(name) is empty or too long.")
        }
        return text
    }
}

/// An act of a person on the page.
package enum PageAct: Equatable, Sendable {
    /// Takes conflicts off the list.
    case resolve([Int64])
    /// Brings back the losing value of a conflict.
    case restoreConflict(Int64)
    /// Restores a row to an earlier time.
    case restoreRow(RowMoment)

    /// A row and a time.
    package struct RowMoment: Codable, Equatable, Sendable {
        package var table: String
        package var key: [String]
        /// The ID of the object, where several rows had the key.
        package var object: String?
        package var atMilliseconds: Int64
        /// The time as a history tells the time of a change: exact, also for changes of the same millisecond.
        package var at: String?
        /// True to delete a row if the row did not exist at the time.
        package var allowDelete: Bool?
        /// True to report the effect without a change.
        package var dryRun: Bool?

        package init(
            table: String, key: [String], object: String? = nil, atMilliseconds: Int64, at: String? = nil,
            allowDelete: Bool? = nil,
            dryRun: Bool? = nil
        ) {
            self.table = table
            self.key = key
            self.object = object
            self.atMilliseconds = atMilliseconds
            self.at = at
            self.allowDelete = allowDelete
            self.dryRun = dryRun
        }
    }

    /// The most conflicts in a single act.
    static let maximumNumbers = 1000

    private struct Numbers: Codable { var numbers: [Int64] }
    private struct Number: Codable { var number: Int64 }

    /// The act of a path below `/api/`; `nil` if there is none.
    /// - Throws: `invalidArgument` for a body in a wrong form.
    init?(_ name: some StringProtocol, _ body: Data) throws {
        switch name {
        case "resolve":
            let numbers = try Self.decode(Numbers.self, body).numbers
            if numbers.isEmpty || numbers.count > Self.maximumNumbers {
                throw FerryError(.invalidArgument, "Settle 1 to \(Self.maximumNumbers) conflicts at once.")
            }
            self = .resolve(numbers)
        case "restore-conflict": self = .restoreConflict(try Self.decode(Number.self, body).number)
        case "restore-row":
            let moment = try Self.decode(RowMoment.self, body)
            _ = try PageQuestion.key(moment.key)
            self = .restoreRow(moment)
        default: return nil
        }
    }

    private static func decode<Body: Decodable>(_ type: Body.Type, _ body: Data) throws -> Body {
        do {
            return try JSONDecoder().decode(type, from: body)
        } catch {
            throw FerryError(.invalidArgument, "The request does not say what to do.", cause: error)
        }
    }
}
