import FerryCore
import FerrySchema

/// The owners of mapped keys at the beginning of a flush. Caches answers: a row's key is looked up for its own pending
/// changes and for every referring row.
final class FormerOwners {
    private struct Answers {
        /// Cached integer keys, by position in `owners`.
        var places = IntegerKeyMap()
        var owners: [ObjectID?] = []
        /// Cached keys of any further type.
        var others: [FieldValue: ObjectID?] = [:]
    }

    private let access: StoreAccess
    @exclusivity(unchecked) private var answers: [Int: Answers] = [:]

    init(_ access: StoreAccess) { self.access = access }

    /// The former owner of a key of a mapped table. After states are written, call only for keys neither given nor
    /// taken by the flush.
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

    /// The former or reserved key of an object.
    /// - Parameter key: the most likely key.
    func key(of object: ObjectID, _ table: TrackedTable, perhaps key: FieldValue) throws -> FieldValue? {
        if table.isIntegerKey, case .integer = key, let owner = known(table.id, key), owner == object { return key }
        return try access.objects(of: table.id).key(of: object)
    }
}
