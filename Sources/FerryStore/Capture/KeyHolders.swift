import FerryCore

/// Holders of keys, by key. Integer keys, the common case, take a third of a dictionary's memory.
struct KeyHolders: ExpressibleByDictionaryLiteral {
    typealias Holder = (object: ObjectID, isGone: Bool)

    /// Integer keys, by position in `holders`.
    private var places = IntegerKeyMap()
    private var holders: [Holder?] = []
    /// Keys of any further type.
    private var others: [FieldValue: Holder] = [:]
    /// The objects that held a key before, the oldest first. Few keys change holders within a flush.
    private(set) var earlier: [FieldValue: [ObjectID]] = [:]

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
                let former = newValue.map { others.updateValue($0, forKey: key) } ?? others.removeValue(forKey: key)
                reportChange(of: key, from: former, to: newValue)
                return
            }
            if let place = places.place(of: integer) {
                reportChange(of: key, from: holders[place], to: newValue)
                holders[place] = newValue
            } else if newValue != nil, places.insert(integer, at: holders.count) {
                holders.append(newValue)
            }
        }
    }

    private mutating func reportChange(of key: FieldValue, from former: Holder?, to holder: Holder?) {
        guard let former, former.object != holder?.object else { return }
        earlier[key, default: []].append(former.object)
    }
}
