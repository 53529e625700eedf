import FerryCore

/// Whose the keys of mapped tables were when a flush began. Remembers answers: one row's key is asked for by its own notes
/// and by those of all that refer to it.
final class FormerOwners {
    private struct Answers {
        /// Answers for integers, by their places.
        var places = IntegerKeyMap()
        var owners: [ObjectID?] = []
        /// Answers for other keys.
        var others: [FieldValue: ObjectID?] = [:]
    }

    private let access: StoreAccess
    @exclusivity(unchecked) private var answers: [Int: Answers] = [:]

    init(_ access: StoreAccess) { self.access = access }

    /// The object that a key of a mapped table belonged to. Once states are written, only for keys that nothing of the
    /// flush gives or takes.
    func object(_ table: Int, _ key: FieldValue) throws -> ObjectID? {
        if let known = known(table, key) { return known }
        let owner = try access.objects(of: table).object(forKey: key)
        if case .integer(let integer) = key {
            let place = answers[table]?.owners.count ?? 0
            if answers[table, default: Answers()].places.insert(integer, at: place) {
                answers[table]?.owners.append(owner)
            }
        } else {
            answers[table, default: Answers()].others[key] = .some(owner)
        }
        return owner
    }

    private func known(_ table: Int, _ key: FieldValue) -> ObjectID?? {
        guard let answers = answers[table] else { return nil }
        if case .integer(let integer) = key {
            return answers.places.place(of: integer).map { answers.owners[$0] }
        }
        return answers.others[key]
    }

    /// The key that an object had, or that was reserved for it.
    /// - Parameter key: the one that it most likely is.
    func key(of object: ObjectID, _ table: TrackedTable, perhaps key: FieldValue) throws -> FieldValue? {
        if table.isIntegerKey, case .integer = key, let owner = known(table.id, key), owner == object { return key }
        return try access.objects(of: table.id).key(of: object)
    }
}
