/// Names as a sentence lists them: `a`, `a and b`, `a, b and c`; empty without any.
package func listed(_ names: [String]) -> String {
    guard let last = names.last, names.count > 1 else { return names.first ?? "" }
    return names.dropLast().joined(separator: ", ") + " and " + last
}
