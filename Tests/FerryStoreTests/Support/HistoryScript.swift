import FerryCore
import FerryTestSupport
import Foundation
import XCTest

@testable import FerryReferenceModel
@testable import FerryStore

/// A history that is played by its text: statements, passes and collections. One that fails is made small: lines and
/// statements are left out one by one while the rest still fails.
///
/// Clocks go on by steps that depend on a line's place in the whole story, so that a line keeps its time while others are
/// left out. Or the story says what they showed.
struct HistoryScript {
    /// One line of a story, and its place in the whole one.
    struct Line {
        var place: Int
        var device: Int
        var deed: Deed
    }

    enum Deed {
        case write([String], foreignKeys: Bool)
        /// Whose changesets are replayed, one entry for each.
        case pass([UInt64])
        case collect
    }

    let schema: TestSchema
    let oracle: Oracle
    let devices: Int
    let deleteWins: String?
    /// Another one leads to other times.
    let pace: Int
    /// What the devices' clocks showed at each place of the whole story; nil: the pace says it.
    var times: [[Int64]]?
    /// How far apart the notes of one flush are, for each device.
    var captureSteps: [Int64] = []

    /// - Parameter story: lines as a history tells them, or as `text` writes them, with their places before them.
    /// - Returns: the lines of a story; nil where a line is of a kind that is not played.
    static func lines(of story: [String]) -> [Line]? {
        var lines: [Line] = []
        for (index, text) in story.enumerated() where !text.hasPrefix("all: ") {
            guard let colon = text.firstIndex(of: ":") else { return nil }
            let numbers = text[..<colon].split(separator: " ").compactMap { Int($0) }
            guard let device = numbers.last else { return nil }
            let place = numbers.count > 1 ? numbers[0] : index
            let rest = String(text[colon...].dropFirst(2))
            let words = rest.split(separator: " ")
            switch words.first {
            case "pass":
                let authors = words.dropFirst().compactMap { $0.split(separator: "/").first.flatMap { UInt64($0) } }
                lines.append(Line(place: place, device: device, deed: .pass(authors)))
            case "collect": lines.append(Line(place: place, device: device, deed: .collect))
            case "restore", "hook", "snapshot", "goes": return nil
            default:
                let off = "  -- foreign keys off"
                let sql = rest.hasSuffix(off) ? String(rest.dropLast(off.count)) : rest
                let statements = sql.components(separatedBy: "; ")
                lines.append(
                    Line(place: place, device: device, deed: .write(statements, foreignKeys: sql.count == rest.count)))
            }
        }
        return lines
    }

    /// - Returns: what is wrong first; nil where nothing is.
    func failure(of lines: [Line]) -> String? {
        do {
            let all = try (1...devices).map { number in
                let device = try TestDevice(number, schema)
                if let deleteWins {
                    try device.store.setPolicies([PolicySetting(.table(deleteWins), PolicyWord.deleteWins)])
                    try device.flush()
                }
                if number <= captureSteps.count { device.clock.captureStep = captureSteps[number - 1] }
                return device
            }
            var place = 0
            for line in lines {
                if let times, line.place < times.count {
                    for (device, time) in zip(all, times[line.place]) { device.clock.now = time }
                    place = line.place
                }
                while place < line.place {
                    for device in all { device.clock.now += Int64((place * pace + Int(device.id.low)) % 3) * 500 }
                    place += 1
                }
                guard line.device <= devices else { continue }
                let device = all[line.device - 1]
                switch line.deed {
                case .write(let statements, let foreignKeys):
                    device.runTolerating(statements, foreignKeys: foreignKeys)
                case .pass(let authors):
                    var taken: [UInt64: Int] = [:]
                    var incoming: [Changeset] = []
                    for author in authors {
                        guard let other = all.first(where: { $0.id.low == author }) else { continue }
                        let news = device.news(from: other)
                        let index = taken[author, default: 0]
                        if index < news.count { incoming.append(news[index]) }
                        taken[author] = index + 1
                    }
                    try device.pass(incoming)
                    if let complaint = try complaint(about: device) { return complaint }
                case .collect: _ = try device.collectTombstones(all)
                }
            }
            for device in all { try device.pass([]) }
            for device in all {
                try device.pass(all.filter { $0.id != device.id }.flatMap { device.news(from: $0) })
                if let complaint = try complaint(about: device) { return complaint }
            }
            let fresh = try TestDevice(90, schema)
            try fresh.pass(all.flatMap { fresh.news(from: $0) })
            return try complaint(about: fresh)
        } catch {
            return "\(error)"
        }
    }

    private func complaint(about device: TestDevice) throws -> String? {
        var complaints: [String] = []
        if try !device.hasCollected || device.isCausallyWhole() { complaints = try oracle.complaints(about: device) }
        complaints += try device.store.verify(deep: true).differences.map {
            "verify: \($0.table) \($0.key) \($0.kind): \($0.problem)"
        }
        return complaints.isEmpty ? nil : "device \(device.id.low): " + complaints.joined(separator: "\n")
    }

    /// - Returns: the least lines that were found to fail; nil where these do not fail.
    func reduce(_ lines: [Line]) -> [Line]? {
        guard failure(of: lines) != nil else { return nil }
        var lines = lines
        var size = lines.count / 2
        while size > 0 {
            var start = 0
            var isSmaller = false
            while start < lines.count {
                var fewer = lines
                fewer.removeSubrange(start..<min(start + size, lines.count))
                if failure(of: fewer) != nil {
                    lines = fewer
                    isSmaller = true
                } else {
                    start += size
                }
            }
            if !isSmaller || size > 1 { size /= 2 }
        }
        for index in lines.indices {
            guard case .write(var statements, let foreignKeys) = lines[index].deed else { continue }
            var number = 0
            while number < statements.count {
                var fewer = statements
                fewer.remove(at: number)
                var candidate = lines
                candidate[index].deed = .write(fewer, foreignKeys: foreignKeys)
                if failure(of: candidate) != nil {
                    statements = fewer
                    lines = candidate
                } else {
                    number += 1
                }
            }
        }
        return lines
    }

    static func text(_ line: Line) -> String {
        switch line.deed {
        case .write(let statements, let foreignKeys):
            "\(line.place) \(line.device): \(statements.joined(separator: "; "))\(foreignKeys ? "" : "  -- foreign keys off")"
        case .pass(let authors): "\(line.place) \(line.device): pass \(authors.map(String.init).joined(separator: " "))"
        case .collect: "\(line.place) \(line.device): collect"
        }
    }
}

extension RandomHistory {
    /// - Returns: the history made small, as text, and what goes wrong; nil where its text alone does not fail.
    func reduced() throws -> String? {
        guard let lines = HistoryScript.lines(of: story) else { return nil }
        let deleteWins = story.first { $0.hasPrefix("all: deleteWins ") }?.split(separator: " ").last.map(String.init)
        let count = lines.map(\.device).filter { $0 < 90 }.max() ?? 1
        for pace in [nil, 0, 1, 2, 3, 4, 5] {
            let policies = ModelPolicies(deleteWins: deleteWins.map { [$0.lowercased()] } ?? [])
            let oracle = try Oracle(schema, policies: policies)
            var reduction = HistoryScript(
                schema: schema, oracle: oracle, devices: count, deleteWins: deleteWins, pace: pace ?? 0)
            if pace == nil {
                reduction.times = times
                reduction.captureSteps = devices.map(\.clock.captureStep)
            }
            guard let least = reduction.reduce(lines), let problem = reduction.failure(of: least) else { continue }
            let name = pace.map { "\($0)" } ?? "of the history"
            return "pace \(name), \(deleteWins ?? "")\n" + least.map(HistoryScript.text).joined(separator: "\n") + "\n"
                + problem
        }
        return nil
    }
}

extension XCTestCase {
    /// Plays a story, and fails with what goes wrong in it.
    /// - Parameter story: a line for each deed (`HistoryScript.lines`).
    func assertHolds(
        _ schema: TestSchema, _ story: String, deleteWins: String? = nil, pace: Int = 0, file: StaticString = #filePath,
        line: UInt = #line
    ) throws {
        let lines = try XCTUnwrap(HistoryScript.lines(of: story.split(separator: "\n").map(String.init)))
        let policies = ModelPolicies(deleteWins: deleteWins.map { [$0] } ?? [])
        let script = try HistoryScript(
            schema: schema, oracle: Oracle(schema, policies: policies), devices: lines.map(\.device).max() ?? 1,
            deleteWins: deleteWins, pace: pace)
        XCTAssertNil(script.failure(of: lines), schema.name, file: file, line: line)
    }
}
