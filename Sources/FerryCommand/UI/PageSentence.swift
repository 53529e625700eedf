/// A line of `ferry status` on the page of `ferry ui`: the same words, and in place of the terminal's color a tone.
struct PageSentence: Encodable, Equatable {
    enum Tone: String, Encodable {
        case good
        case wait
        case bad
        case plain
    }

    var text: String
    var tone: Tone

    /// The style by which lines are made for `init(styled:)`.
    static let style = Style(isOn: true)

    /// - Parameter line: a line in `style`. The first color is the tone; bold text is a command, and gets backquotes.
    init(styled line: String) {
        let tones: [(code: String, tone: Tone)] = [("[31m", .bad), ("[32m", .good), ("[33m", .wait)]
        let found = tones.compactMap { code, tone in
            line.firstRange(of: "\u{1B}" + code).map { (place: $0.lowerBound, tone: tone) }
        }
        tone = found.min { $0.place < $1.place }?.tone ?? .plain
        let commands = line.replacing(/\u{1B}\[1m(.*?)\u{1B}\[0m/) { "`\($0.1)`" }
        text = ["0", "1", "2", "31", "32", "33"].reduce(commands) { $0.replacing("\u{1B}[\($1)m", with: "") }
    }
}
