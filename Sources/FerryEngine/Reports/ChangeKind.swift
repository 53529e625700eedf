import FerryCore

/// What a change does to its row. The raw values are fixed: scripts rely on them.
public enum ChangeKind: String, Codable, Sendable {
    case insert
    case update
    case delete

    init(_ kind: ObjectOperation.Kind) {
        self =
            switch kind {
            case .insert: .insert
            case .update: .update
            case .delete: .delete
            }
    }
}
