import FerryCore

/// Holders of keys, by key. Integer keys, the common case, take a third of a dictionary's memory.
struct KeyHolders: ExpressibleByDictionaryLiteral {
    typealias Holder = (object: ObjectID, isGone: Bool)

    /// Integer keys, by position in `holders`.
    private var places = IntegerKeyMap()
    private var holders: [Holder?] = []
    /// Keys of any further type.
    private var others: [FieldValue: Holder] = [:]

    init(dictionaryLiteral elements: (FieldValue, Holder)...) {
        for (key, holder) in elements { self[key] = holder }
    }

    subscript(key: FieldValue) -> Holder? {
        get {
            guard case .integer(let integer) = key else { return others[key] }
            return places.place(of: integer).flatMap { holders[$0] }
        }
        set {
            guard case .integer(let integer) = key else {
                others[key] = newValue
                return
            }
            if let place = places.place(of: integer) {
                holders[place] = newValue
            } else if newValue != nil, places.insert(integer, at: holders.count) {
                holders.append(newValue)
            }
        }
    }
}
