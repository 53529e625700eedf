import FerryContainer
import FerryCore

/// The files of a mirror without documents: litter of programs, and the names in `.ferryignore` at the top.
///
/// The file's lines are a part of git's syntax: `#` begins a comment, `!` takes a pattern back. A slash at the end means folders alone, a
/// slash elsewhere binds the pattern to the top. `*` and `?` stand for characters but slashes, `**` for any folders, `[a-z]` and `[!a-z]`
/// for a character of a set. The last matching line decides. Everything in an ignored folder is ignored.
package struct IgnoreRules: Hashable, Sendable {
    package static let fileName = ".ferryignore"
    /// The longest file, in bytes, and the largest number of lines.
    package static let maximumBytes = 1 << 20
    package static let maximumRules = 4096

    private let rules: [Rule]

    /// The rules without a file.
    package static let builtIn = IgnoreRules("")

    /// - Parameter text: of the file.
    package init(_ text: String) {
        rules =
            Self.litter
            + text.utf8.split(separator: UInt8(ascii: "\n")).prefix(Self.maximumRules)
            .compactMap { Rule(Array($0)) }
    }

    /// Names without documents, for any text of the file: temporary files of editors, syncers and downloads, and litter of systems. Also
    /// the files of SQLite and Ferry beside a database.
    private static let litter =
        [
            ".ferry-mirror", ".DS_Store", "._*", "Thumbs.db", "desktop.ini", ".Spotlight-V100", ".Trashes",
            ".fseventsd", "$RECYCLE.BIN", "~$*", ".~lock.*#", ".*.sw[a-p]", "*~", ".#*", "#*#", "4913", "*.crdownload",
            "*.part", "*.partial", "*.download", ".goutputstream-*", ".nfs*", ".fuse_hidden*", ".syncthing.*.tmp",
            "~syncthing~*", ".sync-*.db*", "*.sqlite-wal", "*.sqlite-shm", "*.sqlite-journal", "*.db-wal", "*.db-shm",
            "*.db-journal",
        ].compactMap { Rule(Array($0.utf8)) }
        + [DatabaseFiles.Suffix.content, .lock, .leader, .unfinished].compactMap { Rule(Array("*\($0.rawValue)".utf8)) }

    /// Files removed with their folder, because a system makes the files anew wherever somebody looks.
    package static func isLitter(_ name: String) -> Bool {
        [".DS_Store", "Thumbs.db", "desktop.ini"].contains { $0.utf8.elementsEqual(name.utf8) }
            || name.utf8.starts(with: "._".utf8)
    }

    /// Whether a path is ignored, alone or with a folder above.
    package func ignores(_ path: DiskPath, isFolder: Bool) -> Bool {
        let names = path.text.utf8.split(separator: UInt8(ascii: "/")).map(Array.init)
        for count in 1...max(names.count, 1) where count <= names.count {
            if decides(names[..<count], isFolder: count < names.count || isFolder) { return true }
        }
        return false
    }

    /// Whether a path is ignored, given folders that are not ignored.
    package func ignoresHere(_ path: DiskPath, isFolder: Bool) -> Bool {
        decides(path.text.utf8.split(separator: UInt8(ascii: "/")).map(Array.init)[...], isFolder: isFolder)
    }

    private func decides(_ names: ArraySlice<[UInt8]>, isFolder: Bool) -> Bool {
        rules.last { $0.matches(names, isFolder: isFolder) }?.isIgnoring ?? false
    }

    /// A line of the file.
    private struct Rule: Hashable, Sendable {
        let isIgnoring: Bool
        private let isOfFolders: Bool
        /// A pattern for each name of the path; a pattern without a slash is for the last name alone.
        private let names: [[UInt8]]
        private let isBound: Bool

        /// - Returns: `nil` for a line without a pattern.
        init?(_ line: [UInt8]) {
            var text = line[...]
            if text.last == UInt8(ascii: "\r") { text.removeLast() }
            while text.last == UInt8(ascii: " "), text.dropLast().last != UInt8(ascii: "\\") { text.removeLast() }
            guard let first = text.first, first != UInt8(ascii: "#") else { return nil }
            isIgnoring = first != UInt8(ascii: "!")
            if !isIgnoring { text.removeFirst() }
            isOfFolders = text.last == UInt8(ascii: "/")
            if isOfFolders { text.removeLast() }
            isBound = text.contains(UInt8(ascii: "/"))
            let all = text.split(separator: UInt8(ascii: "/")).map(Array.init)
            // Several `**` in a row mean a single `**`.
            names = all.indices.filter { $0 == 0 || all[$0] != all[$0 - 1] || !all[$0].elementsEqual("**".utf8) }
                .map { all[$0] }
            if names.isEmpty { return nil }
        }

        func matches(_ path: ArraySlice<[UInt8]>, isFolder: Bool) -> Bool {
            if isOfFolders && !isFolder { return false }
            guard isBound else { return path.last.map { Wildcard.matches(names[0][...], $0[...]) } ?? false }
            return Self.matches(names[...], path)
        }

        /// Whether patterns match names, where `**` stands for any number of names. Takes at most the product of both counts.
        private static func matches(_ patterns: ArraySlice<[UInt8]>, _ names: ArraySlice<[UInt8]>) -> Bool {
            // Whether the patterns so far can match so many names.
            var open = [Bool](repeating: false, count: names.count + 1)
            open[0] = true
            for (place, pattern) in zip(patterns.indices, patterns) {
                var next = [Bool](repeating: false, count: names.count + 1)
                if pattern.elementsEqual("**".utf8) {
                    // At the end `**` means the items in the folder, and not the folder.
                    let least = place == patterns.endIndex - 1 ? 1 : 0
                    if let first = open.firstIndex(of: true) {
                        for count in min(first + least, names.count + 1)..<names.count + 1 { next[count] = true }
                    }
                } else {
                    for count in names.indices where open[count - names.startIndex] {
                        next[count - names.startIndex + 1] = Wildcard.matches(pattern[...], names[count][...])
                    }
                }
                open = next
            }
            return open[names.count]
        }
    }
}

/// Patterns for one name, by bytes: `*`, `?`, `[…]` and `\`.
enum Wildcard {
    /// Whether a pattern matches a whole name. Takes at most the product of both lengths.
    static func matches(_ pattern: ArraySlice<UInt8>, _ name: ArraySlice<UInt8>) -> Bool {
        var (rest, place) = (pattern, name.startIndex)
        // The pattern behind the last star, and the present end of the star's text.
        var star: (rest: ArraySlice<UInt8>, place: Int)?
        while place < name.endIndex || !rest.isEmpty {
            if rest.first == UInt8(ascii: "*") {
                rest = rest.drop { $0 == UInt8(ascii: "*") }
                star = (rest, place)
                continue
            }
            if place < name.endIndex, let behind = one(rest, name, &place) {
                rest = behind
                continue
            }
            guard let last = star, last.place < name.endIndex else { return false }
            star = (last.rest, last.place + 1)
            (rest, place) = (last.rest, last.place + 1)
        }
        return true
    }

    /// Matches one character of a name.
    /// - Returns: the pattern behind; `nil` without a match.
    private static func one(
        _ pattern: ArraySlice<UInt8>, _ name: ArraySlice<UInt8>, _ place: inout Int
    ) -> ArraySlice<UInt8>? {
        guard let first = pattern.first else { return nil }
        let byte = name[place]
        switch first {
        case UInt8(ascii: "?"):
            place += 1
            // All bytes of a UTF-8 character belong to the match.
            while place < name.endIndex, name[place] & 0xC0 == 0x80 { place += 1 }
            return pattern.dropFirst()
        case UInt8(ascii: "["):
            guard let (contains, behind) = set(pattern.dropFirst(), byte) else { break }
            guard contains else { return nil }
            place += 1
            return behind
        case UInt8(ascii: "\\") where pattern.count > 1:
            guard pattern[pattern.startIndex + 1] == byte else { return nil }
            place += 1
            return pattern.dropFirst(2)
        default: break
        }
        guard first == byte else { return nil }
        place += 1
        return pattern.dropFirst()
    }

    /// Reads a set of characters behind its bracket.
    /// - Returns: `nil` for a bracket without an end: the bracket means itself.
    private static func set(_ pattern: ArraySlice<UInt8>, _ byte: UInt8) -> (Bool, ArraySlice<UInt8>)? {
        var rest = pattern
        let isInverted = rest.first == UInt8(ascii: "!") || rest.first == UInt8(ascii: "^")
        if isInverted { rest = rest.dropFirst() }
        var (isFirst, contains) = (true, false)
        while let low = rest.first {
            if low == UInt8(ascii: "]"), !isFirst { return (contains != isInverted, rest.dropFirst()) }
            isFirst = false
            rest = rest.dropFirst()
            if rest.first == UInt8(ascii: "-"), let high = rest.dropFirst().first, high != UInt8(ascii: "]") {
                if low <= byte, byte <= high { contains = true }
                rest = rest.dropFirst(2)
            } else if low == byte {
                contains = true
            }
        }
        return nil
    }
}
