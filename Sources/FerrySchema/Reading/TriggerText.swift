import FerryCore
import FerrySQL

/// The parts of a `CREATE TRIGGER` statement as stored in `sqlite_schema`: name, time and event, condition, and the
/// steps between BEGIN and END.
///
/// SQLite has already parsed the text. This type only finds where parts begin and end.
/// https://www.sqlite.org/lang_createtrigger.html
package struct TriggerText {
    /// `BEFORE`, `AFTER` or `INSTEAD OF`.
    package private(set) var time = "BEFORE"
    package private(set) var event: RowEvent
    /// The columns after UPDATE OF, unquoted; empty for any column.
    package private(set) var columns: [String] = []
    private let condition: Range<Int>?
    package private(set) var steps: [Step] = []

    private let bytes: [UInt8]
    private let ranges: [Range<Int>]
    private let tokens: [String]

    /// A statement in the trigger's body.
    package struct Step {
        /// The table or view written by the step, unquoted; `nil` for a SELECT.
        package fileprivate(set) var target: String?
        fileprivate let places: Range<Int>
        /// The word after OR, in lower case; `replace` for a REPLACE statement.
        package fileprivate(set) var resolution: String?
        /// True if the step contains RAISE.
        package fileprivate(set) var refuses = false
    }

    /// The treatment of RAISE in a copy.
    package enum Refusals {
        /// RAISE becomes NULL; a SELECT with RAISE is left out.
        case leftOut
        /// RAISE stays, and undoes at most the statement firing the trigger.
        case kept
    }

    /// - Returns: `nil` for a text SQLite would not store for a trigger.
    package init?(_ sql: String) {
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

    /// The position after a name, including an optional schema name and dot before the name.
    private static func endOfName(from start: Int, _ tokens: [String]) -> Int {
        var place = start + 1
        while place < tokens.count - 1, tokens[place].hasPrefix(".") || tokens[place - 1].hasSuffix(".") { place += 1 }
        return place
    }

    /// The position of the BEGIN before the steps. A column of NEW may also be named `begin`.
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
                // INTO or FROM precedes the name. A table named INTO or FROM would be quoted.
                if verb != "update" { _ = next() }
                if place < places.upperBound { step.target = IndexText.unquoted(tokens[place]) }
            }
            step.refuses = places.contains { isRaise($0, words) }
            steps.append(step)
        }
    }

    /// True if the token calls RAISE. A column named `raise` has none of these words behind the bracket.
    private func isRaise(_ place: Int, _ words: [String]) -> Bool {
        place + 2 < words.count && words[place] == "raise" && words[place + 1] == "("
            && ["ignore", "abort", "fail", "rollback"].contains(words[place + 2])
    }

    // MARK: Copies

    /// The changes of a trigger's steps in a copy.
    package struct Adaptation {
        package var refusals: Refusals
        /// True for tables and views no step may write to; the steps writing to them are left out.
        package var omits: (String) -> Bool
        /// True for tables with constraints that would end the transaction.
        package var aborting: (String) -> Bool

        package init(refusals: Refusals, omits: @escaping (String) -> Bool, aborting: @escaping (String) -> Bool) {
            self.refusals = refusals
            self.omits = omits
            self.aborting = aborting
        }
    }

    /// Makes a temporary copy of this trigger.
    /// - Parameters:
    ///   - name: the copy's name.
    ///   - table: the trigger's table, in `main`.
    ///   - guarding: an additional condition for running the copy.
    /// - Returns: `nil` where no step remains.
    package func copy(
        named name: String, on table: String, guarding: String, _ adaptation: Adaptation
    ) -> String? {
        let (refusals, aborting) = (adaptation.refusals, adaptation.aborting)
        var remaining = steps.filter { step in !(step.target.map(adaptation.omits) ?? false) }
        if case .leftOut = refusals { remaining.removeAll { $0.target == nil && $0.refuses } }
        var texts = remaining.map { step in
            text(step.places, refusals, opening: opening(of: step, isAborting: step.target.map(aborting) ?? false))
        }
        if texts.isEmpty {
            // SQLite permits writes to a view only with an INSTEAD OF trigger. So an empty trigger replaces the removed
            // steps.
            if time != "INSTEAD OF" { return nil }
            texts = ["SELECT 1"]
        }
        let list = columns.isEmpty ? "" : " OF " + columns.map(quoted).joined(separator: ", ")
        let when = condition.map { "\(guarding) AND (\(text($0, refusals)))" } ?? guarding
        return
            "CREATE TEMP TRIGGER \(quoted(name)) \(time) \(event.rawValue.uppercased())\(list) ON main.\(quoted(table)) "
            + "WHEN \(when) BEGIN \(texts.joined(separator: "; ")); END"
    }

    /// The replacement opening of a step that would end the transaction, or leave half of a statement; `nil` for no
    /// change.
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
                // The gap between two tokens may hold a comment. A line break ends any comment.
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

/// A statement's effect on a row, named by the trigger's event word.
package enum RowEvent: String {
    case insert
    case update
    case delete
}

extension Range<Int> {
    /// Splits the range at each occurrence of a word; leaves out empty parts.
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
