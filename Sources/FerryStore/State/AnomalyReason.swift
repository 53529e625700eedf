import FerryCore
import Foundation

/// The reason an object is not shown as written: a kind and names, without words.
///
/// `ferry_exception` keeps reasons in this form. Whoever reports a reason words the reason (`AnomalyReason.sentence`).
struct AnomalyReason: Hashable {
    var kind: AnomalyKind
    /// What the kind is about:
    /// - `waiting`, `missing` and `clearedReference`: the columns of the reference.
    /// - `outranked` and `joined`: the columns or expressions of the UNIQUE index; empty for the key.
    /// - `refused`: as in `RefusalCause.names`.
    /// - `awaitingApp` and `outdated`: the part missing from SQLite for the object's table, or an empty name; then the
    ///   waiting tables on which the object depends.
    /// - Other kinds have no names.
    @ComparedByBytes var names: [String]

    init(_ kind: AnomalyKind, _ names: [String] = []) {
        self.kind = kind
        self.names = names
    }

    /// The columns or expressions that the reason is about.
    var columns: [String] {
        switch kind {
        case .waiting, .missing, .clearedReference, .outranked, .joined: names
        case .refused: if case .keylessRow(let terms) = RefusalCause(names: names) { terms } else { [] }
        case .heldBack, .joining, .resolvedKey, .awaitingApp, .outdated: []
        }
    }
}

/// The reason for rule 4 to hide an object.
enum RefusalCause: Equatable {
    /// SQLite's message.
    case schema(String)
    /// A row with a NULL in the key, which stays on this device, has the same UNIQUE value. The columns or expressions of the index.
    case keylessRow([String])
    /// A different row has the key.
    case takenKey
    /// The values that identify the row are not known.
    case unknownKey
    /// The table's key columns have another type here, and would store different values.
    case convertedKey
    /// The object's ID is not that of its key.
    case otherID

    /// SQLite's message; or an empty name, the case, and what the case is about.
    var names: [String] {
        switch self {
        case .schema(let message): [message]
        case .keylessRow(let terms): ["", "keylessRow"] + terms
        case .takenKey: ["", "takenKey"]
        case .unknownKey: ["", "unknownKey"]
        case .convertedKey: ["", "convertedKey"]
        case .otherID: ["", "otherID"]
        }
    }

    init(names: [String]) {
        let kind = names.count > 1 && names[0].isEmpty ? names[1] : nil
        switch kind {
        case "keylessRow": self = .keylessRow(Array(names.dropFirst(2)))
        case "takenKey": self = .takenKey
        case "unknownKey": self = .unknownKey
        case "convertedKey": self = .convertedKey
        case "otherID": self = .otherID
        default: self = .schema(names.first ?? "")
        }
    }
}

// MARK: In a table

extension AnomalyReason {
    /// Reads the columns `kind` and `reason` of `ferry_exception`.
    ///
    /// An earlier Ferry of the same version of the tables wrote an English sentence in place of the names.
    init(_ kind: AnomalyKind, stored text: String) {
        self.kind = kind
        let isList = text.hasPrefix("[")
        let list = isList ? try? JSONDecoder().decode([String].self, from: Data(text.utf8)) : nil
        // A text that is no list is a former sentence, whatever its first letter.
        names = list ?? Self.names(in: text, of: kind)
    }

    /// The column `reason` of `ferry_exception`: the names as a JSON array.
    var text: String { "[" + names.map(Self.quotedAsJSON).joined(separator: ",") + "]" }

    private static func quotedAsJSON(_ name: String) -> String {
        if name.utf8.allSatisfy({ $0 >= 0x20 && $0 != UInt8(ascii: "\"") && $0 != UInt8(ascii: "\\") }) {
            return "\"\(name)\""
        }
        var text = "\""
        for scalar in name.unicodeScalars {
            switch scalar {
            case "\"", "\\": text += "\\\(scalar)"
            case _ where scalar.value < 0x20:
                let digits = String(scalar.value, radix: 16)
                text += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            default: text.unicodeScalars.append(scalar)
            }
        }
        return text + "\""
    }

    /// The names in a sentence of an earlier Ferry.
    private static func names(in sentence: String, of kind: AnomalyKind) -> [String] {
        func list(_ names: Substring) -> [String] { names.split(separator: ", ").map(String.init) }
        switch kind {
        case .waiting, .missing, .clearedReference:
            return sentence.firstRange(of: " refers to a row").map { list(sentence[..<$0.lowerBound]) } ?? []
        case .outranked, .joined:
            let names = sentence.firstRange(of: " has the same ").map { list(sentence[$0.upperBound...]) } ?? []
            return names == ["key"] ? [] : names
        case .refused:
            switch sentence {
            case "its key is taken by another row": return RefusalCause.takenKey.names
            case "what identifies its row is not known": return RefusalCause.unknownKey.names
            default: return [sentence]
            }
        case .awaitingApp, .outdated:
            if let missing = sentence.firstRange(of: "its table uses what only the app has: ") {
                return [String(sentence[missing.upperBound...])]
            }
            guard let start = sentence.firstRange(of: "it depends on rows of ")?.upperBound,
                let end = sentence.firstRange(of: ", which wait")?.lowerBound, start < end
            else { return [] }
            return [""] + list(sentence[start..<end])
        case .heldBack, .joining, .resolvedKey: return []
        }
    }
}
