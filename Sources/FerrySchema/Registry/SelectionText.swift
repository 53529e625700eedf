import FerryCore
import Foundation

/// The stored text of a selection: JSON.
package enum SelectionText {
    private struct Form: Codable {
        var only: [String]?
        var except: [String]
        var awaited: [String]?
        var identities: [String: [String]]
        var references: [UndeclaredReference]?
        var travelling: [String]?
        var movedKeys: [String: String]?
        var keyCollations: [String: [String]]?
        var identityColumns: [String: [String]]?
    }

    package static func format(_ selection: TableSelection) throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        let form = Form(
            only: selection.only, except: selection.except,
            awaited: selection.awaited.isEmpty ? nil : selection.awaited, identities: selection.declaredIdentities,
            references: selection.references, travelling: selection.travelling,
            movedKeys: selection.movedKeys.isEmpty ? nil : selection.movedKeys,
            keyCollations: selection.keyCollations.isEmpty ? nil : selection.keyCollations,
            identityColumns: selection.identityColumns.isEmpty ? nil : selection.identityColumns)
        return String(decoding: try encoder.encode(form), as: UTF8.self)
    }

    package static func parse(_ text: String) throws -> TableSelection {
        let form = try JSONDecoder().decode(Form.self, from: Data(text.utf8))
        var selection = TableSelection(
            only: form.only, except: form.except, declaredIdentities: form.identities,
            references: form.references ?? [])
        selection.awaited = form.awaited ?? []
        selection.travelling = form.travelling ?? []
        selection.movedKeys = form.movedKeys?.byExactKeys ?? [:]
        selection.keyCollations = form.keyCollations?.byNameKeys ?? [:]
        selection.identityColumns = form.identityColumns?.byNameKeys ?? [:]
        return selection
    }
}
