import FerryCore

/// The parts of a `CREATE TRIGGER` statement as `sqlite_schema` keeps it: `CREATE TRIGGER name`, when and on what it fires, a
/// condition, and the steps between BEGIN and END.
///
/// SQLite has parsed the text before; this only finds where parts begin and end. https://www.sqlite.org/lang_createtrigger.html
struct TriggerText {
    /// `BEFORE`, `AFTER` or `INSTEAD OF`.
    private(set) var time = "BEFORE"
    private(set) var event: RowEvent
    /// The columns after UPDATE OF, unquoted; none: any.
    private(set) var columns: [String] = []
    private let condition: Range<Int>?
    private(set) var steps: [Step] = []

    private let bytes: [UInt8]
    private let ranges: [Range<Int>]
    private let tokens: [String]

    /// A statement of the trigger's.
    struct Step {
        /// The name of the table or view that it writes to, unquoted; `nil` for a SELECT.
        fileprivate(set) var target: String?
        fileprivate let places: Range<Int>
        /// What the word after OR says, in lower case; `replace` for a REPLACE statement.
        fileprivate(set) var resolution: String?
        /// Whether RAISE is in it.
        fileprivate(set) var refuses = false
    }

    /// What becomes of RAISE in a copy.
    enum Refusals {
        /// It is NULL, and a SELECT with it is left out.
        case leftOut
        /// It stays, and at most takes back the statement that fired the trigger.
        case kept
    }

    /// - Returns: `nil` where the text is not one that SQLite keeps for a trigger.
    init?(_ sql: String) {
        let bytes = Array(sql.utf8)
        let ranges = IndexText.tokens(bytes)
        let tokens = ranges.map { String(decoding: bytes[$0], as: UTF8.self) }
        let words = tokens.map(foldedName)
        (self.bytes, self.ranges, self.tokens) = (bytes, ranges, tokens)
        guard words.count > 6, words[0] == "create", words[1] == "trigger" else { return nil }
        var place = Self.endOfName(from: 2, tokens)
        switch words[place] {
        case "before": place += 1
        case "after":
            time = "AFTER"
            place += 1
        case "instead":
            time = "INSTEAD OF"
            place += 2
        default: break
        }
        guard place < words.count, let event = RowEvent(rawValue: words[place]) else { return nil }
        self.event = event
        place += 1
        if place < words.count, words[place] == "of" {
            repeat {
                place += 1
                if place < words.count { columns.append(IndexText.unquoted(tokens[place])) }
                place += 1
            } while place < words.count && words[place] == ","
        }
        guard place + 1 < words.count, words[place] == "on" else { return nil }
        place = Self.endOfName(from: place + 1, tokens)
        if place + 2 < words.count, words[place] == "for" { place += 3 }
        guard let begin = Self.begin(from: place, words), words[place] == "when" || place == begin else { return nil }
        condition = place == begin ? nil : place + 1..<begin
        guard let end = words.lastIndex(of: "end"), end > begin else { return nil }
        readSteps(begin + 1..<end, words)
    }

    /// The place after a name, which may have the schema's name and a dot before it.
    private static func endOfName(from start: Int, _ tokens: [String]) -> Int {
        var place = start + 1
        while place < tokens.count - 1, tokens[place].hasPrefix(".") || tokens[place - 1].hasSuffix(".") { place += 1 }
        return place
    }

    /// The place of the BEGIN before the steps: a word of that name may be a column of NEW.
    private static func begin(from start: Int, _ words: [String]) -> Int? {
        var depth = 0
        for place in start..<words.count {
            if words[place] == "(" { depth += 1 }
            if words[place] == ")" { depth -= 1 }
            if depth == 0, words[place] == "begin", !words[place - 1].hasSuffix(".") { return place }
        }
        return nil
    }

    private mutating func readSteps(_ body: Range<Int>, _ words: [String]) {
        for places in body.split(separator: ";", by: { words[$0] }) {
            var step = Step(places: places)
            var place = places.lowerBound
            func next() -> String? {
                place += 1
                return place < places.upperBound ? words[place] : nil
            }
            let verb = words[place]
            if verb == "replace" { step.resolution = verb }
            if verb != "select", verb != "values", let following = next() {
                var word = following
                if word == "or" {
                    step.resolution = next()
                    word = next() ?? ""
                }
                // INTO or FROM stands before the name; a table that is called so is quoted.
                if verb != "update" { _ = next() }
                if place < places.upperBound { step.target = IndexText.unquoted(tokens[place]) }
            }
            step.refuses = places.contains { isRaise($0, words) }
            steps.append(step)
        }
    }

    /// Whether RAISE is called there: as a name it has none of these words behind its bracket.
    private func isRaise(_ place: Int, _ words: [String]) -> Bool {
        place + 2 < words.count && words[place] == "raise" && words[place + 1] == "("
            && ["ignore", "abort", "fail", "rollback"].contains(words[place + 2])
    }

    // MARK: Copies

    /// The same trigger as a temporary one.
    /// - Parameters:
    ///   - name: the copy's.
    ///   - table: what it is on, in `main`.
    ///   - guarding: what must hold too for it to run.
    ///   - omits: the names of tables and views that no step may write to; such steps are left out.
    ///   - aborting: the names of tables whose constraints would end the transaction.
    /// - Returns: `nil` where nothing is left to do.
    func copy(
        named name: String, on table: String, guarding: String, _ refusals: Refusals, omits: (String) -> Bool,
        aborting: (String) -> Bool
    ) -> String? {
        var remaining = steps.filter { step in !(step.target.map(omits) ?? false) }
        if case .leftOut = refusals { remaining.removeAll { $0.target == nil && $0.refuses } }
        var texts = remaining.map { step in
            text(step.places, refusals, opening: opening(of: step, isAborting: step.target.map(aborting) ?? false))
        }
        if texts.isEmpty {
            // A view can be written to only where something is done instead.
            if time != "INSTEAD OF" { return nil }
            texts = ["SELECT 1"]
        }
        let list = columns.isEmpty ? "" : " OF " + columns.map(quoted).joined(separator: ", ")
        let when = condition.map { "\(guarding) AND (\(text($0, refusals)))" } ?? guarding
        return
            "CREATE TEMP TRIGGER \(quoted(name)) \(time) \(event.rawValue.uppercased())\(list) ON main.\(quoted(table)) "
            + "WHEN \(when) BEGIN \(texts.joined(separator: "; ")); END"
    }

    /// How a step begins that would otherwise end the transaction, or leave half of itself; `nil`: as it is.
    private func opening(of step: Step, isAborting: Bool) -> (text: String, count: Int)? {
        let verb = tokens[step.places.lowerBound]
        switch step.resolution {
        case "rollback", "fail": return ("\(verb) OR ABORT", 3)
        case nil where isAborting && foldedName(verb) != "delete": return ("\(verb) OR ABORT", 1)
        default: return nil
        }
    }

    private func text(
        _ places: Range<Int>, _ refusals: Refusals, opening: (text: String, count: Int)? = nil
    ) -> String {
        let words = tokens.map(foldedName)
        var text = ""
        var place = places.lowerBound
        if let opening {
            text = opening.text
            place += opening.count
        }
        while place < places.upperBound {
            if place > places.lowerBound {
                // What stands between two tokens may be a comment; a line's end ends it.
                let gap = ranges[place - 1].upperBound..<ranges[place].lowerBound
                if !gap.isEmpty { text += "\n" }
            }
            if isRaise(place, words) {
                switch refusals {
                case .leftOut:
                    text += "NULL"
                    place = endOfBrackets(from: place + 1, words)
                case .kept:
                    text += "RAISE(" + (words[place + 2] == "ignore" ? "IGNORE" : "ABORT")
                    place += 3
                }
                continue
            }
            text += tokens[place]
            place += 1
        }
        return text
    }

    private func endOfBrackets(from open: Int, _ words: [String]) -> Int {
        var depth = 0
        for place in open..<words.count {
            if words[place] == "(" { depth += 1 }
            if words[place] == ")" { depth -= 1 }
            if depth == 0 { return place + 1 }
        }
        return words.count
    }
}

/// What a statement does to a row, in the word for which a trigger waits.
enum RowEvent: String {
    case insert
    case update
    case delete
}

extension Range<Int> {
    /// The ranges between the places of a word; empty ones are left out.
    fileprivate func split(separator: String, by word: (Int) -> String) -> [Range<Int>] {
        var parts: [Range<Int>] = []
        var start = lowerBound
        for place in self where word(place) == separator {
            if start < place { parts.append(start..<place) }
            start = place + 1
        }
        if start < upperBound { parts.append(start..<upperBound) }
        return parts
    }
}
