import FerryCore
import FerryMirror

/// The input is the length of the ignore file (2 bytes, least significant first), the file, and a path.
func checkIgnoreRules(_ input: [UInt8]) throws {
    guard input.count > 2 else { throw Nothing() }
    let length = min(Int(input[0]) | Int(input[1]) << 8, input.count - 2)
    let text = String(decoding: input[2..<2 + length], as: UTF8.self)
    let path = DiskPath(String(decoding: input[(2 + length)...], as: UTF8.self))
    let rules = IgnoreRules(text)
    // A folder that is ignored takes everything along.
    let names = path.text.utf8.split(separator: UInt8(ascii: "/")).map { String(decoding: $0, as: UTF8.self) }
    for isFolder in [false, true] {
        var (place, isIgnored) = (DiskPath.top, false)
        for (number, name) in names.enumerated() {
            place = place.appending(name)
            let isLast = number == names.count - 1
            isIgnored = isIgnored || rules.ignoresHere(place, isFolder: !isLast || isFolder)
        }
        try require(rules.ignores(path, isFolder: isFolder) == isIgnored, "a path and its folders differ")
    }
    try require(IgnoreRules(text + "\n# a comment\n\n") == rules, "a comment is a rule")
    try require(IgnoreRules("") == .builtIn, "no file is another one than an empty one")
    if rules == .builtIn || names.isEmpty { throw Nothing() }
}
