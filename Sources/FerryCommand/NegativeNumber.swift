import ArgumentParser

/// Values with a leading minus sign. The parser takes every word with a dash for an option.
enum NegativeNumber {
    /// Refuses words that look like options, and are no numbers.
    /// - Parameter words: those of an argument with `.allUnrecognized`.
    static func refuseOptions(among words: [String]) throws {
        if values(words).isEmpty { throw ValidationError("Give a key, or a number.") }
        let isEnded = CommandLine.arguments.contains("--")
        for word in words where word.hasPrefix("-") && Double(word) == nil && !isEnded {
            throw ValidationError("Unknown option '\(word)'. Where it is a value, put -- before it.")
        }
    }

    /// The values among such words. The parser may leave the `--` in front of them.
    static func values(_ words: [String]) -> [String] {
        var values = words
        if let mark = values.firstIndex(of: "--") { values.remove(at: mark) }
        return values
    }
}
