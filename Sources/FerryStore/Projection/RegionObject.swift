import FerryCore
import FerryMerge
import FerrySchema

/// An object of a region: state, row, and their meaning for the rules.
///
/// A region may have a hundred thousand objects. So the parts of an object are stored packed, in an eighth of the
/// memory, and unpacked at each access. Keep a value needed more than once in a variable.
///
/// Invariants:
/// - `facts` never changes.
/// - Either `rest.states` has the state, or `packedState` has; `rest.states` takes precedence.
/// - `others` is empty unless the object is its own representative.
final class RegionObject {
    let token: RowToken
    /// The position in the region.
    let place: Int
    let table: TrackedTable
    /// True if the object has a row at present.
    let hasRow: Bool
    /// True if the objects referring to the row were added, because the row changes its meaning or values.
    var followsRow = false
    /// Values, row, references, claims and parent keys (`Facts`).
    private let facts: [UInt8]
    private var packedState: [UInt8]
    /// Parts only few objects have.
    private var rest: Rest?
    /// The claims of the object or its row during the present solving, by values other than its own.
    private(set) var passingClaims: [RowToken] = []
    /// The further objects shown by this object's row before the solving.
    var formerMembers: [ObjectID] = []
    var outcome = RowOutcome.gone
    /// The further objects shown by this object's row, oldest first. (Without itself: a cycle would never be freed.)
    var others: [RegionObject] = []
    /// The object whose row shows this object; `nil` if hidden. All objects of a region live as long as the region.
    unowned var representative: RegionObject?

    private final class Rest {
        /// A state with more parts than a packed state has: empty, or a single state.
        var states: [ObjectState] = []
        var holders: [RowToken] = []
        var refusal: RefusalCause?
    }

    /// Values of an object, and their meaning for the rules. Packed by the object, and never changed.
    struct Content {
        /// The present row's portable values; `nil` without a row.
        var row: ColumnValues?
        /// The object's own values.
        var values: ColumnValues = [:]
        var references: [(foreignKey: Int, token: RowToken)] = []
        var claims: [RuleClaim] = []
        var parentKeys: [RowToken] = []
        /// Claims and parent keys of the row, if the row shows other values than the object's own.
        var formerTokens: [RowToken] = []
    }

    init(_ token: RowToken, _ table: TrackedTable, _ state: ObjectState, _ content: Content, place: Int) {
        self.token = token
        self.place = place
        self.table = table
        hasRow = content.row != nil
        facts = Facts.pack(UniqueClaims.Owner(state), content)
        packedState = []
        self.state = state
    }

    private func changeRest(_ body: (Rest) -> Void) {
        let rest = rest ?? Rest()
        body(rest)
        self.rest = rest
    }

    // MARK: Content

    var state: ObjectState {
        get {
            if let state = rest?.states.first { return state }
            return PackedState.unpack(packedState, token.id) { values }
        }
        set {
            guard let packed = PackedState.pack(newValue, values: newValue.kept.fields.isEmpty ? [:] : values) else {
                changeRest { $0.states = [newValue] }
                return
            }
            packedState = packed
            if let rest { rest.states = [] }
        }
    }

    /// The state's values: the row's values, overlaid with shadow values.
    var values: ColumnValues { Facts.values(facts, width: table.columns.count) }

    /// The present row's portable values; `nil` without a row.
    var row: ColumnValues? { hasRow ? Facts.otherRow(facts, width: table.columns.count) ?? values : nil }

    /// The owner of the object's UNIQUE claims.
    var owner: UniqueClaims.Owner { .init(token.id, key: Facts.ownersKey(facts)) }

    var references: [(foreignKey: Int, token: RowToken)] { Facts.references(facts) }

    /// The claims of the object's own values.
    var claims: [RuleClaim] { Facts.claims(facts) }

    /// The parent keys on columns outside the primary key.
    var parentKeys: [RowToken] { Facts.parentKeys(facts) }

    /// Parent keys and claims of the present row, without those of the state's values.
    var formerTokens: [RowToken] { Facts.formerTokens(facts) }

    /// Records claims of the present solving. Claims of the object's own values need no record.
    func pass(_ claims: [RuleClaim]) {
        let own = self.claims
        for claim in claims where claim.token != passingClaims.last && !own.contains(where: { $0.token == claim.token })
        {
            passingClaims.append(claim.token)
            // Removes duplicates at each power of two.
            let count = passingClaims.count
            if count >= 8, count & (count - 1) == 0 { passingClaims = Array(Set(passingClaims)) }
        }
    }

    func forgetPassingClaims() { if !passingClaims.isEmpty { passingClaims = [] } }

    // MARK: Rare properties

    /// Objects retaining this object by RESTRICT; read if this object is deleted and has a row.
    var holders: [RowToken] {
        get { rest?.holders ?? [] }
        set { if rest != nil || !newValue.isEmpty { changeRest { $0.holders = newValue } } }
    }

    var refusal: RefusalCause? {
        get { rest?.refusal }
        set { if rest != nil || newValue != nil { changeRest { $0.refusal = newValue } } }
    }

    // MARK: Outcome

    /// The objects shown by this object's row, including itself, oldest first; empty without a row.
    var members: [RegionObject] { isShown ? [self] + others : [] }

    /// True if the object has its own row.
    var isShown: Bool { representative === self }

    /// True if the row of an older object shows this object.
    var isJoined: Bool { representative != nil && representative !== self }

    /// The references shown cleared, as positions in `references`.
    var cleared: [Int] { if case .shown(let cleared, _) = outcome { cleared } else { [] } }

    var isRevived: Bool { if case .shown(_, let isRevived) = outcome { isRevived } else { false } }

    /// The columns shown as NULL or as their default, with the foreign key's action.
    var clearedColumns: [Int: ForeignKeyAction] {
        let cleared = cleared
        if cleared.isEmpty { return [:] }
        var columns: [Int: ForeignKeyAction] = [:]
        let references = references
        for place in cleared {
            let key = table.foreignKeys[references[place].foreignKey]
            for column in key.columns { columns[column] = key.action }
        }
        return columns
    }

    /// The object as seen by the rules.
    func ruleObject(isHeldFromOutside: Bool) -> RuleObject {
        let registers = state.registers
        return RuleObject(
            token: token, isAlive: registers.isAlive, isRestorable: registers.inserted != nil,
            inserted: registers.inserted ?? Stamp(time: .latest, device: DeviceID(high: 0, low: 0)),
            deleted: registers.deleted, parentKeys: parentKeys,
            references: references.map { place, target in
                let action: ReferenceAction =
                    switch table.foreignKeys[place].action {
                    case .restrict: .restrict
                    case .cascade: .cascade
                    case .setNull, .setDefault: .clear
                    case .none: .none
                    }
                return RuleReference(target: target, action: action)
            }, isHeldFromOutside: isHeldFromOutside, isRefused: refusal != nil)
    }
}

/// The unchanging parts of a region's object in a single array: the offsets of five parts, then the parts.
private enum Facts {
    /// The parts in their order. The values come before them, at `partsStart`.
    private enum Part: Int, CaseIterable { case owner, otherRow, references, claims, tokens }

    private static let partsStart = 4 * Part.allCases.count

    static func pack(_ owner: UniqueClaims.Owner, _ content: RegionObject.Content) -> [UInt8] {
        var writer = PackedWriter(reservingCapacity: 128)
        var places: [Int] = []
        writer.write(content.values)
        places.append(writer.bytes.count)
        writer.write(owner.key == nil ? 0 : 1)
        if let key = owner.key { writer.write(key) }
        places.append(writer.bytes.count)
        let otherRow = content.row == content.values ? nil : content.row
        writer.write(otherRow == nil ? 0 : 1)
        if let otherRow { writer.write(otherRow) }
        places.append(writer.bytes.count)
        writer.write(each: content.references) {
            $0.write(varint: $1.foreignKey)
            $0.write($1.token)
        }
        places.append(writer.bytes.count)
        writer.write(each: content.claims) {
            $0.write($1.hidesLosers ? 1 : 0)
            $0.write(varint: $1.index ?? -1)
            $0.write($1.token)
        }
        places.append(writer.bytes.count)
        writer.write(each: content.parentKeys) { $0.write($1) }
        writer.write(each: content.formerTokens) { $0.write($1) }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(partsStart + writer.bytes.count)
        for place in places {
            let place = UInt32(partsStart + place)
            for shift in [0, 8, 16, 24] as [UInt32] { bytes.append(UInt8(truncatingIfNeeded: place >> shift)) }
        }
        bytes += writer.bytes
        return bytes
    }

    private static func reader(_ bytes: [UInt8], _ part: Part) -> PackedReader {
        var place: UInt32 = 0
        for index in 0..<4 { place |= UInt32(bytes[4 * part.rawValue + index]) << UInt32(8 * index) }
        return PackedReader(bytes, at: Int(place))
    }

    static func values(_ bytes: [UInt8], width: Int) -> ColumnValues {
        var reader = PackedReader(bytes, at: partsStart)
        return reader.values(width: width)
    }

    static func ownersKey(_ bytes: [UInt8]) -> FieldValue? {
        var reader = reader(bytes, .owner)
        return reader.byte() == 0 ? nil : reader.value()
    }

    static func otherRow(_ bytes: [UInt8], width: Int) -> ColumnValues? {
        var reader = reader(bytes, .otherRow)
        return reader.byte() == 0 ? nil : reader.values(width: width)
    }

    static func references(_ bytes: [UInt8]) -> [(foreignKey: Int, token: RowToken)] {
        var reader = reader(bytes, .references)
        return reader.list { ($0.varint(), $0.token()) }
    }

    static func claims(_ bytes: [UInt8]) -> [RuleClaim] {
        var reader = reader(bytes, .claims)
        return reader.list { reader in
            let hidesLosers = reader.byte() == 1
            let index = reader.varint()
            return RuleClaim(token: reader.token(), index: index < 0 ? nil : index, hidesLosers: hidesLosers)
        }
    }

    static func parentKeys(_ bytes: [UInt8]) -> [RowToken] {
        var reader = reader(bytes, .tokens)
        return reader.list { $0.token() }
    }

    static func formerTokens(_ bytes: [UInt8]) -> [RowToken] {
        var reader = reader(bytes, .tokens)
        _ = reader.list { $0.token() }
        return reader.list { $0.token() }
    }
}

/// The state of an object in the common case, in a single array.
private enum PackedState {
    private struct Flags: OptionSet {
        let rawValue: UInt16
        static let inserted = Flags(rawValue: 1)
        static let deleted = Flags(rawValue: 2)
        /// The insertion wrote all fields with a stamp, and no fields follow them.
        static let plainFields = Flags(rawValue: 4)
        static let keptFields = Flags(rawValue: 8)
        /// The shadow values equal the object's values.
        static let keepsValues = Flags(rawValue: 16)
        static let keptKey = Flags(rawValue: 32)
        static let givenKey = Flags(rawValue: 64)
        /// The given key is the object's own key.
        static let ownKeyGiven = Flags(rawValue: 128)
        static let stored = Flags(rawValue: 256)
        static let deletionWins = Flags(rawValue: 512)
    }

    /// - Parameter values: the object's values; read only if the state has shadow values.
    /// - Returns: `nil` if the state has registers of a policy, or deletions before the newest deletion.
    static func pack(_ state: ObjectState, values: @autoclosure () -> ColumnValues) -> [UInt8]? {
        let registers = state.registers
        guard state.policies.isEmpty, registers.earlierDeletions.isEmpty else { return nil }
        var flags: Flags = []
        if registers.inserted != nil { flags.insert(.inserted) }
        if registers.deleted != nil { flags.insert(.deleted) }
        if registers.deletionWins { flags.insert(.deletionWins) }
        if let inserted = registers.inserted, registers.fields.allSatisfy({ $0 == inserted }) {
            flags.insert(.plainFields)
        }
        if !state.kept.fields.isEmpty {
            flags.insert(.keptFields)
            if state.kept.fields == values() { flags.insert(.keepsValues) }
        }
        if state.kept.key != nil { flags.insert(.keptKey) }
        if state.givenKey != nil { flags.insert(state.givenKey == state.ownKey ? .ownKeyGiven : .givenKey) }
        if state.isStored { flags.insert(.stored) }
        var writer = PackedWriter(reservingCapacity: 80)
        writer.write(varint: Int(flags.rawValue))
        writer.write(UInt8(state.shown.rawValue))
        writer.write(each: state.key) { $0.write($1) }
        if let inserted = registers.inserted { writer.write(inserted) }
        if let deleted = registers.deleted { writer.write(deleted) }
        writer.write(varint: registers.fields.count)
        if !flags.contains(.plainFields) {
            for stamp in registers.fields {
                writer.write(stamp == nil ? 0 : stamp == registers.inserted ? 1 : 2)
                if let stamp, stamp != registers.inserted { writer.write(stamp) }
            }
        }
        if flags.contains(.keptFields), !flags.contains(.keepsValues) { writer.write(state.kept.fields) }
        if let key = state.kept.key { writer.write(key) }
        if flags.contains(.givenKey), let key = state.givenKey { writer.write(key) }
        writer.write(word: state.check)
        writer.write(word: state.storedCheck)
        return writer.exactBytes
    }

    /// - Parameter values: the object's values, if the state has them as shadow values.
    static func unpack(_ bytes: [UInt8], _ object: ObjectID, values: () -> ColumnValues) -> ObjectState {
        var reader = PackedReader(bytes)
        let flags = Flags(rawValue: UInt16(reader.varint()))
        var state = ObjectState(object: object)
        state.shown = Visibility(rawValue: Int(reader.byte())) ?? .none
        state.key = reader.list { $0.value() }
        let inserted = flags.contains(.inserted) ? reader.stamp() : nil
        let deleted = flags.contains(.deleted) ? reader.stamp() : nil
        let count = reader.varint()
        var fields = Array(repeating: flags.contains(.plainFields) ? inserted : nil, count: count)
        if !flags.contains(.plainFields) {
            for column in fields.indices {
                switch reader.byte() {
                case 1: fields[column] = inserted
                case 2: fields[column] = reader.stamp()
                default: break
                }
            }
        }
        state.registers = ObjectRegisters(inserted: inserted, deleted: deleted, fields: fields)
        state.registers.deletionWins = flags.contains(.deletionWins)
        if flags.contains(.keepsValues) {
            state.kept.fields = values()
        } else if flags.contains(.keptFields) {
            state.kept.fields = reader.values(width: count)
        }
        if flags.contains(.keptKey) { state.kept.key = reader.value() }
        state.isStored = flags.contains(.stored)
        if flags.contains(.givenKey) { state.givenKey = reader.value() }
        if flags.contains(.ownKeyGiven) { state.givenKey = state.ownKey }
        state.check = reader.word()
        state.storedCheck = reader.word()
        return state
    }
}
