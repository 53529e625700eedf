import FerryCore
import Foundation

/// The registered text of an identity: JSON, because columns may have any name.
package enum IdentityText {
    private struct Form: Codable {
        var kind: String
        var columns: [String]
    }

    package static func format(_ identity: TableIdentity) -> String {
        let form: Form =
            switch identity {
            case .surrogate: Form(kind: "surrogate", columns: [])
            case .surrogateBy(let column): Form(kind: "surrogate", columns: [column])
            case .key(let columns): Form(kind: "key", columns: columns)
            case .declared(let columns): Form(kind: "declared", columns: columns)
            }
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        // Strings and arrays of strings always encode.
        guard let data = try? encoder.encode(form) else { preconditionFailure("an identity encodes as JSON") }
        return String(decoding: data, as: UTF8.self)
    }

    package static func parse(_ text: String) throws -> TableIdentity {
        let form: Form
        do {
            form = try JSONDecoder().decode(Form.self, from: Data(text.utf8))
        } catch {
            throw FerryError(.internalInconsistency, "The registry holds an unreadable identity.", cause: error)
        }
        switch form.kind {
        case "surrogate": return form.columns.first.map { .surrogateBy($0) } ?? .surrogate
        case "key": return .key(form.columns)
        case "declared": return .declared(form.columns)
        default: throw FerryError(.storeTooNew, "The registry holds an identity of a newer Ferry. Update Ferry.")
        }
    }
}

extension TableIdentity {
    /// The same identity with names in lower case, as SQLite compares names.
    package var folded: TableIdentity {
        switch self {
        case .surrogate: .surrogate
        case .surrogateBy(let column): .surrogateBy(foldedText(column))
        case .key(let columns): .key(columns.map(foldedText))
        case .declared(let columns): .declared(columns.map(foldedText))
        }
    }
}
