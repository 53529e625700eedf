extension AnomalyReason {
    /// The reason in English, as the end of a report's line.
    var sentence: String {
        let list = names.joined(separator: ", ")
        switch kind {
        case .waiting: return "\(list) refers to a row that is not there"
        case .missing: return "\(list) refers to a row that this device does not know"
        case .clearedReference: return "\(list) refers to a row that is gone"
        case .outranked: return "an older row has the same \(names.isEmpty ? "key" : list)"
        case .joined: return "one row with an older one that has the same \(names.isEmpty ? "key" : list)"
        case .refused:
            switch RefusalCause(names: names) {
            case .schema(let message): return message
            case .keylessRow(let terms):
                return
                    "a row with NULL in its key, which stays on this device, has the same \(terms.joined(separator: ", "))"
            case .takenKey: return "its key is taken by another row"
            case .unknownKey: return "what identifies its row is not known"
            case .convertedKey:
                return
                    "the key's column would store another value here; the row is shown once both devices have one schema"
            case .otherID: return "it has the ID of another key: a device with another schema wrote it, or no Ferry"
            }
        case .heldBack: return "deleted, but other rows still refer to it"
        case .joining: return "shows further rows"
        case .resolvedKey: return "it refers to a row that is one with an older one"
        case .awaitingApp, .outdated:
            if let missing = names.first, !missing.isEmpty { return "its table uses what only the app has: \(missing)" }
            let tables = names.dropFirst().joined(separator: ", ")
            return "it depends on rows of \(tables), which wait for the app"
        }
    }
}
