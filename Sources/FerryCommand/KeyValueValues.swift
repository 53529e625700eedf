import ArgumentParser
import Ferry
import Foundation

/// `ferry kv set`.
struct KeyValueSet: DatabaseCommand {
    static let configuration = CommandConfiguration(
        commandName: "set",
        abstract: "Set a value.",
        usage: "ferry kv <database> set <key> <value> ... [--type <type>] [<options>]",
        discussion: """
            Examples:
              ferry kv music.sqlite set theme dark
              ferry kv music.sqlite set volume 0.8 --type double
              ferry kv music.sqlite set window '{"width": 800}' --type json
            """)

    @OptionGroup var argument: DatabaseArgument
    @Argument(help: "The key.") var key: String
    @Argument(parsing: .allUnrecognized, help: "The value.") var value: [String]

    private var values: [String] { NegativeNumber.values(value) }

    @Option(help: "What the value is: \(KeyValueType.allCases.map(\.rawValue).joined(separator: ", ")).")
    var type = KeyValueType.string

    @OptionGroup var output: OutputOptions

    func validate() throws {
        if values.count != 1 { throw ValidationError("Give one value; quote it where it has spaces.") }
    }

    func perform(_ console: Console) throws {
        let value = try type.parse(values[0])
        try argument.keyValueStore().set(value, forKey: key)
        if console.isJSON { return try console.emit(KeyValueEntry(key, value)) }
        try console.say("\(Wording.oneLine(key)) is set.")
    }
}

/// `ferry kv get`.
struct KeyValueGet: DatabaseCommand {
    static let configuration = CommandConfiguration(
        commandName: "get", abstract: "Print a value.",
        usage: "ferry kv <database> get <key> [<options>]",
        discussion: """
            Exit status 1 where there is none. Data is printed in base 64, dates in ISO 8601.

            Example:
              ferry kv music.sqlite get theme
            """)

    @OptionGroup var argument: DatabaseArgument
    @Argument(help: "The key.") var key: String
    @OptionGroup var output: OutputOptions

    func perform(_ console: Console) throws {
        guard let value = try argument.keyValueStore().value(forKey: key) else {
            throw FerryError(.nothingFound, "There is no value for “\(key)”.")
        }
        if console.isJSON { return try console.emit(KeyValueEntry(key, value)) }
        try console.value(value.text)
    }
}

/// `ferry kv remove`.
struct KeyValueRemove: DatabaseCommand {
    static let configuration = CommandConfiguration(
        commandName: "remove", abstract: "Remove a value.",
        usage: "ferry kv <database> remove <key> [<options>]",
        discussion: """
            Removing what is not there is no failure.

            Example:
              ferry kv music.sqlite remove theme
            """)

    private struct Report: Encodable {
        var name: String
        var wasThere: Bool
    }

    @OptionGroup var argument: DatabaseArgument
    @Argument(help: "The key.") var key: String
    @OptionGroup var output: OutputOptions

    func perform(_ console: Console) throws {
        let store = try argument.keyValueStore()
        let isThere = try store.value(forKey: key) != nil
        try store.removeValue(forKey: key)
        if console.isJSON { return try console.emit(Report(name: key, wasThere: isThere)) }
        try console.say(
            isThere ? "\(Wording.oneLine(key)) is removed." : "There was no value for “\(Wording.oneLine(key))”.")
    }
}

/// `ferry kv list`.
struct KeyValueList: DatabaseCommand {
    static let configuration = CommandConfiguration(
        commandName: "list", abstract: "List all values, sets and counters; without a sub-verb, too.",
        usage: "ferry kv <database> [list] [<options>]",
        discussion: """
            JSON: {"values": {key: value}, "sets": {set: members}, "counters": {counter: sum}}

            Example:
              ferry kv music.sqlite list
            """)

    private struct Report: Encodable {
        var values: [String: JSONValue]
        var sets: [String: Int]
        var counters: [String: Int64]
    }

    @OptionGroup var argument: DatabaseArgument
    @OptionGroup var output: OutputOptions

    func perform(_ console: Console) throws {
        let store = try argument.keyValueStore()
        let values = try store.dictionaryRepresentation()
        let sets = try store.setNames().map { ($0, try store.count(ofSet: $0)) }.sorted { $0.0 < $1.0 }
        let counters = try store.counterNames().map { ($0, try store.counter($0)) }.sorted { $0.0 < $1.0 }
        if console.isJSON {
            return try console.emit(
                Report(
                    values: values.mapValues { JSONValue($0) }, sets: Dictionary(sets) { $1 },
                    counters: Dictionary(counters) { $1 }))
        }
        if values.isEmpty && sets.isEmpty && counters.isEmpty { return try console.say("Nothing is kept here yet.") }
        var table = TextTable("Name", "Type", "Value")
        for (key, value) in values.sorted(by: { $0.key < $1.key }) {
            table.add(Wording.oneLine(key), value.typeName, Wording.oneLine(value.text))
        }
        for (name, count) in sets { table.add(Wording.oneLine(name), "set", Wording.count(count, "member")) }
        for (name, sum) in counters { table.add(Wording.oneLine(name), "counter", "\(sum)") }
        for line in table.lines(console.style) { try console.answer(line) }
    }
}

/// The types of a value on the command line.
enum KeyValueType: String, CaseIterable, ExpressibleByArgument {
    case string, integer, double, bool, data, date, json

    /// - Throws: `invalidArgument` where the text is no such value.
    func parse(_ text: String) throws -> KeyValue {
        let value: KeyValue? =
            switch self {
            case .string: .string(text)
            case .integer: Int64(text).map { .integer($0) }
            case .double: Double(text).map { .double($0) }
            case .bool:
                ["true": true, "yes": true, "1": true, "false": false, "no": false, "0": false][text].map { .bool($0) }
            case .data: Data(base64Encoded: text).map { .data($0) }
            case .date: Self.date(text).map { .date($0) }
            case .json: JSONValue(json: text).map { _ in .json(text) }
            }
        guard let value else { throw FerryError(.invalidArgument, "“\(Wording.oneLine(text))” is no \(meaning).") }
        return value
    }

    /// A date with or without a fraction of a second.
    private static func date(_ text: String) -> Date? {
        // A text of the one form is none of the other.
        (try? Date(text, strategy: Date.ISO8601FormatStyle(includingFractionalSeconds: true)))
            ?? (try? Date(text, strategy: .iso8601))
    }

    private var meaning: String {
        switch self {
        case .string: "text"
        case .integer: "integer of 64 bits"
        case .double: "number"
        case .bool: "truth value: say true or false"
        case .data: "base 64"
        case .date: "date in ISO 8601, such as 2026-03-01T12:00:00Z"
        case .json: "JSON"
        }
    }
}

/// A key and its value, for scripts.
struct KeyValueEntry: Encodable {
    var name: String
    var type: String
    var value: JSONValue

    init(_ name: String, _ value: KeyValue) {
        self.name = name
        type = value.typeName
        self.value = JSONValue(value)
    }
}

extension KeyValue {
    var typeName: String {
        switch self {
        case .string: "string"
        case .integer: "integer"
        case .double: "double"
        case .bool: "bool"
        case .data: "data"
        case .date: "date"
        case .json: "json"
        case .array: "array"
        case .dictionary: "dictionary"
        }
    }

    /// The value for people.
    var text: String {
        switch self {
        case .string(let value), .json(let value): value
        case .integer(let value): "\(value)"
        case .double(let value): "\(value)"
        case .bool(let value): "\(value)"
        case .data(let value): value.base64EncodedString()
        case .date(let value): Self.text(value)
        case .array, .dictionary: JSONValue(self).text
        }
    }

    /// A date in ISO 8601, with milliseconds where the date has a fraction of a second.
    private static func text(_ date: Date) -> String {
        let milliseconds = (date.timeIntervalSince1970 * 1000).rounded()
        guard let exact = Int64(exactly: milliseconds), exact % 1000 != 0 else { return date.formatted(.iso8601) }
        return ISO8601.text(exact)
    }
}
