import FerryCore
import Foundation

/// A request for the page's site: unchecked input from outside.
package struct PageRequest: Sendable {
    package var method: String
    /// The path and the query as they were sent, percent-encoded.
    package var target: String
    /// Values by name in lower case.
    package var headers: [String: [String]]
    package var body: Data

    package init(method: String, target: String, headers: [String: [String]] = [:], body: Data = Data()) {
        self.method = method
        self.target = target
        self.headers = headers
        self.body = body
    }

    /// The only value of a header; `nil` without the header, and where there are several.
    package func header(_ name: String) -> String? {
        guard let values = headers[name], values.count == 1 else { return nil }
        return values[0]
    }

    package func has(_ name: String) -> Bool { headers[name] != nil }
}

/// The query of a target, by name. Pure.
package struct PageQuery: Equatable, Sendable {
    /// The most names and values of a query.
    static let maximumItems = 64

    private let items: [(name: String, value: String)]

    /// - Parameter text: percent-encoded; `+` is a space.
    /// - Throws: `invalidArgument` for a wrong encoding, and for too many items.
    package init(_ text: some StringProtocol) throws {
        let parts = text.split(separator: "&")
        if parts.count > Self.maximumItems { throw Self.refusal("The address has too many parameters.") }
        items = try parts.map { part in
            let sides = part.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            return (try Self.decoded(sides[0]), try Self.decoded(sides.count > 1 ? sides[1] : ""))
        }
    }

    private static func refusal(_ message: String) -> FerryError { FerryError(.invalidArgument, message) }

    private static func decoded(_ text: some StringProtocol) throws -> String {
        guard let decoded = String(text).replacing("+", with: "%20").removingPercentEncoding else {
            throw refusal("The address is not encoded as addresses are.")
        }
        return decoded
    }

    /// All values of a name, in their order.
    package func values(_ name: String) -> [String] { items.filter { $0.name == name }.map(\.value) }

    /// The only value of a name; `nil` without a value.
    /// - Throws: `invalidArgument` for several.
    package func value(_ name: String) throws -> String? {
        let found = values(name)
        if found.count > 1 { throw Self.refusal("The parameter \(name) is there twice.") }
        return found.first
    }

    /// - Throws: `invalidArgument` without a value, and for several.
    package func required(_ name: String) throws -> String {
        guard let value = try value(name) else { throw Self.refusal("The parameter \(name) is missing.") }
        return value
    }

    /// A whole number within a range.
    /// - Throws: `invalidArgument` for a value that is no number in the range.
    package func number(_ name: String, in range: ClosedRange<Int64>) throws -> Int64? {
        guard let text = try value(name) else { return nil }
        guard let number = Int64(text), range.contains(number) else {
            throw Self.refusal("The parameter \(name) is a number from \(range.lowerBound) to \(range.upperBound).")
        }
        return number
    }

    package static func == (left: Self, right: Self) -> Bool { left.items.elementsEqual(right.items, by: ==) }
}
