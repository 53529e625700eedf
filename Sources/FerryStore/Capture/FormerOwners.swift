import FerryCore
import FerrySchema

/// The owners of mapped keys at the beginning of a flush. Caches answers: a row's key is looked up for its own pending
/// changes and for every referring row.
final class FormerOwners {
    private final class Answers {
        /// Cached integer keys, by position in `owners`.
        @exclusivity(unchecked) var places = IntegerKeyMap()
        @exclusivity(unchecked) var owners: [ObjectID?] = []
        /// Cached keys of any further type.
        @exclusivity(unchecked) var others: [FieldValue: ObjectID?] = [:]

        func owner(of key: FieldValue) -> ObjectID?? {
            if case .integer(let integer) = key { return places.place(of: integer).map { owners[$0] } }
            return others[key]
        }

        func note(_ owner: ObjectID?, of key: FieldValue) {
            guard case .integer(let integer) = key else {
                others[key] = .some(owner)
                return
            }
            if places.insert(integer, at: owners.count) { owners.append(owner) }
        }
    }

    private let access: StoreAccess
    @exclusivity(unchecked) private var answers: [Int: Answers] = [:]
    /// The answers about the last table: most keys follow one of the same table.
    @exclusivity(unchecked) private var last: (table: Int, answers: Answers)?

    init(_ access: StoreAccess) { self.access = access }

    private func answers(of table: Int) -> Answers {
        if let last, last.table == table { return last.answers }
        let known = answers[table] ?? Answers()
        answers[table] = known
        last = (table, known)
        return known
    }

    /// The former owner of a key of a mapped table. After states are written, call only for keys neither given nor
    /// taken by the flush, or asked for before.
    func object(_ table: Int, _ key: FieldValue) throws -> ObjectID? {
        let answers = answers(of: table)
        if let known = answers.owner(of: key) { return known }
        let owner = try access.objects(of: table).object(forKey: key)
        answers.note(owner, of: key)
        return owner
    }

    /// The former or reserved key of an object.
    /// - Parameter key: the most likely key.
    func key(of object: ObjectID, _ table: TrackedTable, perhaps key: FieldValue) throws -> FieldValue? {
        if table.isIntegerKey, case .integer = key, let owner = answers(of: table.id).owner(of: key), owner == object {
            return key
        }
        return try access.objects(of: table.id).key(of: object)
    }
}
