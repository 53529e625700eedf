import FerryCore

/// The owners of the mapped tables' keys, as of the pending change being read.
///
/// Knows only keys that the flush touched. Every other key has the owner of the last flush (`FormerOwners`).
///
/// Invariants, for each table:
/// - A key is held, freed, or neither; never both.
/// - A key is announced from `announce` until `fulfill`: some later pending change gives the key to an object.
/// - A reserved object is not unmade, and held its key at its reservation.
/// - A taken key keeps the meaning recorded first; a lost key has the meaning recorded last.
///
/// Contains no statement: a pure value.
struct KeyLedger {
    /// The rows' meaning of a key before a row took the key: a reference, or the plain value.
    struct TakenKey: Equatable {
        var meaning: FieldValue
        var time: HybridTime
    }

    /// A key that rows refer by to an object without a row.
    struct Reservation: Equatable {
        var table: Int
        var object: ObjectID
        var key: FieldValue
    }

    /// A key of an object made and unmade within the flush.
    struct UnmadeKey: Equatable {
        var key: FieldValue
        var object: ObjectID
        /// The time of unmaking.
        var time: HybridTime
    }

    private var holders: [Int: KeyHolders] = [:]
    private var freed: [Int: Set<FieldValue>] = [:]
    /// The former keys of the objects that will get a key, in the order in which they get it.
    private var announced: [Int: [FieldValue: [FieldValue]]] = [:]
    private var leftPlaceholders: [Int: Set<FieldValue>] = [:]
    private var unmadeObjects: Set<ObjectID> = []
    private var unmade: [Int: [UnmadeKey]] = [:]
    private var reserving: Set<ObjectID> = []
    private(set) var reservations: [Reservation] = []
    private var taken: [Int: [FieldValue: TakenKey]] = [:]
    private var lost: [Int: [FieldValue: FieldValue]] = [:]

    // MARK: Holding

    /// The object with a key, present or gone; `nil` for a key that the flush did not touch or freed.
    func holder(of key: FieldValue, in table: Int) -> KeyHolders.Holder? { holders[table]?[key] }

    /// The objects that held a key before its present holder, the oldest first.
    func earlierHolders(of key: FieldValue, in table: Int) -> [ObjectID] { holders[table]?.earlier[key] ?? [] }

    /// True if a key has no owner: its object has a different key now.
    func isFree(_ key: FieldValue, in table: Int) -> Bool { freed[table]?.contains(key) ?? false }

    /// Gives a key to an object.
    /// - Parameter isGone: true if the object's row is gone, and the key still means the object.
    mutating func hold(_ key: FieldValue, in table: Int, by object: ObjectID, isGone: Bool = false) {
        holders[table, default: [:]][key] = (object, isGone)
        freed[table]?.remove(key)
    }

    /// Takes a key from its owner.
    mutating func free(_ key: FieldValue, in table: Int) {
        holders[table]?[key] = nil
        freed[table, default: []].insert(key)
    }

    // MARK: Keys to come

    /// Announces that a later pending change gives a key to the object with the key `former`. ON UPDATE CASCADE records
    /// the children's change before the parent's, so children mention a key nobody has yet.
    mutating func announce(_ key: FieldValue, in table: Int, for former: FieldValue) {
        announced[table, default: [:]][key, default: []].append(former)
    }

    /// The present key of the object that the next pending change of a key gives the key to; `nil` for a key not announced.
    func announcement(of key: FieldValue, in table: Int) -> FieldValue? {
        announced[table]?[key]?.first.flatMap { $0 == key ? nil : $0 }
    }

    /// Ends a key's first announcement: its pending change is read.
    mutating func fulfill(_ key: FieldValue, in table: Int) {
        guard var formers = announced[table]?[key] else { return }
        formers.removeFirst()
        announced[table]?[key] = formers.isEmpty ? nil : formers
    }

    // MARK: Objects without a row

    /// True if an object was made and unmade within the flush: nobody knows the object.
    func isUnmade(_ object: ObjectID) -> Bool { unmadeObjects.contains(object) }

    /// Records that an object made in the flush is unmade.
    mutating func unmake(_ object: ObjectID) { unmadeObjects.insert(object) }

    /// Records the keys of an unmade object, because rows may refer by them.
    mutating func recordUnmade(_ keys: [FieldValue], in table: Int, of object: ObjectID, at time: HybridTime) {
        unmade[table, default: []] += keys.map { UnmadeKey(key: $0, object: object, time: time) }
    }

    /// The recorded keys of unmade objects, by ascending table.
    var unmadeKeys: [(table: Int, keys: [UnmadeKey])] { unmade.sorted { $0.key < $1.key }.map { ($0.key, $0.value) } }

    /// Reserves a key for an object that rows refer to. An unmade object is made again.
    mutating func reserve(_ key: FieldValue, in table: Int, for object: ObjectID) {
        unmadeObjects.remove(object)
        hold(key, in: table, by: object)
        reservations.append(Reservation(table: table, object: object, key: key))
        reserving.insert(object)
    }

    /// True if the flush reserved a key for an object, whatever became of the reservation.
    func hasReserved(_ object: ObjectID) -> Bool { reserving.contains(object) }

    /// Forgets reservations.
    mutating func removeReservations(where isSettled: (Reservation) -> Bool) {
        reservations.removeAll(where: isSettled)
    }

    /// Records a placeholder key whose object got a row under another key. Rows may still refer by the placeholder.
    mutating func leavePlaceholder(_ key: FieldValue, in table: Int) {
        leftPlaceholders[table, default: []].insert(key)
    }

    func isLeftPlaceholder(_ key: FieldValue, in table: Int) -> Bool { leftPlaceholders[table]?.contains(key) ?? false }

    // MARK: Keys with another meaning

    /// Records a key taken by a row, with the former meaning for referring rows. The first record of a key counts.
    mutating func take(_ key: FieldValue, in table: Int, from former: TakenKey) {
        if taken[table]?[key] == nil { taken[table, default: [:]][key] = former }
    }

    func isTaken(_ key: FieldValue, in table: Int) -> Bool { taken[table]?[key] != nil }

    /// The taken keys of a table, in ascending order.
    func takenKeys(in table: Int) -> [(key: FieldValue, former: TakenKey)] {
        (taken[table] ?? [:]).sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
    }

    /// The tables with taken keys, ascending.
    var tablesWithTakenKeys: [Int] { taken.keys.sorted() }

    /// Records a key without an owner that rows still refer by, with its meaning.
    mutating func lose(_ key: FieldValue, in table: Int, meaning: FieldValue) {
        lost[table, default: [:]][key] = meaning
    }

    /// The meaning of a lost key; `nil` for a key not lost.
    func lostMeaning(of key: FieldValue, in table: Int) -> FieldValue? { lost[table]?[key] }

    var tablesWithLostKeys: Set<Int> { Set(lost.keys) }
}
