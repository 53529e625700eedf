/// How concurrent writes to a column merge (Docs/Merging.md, "Policies").
public enum ColumnPolicy: Hashable, Sendable {
    /// The latest write wins: the rule where nothing else is said.
    case lastWriterWins
    /// Of concurrent writes the earliest wins.
    case firstWriterWins
    /// The greatest value wins, in SQLite's order of values.
    case max
    /// The least value wins, in SQLite's order of values; NULL is no value.
    case min
    /// The devices' additions to an integer are summed.
    case counter
    /// The value is a JSON array, whose elements merge separately.
    case set
    /// A function of the app's, known by its name, makes a single value of two.
    case hook(String)

    /// The word for people, scripts and the log.
    package var word: String {
        switch self {
        case .lastWriterWins: "lastWriterWins"
        case .firstWriterWins: "firstWriterWins"
        case .max: "max"
        case .min: "min"
        case .counter: "counter"
        case .set: "set"
        case .hook(let name): "hook:\(name)"
        }
    }

    /// - Returns: `nil` for a word that this Ferry does not know.
    package init?(word: String) {
        switch word {
        case "lastWriterWins": self = .lastWriterWins
        case "firstWriterWins": self = .firstWriterWins
        case "max": self = .max
        case "min": self = .min
        case "counter": self = .counter
        case "set": self = .set
        default:
            guard word.hasPrefix("hook:"), word.utf8.count > 5 else { return nil }
            self = .hook(String(word.dropFirst(5)))
        }
    }
}

/// The target of a policy. Names are as SQLite compares them: ASCII letters fold.
public enum PolicyTarget: Hashable, Sendable {
    case table(String)
    /// A UNIQUE index by its name, or any index by its table and columns: `song(isrc)`.
    case index(String)
    case column(table: String, column: String)

    /// `table:song`, `index:song_isrc`, `column:song.rank`, with ASCII letters in lower case.
    package var text: String {
        switch self {
        case .table(let name): "table:\(foldedText(name))"
        case .index(let name): "index:\(foldedText(name))"
        case .column(let table, let column): "column:\(foldedText(table)).\(foldedText(column))"
        }
    }

    /// Reads the text form. Without a kind, a name with a dot is a column's and any other name a table's.
    ///
    /// A table with a dot in its name can be named only in code.
    /// - Returns: `nil` for text of another form.
    package init?(text: String) {
        let parts = Self.split(text, at: ":")
        let kind = parts.count == 2 ? parts[0] : nil
        let name = parts.last ?? ""
        if name.isEmpty { return nil }
        let dot = Self.split(name, at: ".")
        switch kind {
        case "table": self = .table(name)
        case "index": self = .index(name)
        case "column", nil:
            if dot.count == 2, !dot[0].isEmpty, !dot[1].isEmpty {
                self = .column(table: dot[0], column: dot[1])
            } else if kind == nil {
                self = .table(name)
            } else {
                return nil
            }
        default: return nil
        }
    }

    /// Splits a text once. Scalars: a dot and a combining mark behind the dot are one character.
    private static func split(_ text: String, at separator: Unicode.Scalar) -> [String] {
        text.unicodeScalars.split(separator: separator, maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
    }
}

/// The words of policies of tables and indexes.
public enum PolicyWord {
    /// Of a table: only an insertion brings a deleted row back.
    public static let deleteWins = "deleteWins"
    /// Of a UNIQUE index: of rows that claim a value the oldest is shown and the rest are hidden.
    public static let hideLoser = "hideLoser"
}

/// A policy as set: its target and its word.
public struct PolicySetting: Hashable, Sendable {
    package var target: PolicyTarget
    /// A word of `ColumnPolicy` or of `PolicyWord`; perhaps a word of a newer Ferry, if a peer set the policy.
    @ComparedByBytes package var word: String

    public init(_ target: PolicyTarget, _ word: String) {
        self.target = target
        self.word = word
    }

    /// A column's policy.
    public init(table: String, column: String, _ policy: ColumnPolicy) {
        self.init(.column(table: table, column: column), policy.word)
    }
}

/// The kind of part that a portable value is, if not simply a written value (Docs/Format.md, "Payloads").
@usableFromInline package enum PayloadKind: UInt8, CaseIterable, Sendable {
    case maximum = 1
    case minimum = 2
    case counter = 3
    case set = 4
    /// Values side by side, and the values that each replaced: for `firstWriterWins` and hooks.
    case versions = 5
}
