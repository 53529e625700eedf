import FerryCore
import FerryMerge

/// Keeps placeholder keys apart from integers that apps write themselves.
///
/// A plain value travels as the integer. So a placeholder key that equals the value gives way: rows that refer by the
/// placeholder get another.
struct PlaceholderRoom {
    private let access: StoreAccess

    init(_ access: StoreAccess) { self.access = access }

    /// Integers below are never placeholder keys. Counting down takes thousands of years to get there.
    private static let lowest: Int64 = -(1 << 52)

    /// True if a value may equal a placeholder key, now or later.
    static func concerns(_ value: FieldValue) -> Bool {
        if case .integer(let integer) = value {
            integer <= KeyReservations.firstStandIn && integer > lowest
        } else {
            false
        }
    }

    /// Makes later placeholder keys smaller than a value of an app's.
    func avoid(_ value: FieldValue) throws {
        guard Self.concerns(value), case .integer(let integer) = value else { return }
        if try access.meta.integer(.standIn).map({ $0 <= integer }) ?? false { return }
        try access.meta.set(.standIn, integer)
    }

    /// Makes room for a plain value in a referring column of an arriving row.
    /// - Returns: the objects whose rows the schema refuses under another placeholder; the rules decide about them.
    func make(for value: FieldValue, in column: TrackedColumn) throws -> [TouchedObject] {
        guard Self.concerns(value), column.isUnchecked, let parent = column.reference else { return [] }
        try avoid(value)
        let table = access.registry[parent]
        let states = access.objects(of: parent)
        guard let object = try states.object(forKey: value) else { return [] }
        var state = try states.load(object)
        guard !state.shown.hasRow, KeyReservations.isStandIn(value, for: object) else { return [] }
        state.key = []
        try states.save(state)
        let reservations = KeyReservations(access)
        let key = try reservations.key(of: object, in: table)
        return try reservations.moveReferences(to: object, in: table, from: value, to: key).map { move in
            TouchedObject(
                table: move.row.table, object: move.row.id, columns: [move.column], isDeleted: false, needsRules: true,
                key: move.key)
        }
    }
}
