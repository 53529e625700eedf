/// Finds the name that somebody may have meant by a mistyped word. Pure; letter case does not count.
package enum NearName {
    /// Longer words are not compared: the work grows with the square of the length.
    private static let longest = 64

    /// The nearest name; `nil` where none is near. A word of three letters may have one mistake, a word of nine three.
    /// The beginning of a single name means the name, too.
    package static func nearest(to word: String, in names: some Sequence<String>) -> String? {
        let meant = Array(word.lowercased())
        guard (1...longest).contains(meant.count) else { return nil }
        var best: (name: String, distance: Int)?
        var begun: [String] = []
        for name in names {
            let letters = Array(name.lowercased())
            guard (1...longest).contains(letters.count) else { continue }
            if meant.count > 1, letters.starts(with: meant) { begun.append(name) }
            let distance = distance(meant, letters)
            if distance <= max(1, min(meant.count, letters.count) / 3), distance < best?.distance ?? .max,
                distance < letters.count
            {
                best = (name, distance)
            }
        }
        return best?.name ?? (begun.count == 1 ? begun[0] : nil)
    }

    /// ` Did you mean “song”?`, with a space before; empty where no name is near.
    package static func question(_ word: String, among names: some Sequence<String>) -> String {
        nearest(to: word, in: names).map { " Did you mean “\($0)”?" } ?? ""
    }

    /// The number of letters to insert, delete, replace or exchange with their neighbor (optimal string alignment).
    static func distance(_ first: [Character], _ second: [Character]) -> Int {
        var beforeLast: [Int] = []
        var last = Array(0...second.count)
        for i in first.indices {
            var row = [i + 1]
            for j in second.indices {
                var least = min(last[j + 1] + 1, row[j] + 1, last[j] + (first[i] == second[j] ? 0 : 1))
                if i > 0, j > 0, first[i] == second[j - 1], first[i - 1] == second[j] {
                    least = min(least, beforeLast[j - 1] + 1)
                }
                row.append(least)
            }
            (beforeLast, last) = (last, row)
        }
        return last[second.count]
    }
}
