import ArgumentParser
import Ferry

/// The words of a command line before they are parsed. A mistyped verb is reported with the probable verb, and a
/// sub-verb may stand behind the database. Pure.
///
/// People write `ferry devices music.sqlite rename study`: verb, database, sub-verb. The parser wants a sub-verb right
/// behind the verb, so the sub-verb is moved there. Both orders are understood.
struct CommandWords {
    /// Sub-verbs by verb; a verb without any has an empty list.
    let verbs: [String: [String]]
    /// The options with a value in the next word, of verbs with sub-verbs.
    private static let optionsWithValue: Set = [
        "--table", "-t", "--limit", "-l", "--kind", "--before", "--recovery", "--type", "--metrics",
        "--to", "--output", "-o", "--version", "--keep", "--with", "--state", "--fetch", "--most", "--leave-free",
        "--add",
        "--remove",
    ]

    init(verbs: [String: [String]]) { self.verbs = verbs }

    init(of root: any ParsableCommand.Type) {
        var verbs: [String: [String]] = [:]
        for verb in root.configuration.subcommands { verbs[Self.name(of: verb)] = Self.subVerbs(of: verb) }
        self.verbs = verbs
    }

    private static func name(of command: any ParsableCommand.Type) -> String { command.configuration.commandName ?? "" }

    private static func subVerbs(of command: any ParsableCommand.Type) -> [String] {
        var names: [String] = []
        for subcommand in command.configuration.subcommands { names.append(name(of: subcommand)) }
        return names
    }

    /// The words in the parser's order.
    /// - Parameter arguments: without the program's name.
    /// - Throws: `invalidArgument` for an unknown verb or sub-verb, with the probable verb.
    func ordered(_ arguments: [String]) throws -> [String] {
        guard let verb = arguments.first, !verb.hasPrefix("-") else { return arguments }
        if verb == "help" {
            try checkHelp(arguments.dropFirst().filter { !$0.hasPrefix("-") })
            return arguments
        }
        guard let subVerbs = verbs[verb] else { throw unknown(verb, arguments) }
        if subVerbs.isEmpty { return arguments }
        let places = places(ofWordsIn: arguments)
        guard let first = places.first else { return arguments }
        if let second = places.dropFirst().first {
            if subVerbs.contains(arguments[second]) { return moved(from: second, arguments) }
            if subVerbs.contains(arguments[first]) { return moved(from: first, arguments) }
            throw unknownSubVerb(arguments[second], of: verb, subVerbs)
        }
        return subVerbs.contains(arguments[first]) ? moved(from: first, arguments) : arguments
    }

    /// The parser shows the help of the last word that it knows, and is silent about the rest.
    private func checkHelp(_ words: [String]) throws {
        guard let verb = words.first else { return }
        guard let subVerbs = verbs[verb] else { throw unknown(verb, [verb]) }
        if let word = words.dropFirst().first, !subVerbs.contains(word) {
            throw unknownSubVerb(word, of: verb, subVerbs)
        }
    }

    private func unknownSubVerb(_ word: String, of verb: String, _ subVerbs: [String]) -> FerryError {
        let rest = subVerbs.isEmpty ? " It has no sub-verbs." : " There are \(Wording.list(subVerbs))."
        return FerryError(
            .invalidArgument, "`ferry \(verb)` has no “\(word)”." + (question(word, among: subVerbs) ?? rest))
    }

    /// The places of words except the verb, options and values of options.
    private func places(ofWordsIn arguments: [String]) -> [Int] {
        var places: [Int] = []
        var isValue = false
        for (place, word) in arguments.enumerated().dropFirst() {
            if word == "--" { break }
            if isValue {
                isValue = false
            } else if word.hasPrefix("-"), word.count > 1 {
                isValue = Self.optionsWithValue.contains(word)
            } else {
                places.append(place)
            }
        }
        return places
    }

    private func moved(from place: Int, _ arguments: [String]) -> [String] {
        var words = arguments
        words.insert(words.remove(at: place), at: 1)
        return words
    }

    private func unknown(_ verb: String, _ arguments: [String]) -> FerryError {
        if arguments.count > 1, verbs.keys.contains(arguments[1]) {
            let line = ([arguments[1], verb] + arguments.dropFirst(2)).map(Wording.shellWord).joined(separator: " ")
            return FerryError(.invalidArgument, "The verb comes first: `ferry \(line)`.")
        }
        return FerryError(
            .invalidArgument,
            "There is no command “\(verb)”." + (question(verb, among: verbs.keys.sorted()) ?? "")
                + " `ferry --help` lists all.")
    }

    private func question(_ word: String, among names: [String]) -> String? {
        let question = NearName.question(word, among: names)
        return question.isEmpty ? nil : question
    }
}
