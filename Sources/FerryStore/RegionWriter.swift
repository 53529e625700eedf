import FerryCore
import FerryMerge

/// Writes the rows, states and exceptions of a solved region.
struct RegionWriter {
    let access: StoreAccess
    let region: RuleRegion
    private var connection: SQLConnection { access.connection }

    init(_ access: StoreAccess, _ region: RuleRegion) {
        self.access = access
        self.region = region
    }

    /// SQLite refused the row of an object: rule 4.
    struct Refused: Error {
        var token: RowToken
        var reason: String
    }

    /// - Returns: the number of rows written.
    func write() throws -> Int {
        var written = 0
        var insertions: [RegionObject] = []
        for object in region.objects where object.row != nil && !object.isShown {
            try delete(object)
            written += 1
        }
        // Who gets a row gets its key first, so that references to it can be written.
        // Integer keys come before keys that are made of them.
        let appearing = region.objects.filter { $0.isShown && $0.row == nil }
        var moves: [(object: RegionObject, former: FieldValue)] = []
        for object in appearing where object.table.isMapped {
            if let former = try assignKey(object) { moves.append((object, former)) }
        }
        for object in appearing where !object.table.isMapped { try assignKey(object) }
        insertions += appearing
        for object in region.objects where object.isShown && object.row != nil {
            let changes = try differences(object)
            if changes.isEmpty { continue }
            written += 1
            guard let refusal = try access.writer(of: object.table.id).update(key: object.state.key, changes) else {
                if !object.table.isMapped { try assignKey(object) }
                continue
            }
            if !refusal.isTakenValue { throw refused(object, refusal) }
            // The value is still held by a row that is about to let go of it: written anew after all have let go.
            if let failure = try access.writer(of: object.table.id).delete(key: object.state.key) {
                throw refused(object, failure)
            }
            insertions.append(object)
        }
        // Oldest first: where two claim what the rules could not see, the oldest keeps it.
        for object in insertions.sorted(by: isOlder) {
            try insert(object)
            written += 1
        }
        for (object, former) in moves {
            guard let key = object.state.key.first else { continue }
            try KeyReservations(access).moveReferences(to: object.token.id, in: object.table, from: former, to: key)
        }
        for object in region.objects { try record(object) }
        return written
    }

    private func isOlder(_ left: RegionObject, _ right: RegionObject) -> Bool {
        let (a, b) = (left.state.registers.inserted, right.state.registers.inserted)
        if a != b, let a, let b { return a < b }
        return left.token.id < right.token.id
    }

    private func refused(_ object: RegionObject, _ refusal: RowWriter.Refusal) -> Refused {
        Refused(token: object.token, reason: refusal.message)
    }

    private func delete(_ object: RegionObject) throws {
        if let refusal = try access.writer(of: object.table.id).delete(key: object.state.key) {
            throw FerryError(
                .database, "A row of \(object.table.name) cannot be removed: \(refusal.message). A trigger forbids it.")
        }
        guard object.table.isMapped, let key = object.state.key.first else { return }
        // Its key is free for others from now on, unless rows refer to it all the same.
        object.state.kept.key = key
        if try !KeyReservations(access).isInUse(key, of: object.table) { object.state.key = [] }
        object.state.shown = .none
        try access.objects(of: object.table.id).save(object.state)
    }

    /// - Returns: the stand-in by which rows outside of the region may refer to it.
    @discardableResult
    private func assignKey(_ object: RegionObject) throws -> FieldValue? {
        if object.table.isMapped {
            guard let (key, former) = try KeyReservations(access).keyForRow(of: object.state, in: object.table) else {
                throw Refused(token: object.token, reason: "its key is taken by another row")
            }
            object.state.key = [key]
            // Saved at once: the next allocation must see it, and references look it up.
            object.state.shown = .row
            try access.objects(of: object.table.id).save(object.state)
            return former
        }
        object.state.key = try object.table.keyColumnIDs.map { column in
            try displayed(object.values[column] ?? .null, column, object) ?? .null
        }
        return nil
    }

    /// A value as the row shows it; `nil` where the row leaves it out (unknown: the default applies).
    private func displayed(_ value: FieldValue?, _ column: Int, _ object: RegionObject) throws -> FieldValue? {
        guard let value else { return nil }
        if let action = object.clearedColumns[column] { return try cleared(action, column, object.table) }
        guard case .reference(let target) = value else { return value }
        guard let parent = object.table.columns[column].reference else { return .null }
        let member = region[RowToken(table: parent, id: target)]
        if object.table.columns[column].isUnchecked {
            let key = try member?.state.key.first ?? KeyReservations(access).key(of: target, in: access.registry[parent])
            member?.state.key = [key]
            return key
        }
        if let member { return member.state.key.first ?? .null }
        return try access.objects(of: parent).place(of: target)?.key ?? .null
    }

    /// What SET NULL or SET DEFAULT shows. A default that refers to a row that is not there shows NULL.
    private func cleared(_ action: ForeignKeyAction, _ column: Int, _ table: TrackedTable) throws -> FieldValue {
        guard action == .setDefault, let value = try defaultValue(column, table),
            let key = table.foreignKeys.first(where: { $0.columns == [column] })
        else { return .null }
        let parent = access.registry[key.parent]
        // Of the region's rows some are not written yet.
        if let token = defaultTarget(value, key), let member = region[token] { return member.isShown ? value : .null }
        let isThere = try connection.count(
            "SELECT EXISTS(SELECT 1 FROM \(quoted(parent.name)) WHERE \(parent.keyCondition(first: 1)))", value)
        return isThere != 0 ? value : .null
    }

    private func defaultValue(_ column: Int, _ table: TrackedTable) throws -> FieldValue? {
        guard let sql = table.columns[column].defaultSQL else { return nil }
        let value = try connection.firstValue("SELECT \(sql)")
        return value == .null ? nil : value
    }

    /// The object that a default refers to; `nil` where its key is an integer of this device's.
    private func defaultTarget(_ value: FieldValue, _ key: TrackedForeignKey) -> RowToken? {
        guard case .key = key.target else { return nil }
        return RowToken(table: key.parent, id: access.registry[key.parent].derivedID([value]))
    }

    /// What an object's row shows or would show as defaults: when such a target comes, the row changes.
    private func defaultTargets(_ object: RegionObject) throws -> [RowToken] {
        try object.clearedColumns.compactMap { column, action in
            guard action == .setDefault, let value = try defaultValue(column, object.table),
                let key = object.table.foreignKeys.first(where: { $0.columns == [column] })
            else { return nil }
            return defaultTarget(value, key)
        }
    }

    private func rowValues(_ object: RegionObject) throws -> [(column: Int, value: FieldValue)] {
        var values: [(column: Int, value: FieldValue)] = []
        for column in object.table.localColumns {
            if let value = try displayed(object.values[column.id], column.id, object) {
                values.append((column.id, value))
            }
        }
        return values
    }

    /// Columns whose present row shows something else than it should.
    private func differences(_ object: RegionObject) throws -> [(column: Int, value: FieldValue)] {
        let present = try access.reader(of: object.table.id).read(object.state.key) ?? [:]
        return try rowValues(object).filter { present[$0.column] != $0.value }
    }

    private func insert(_ object: RegionObject) throws {
        let key = object.table.isMapped ? object.state.key.first : nil
        if let refusal = try access.writer(of: object.table.id).insert(key: key, rowValues(object)) {
            throw refused(object, refusal)
        }
    }

    // MARK: State and exceptions

    private func record(_ object: RegionObject) throws {
        var state = object.state
        let isExceptional: Bool
        if object.isShown {
            // The row shows the values now; kept are those it clears and those of columns it does not have.
            let cleared = object.clearedColumns
            isExceptional = !cleared.isEmpty || object.isRevived
            var kept = KeptValues()
            for (column, value) in object.values where cleared[column] != nil || !object.table.columns[column].isLocal {
                kept.fields[column] = value
            }
            kept.fields = kept.fields.overlaid(with: try KeyReservations(access).misleading(object.values, object.table))
            state.kept = kept
            state.shown = isExceptional ? .exceptionalRow : .row
        } else {
            if object.row != nil {
                state.kept.fields = object.values
                if object.table.isMapped, let key = state.key.first { state.kept.key = key }
            }
            // What is only referred to keeps the key by which it is.
            state.key = try KeyReservations(access).retained(state.key, by: state, in: object.table)
            isExceptional = object.outcome != .gone
            state.shown = isExceptional ? .hidden : .none
        }
        try access.objects(of: object.table.id).save(state)
        try ExceptionList(connection).record(
            object, isExceptional: isExceptional, defaultTargets: defaultTargets(object))
        if object.outcome == .gone { try DeadOffers(access).note(state, object.table) }
    }
}

/// Keeps the list of exceptional objects, why they are, and the tokens that concern them.
struct ExceptionList {
    let connection: SQLConnection

    init(_ connection: SQLConnection) { self.connection = connection }

    func record(_ object: RegionObject, isExceptional: Bool, defaultTargets: [RowToken] = []) throws {
        let table = FieldValue.integer(Int64(object.token.table))
        let id = FieldValue.blob(object.token.id.bytes[...])
        try connection.execute("DELETE FROM ferry_exception WHERE \"table\" = ? AND object = ?", table, id)
        try connection.execute("DELETE FROM ferry_exception_token WHERE \"table\" = ? AND object = ?", table, id)
        if !isExceptional { return }
        let (kind, reason) = describe(object)
        try connection.execute(
            "INSERT INTO ferry_exception VALUES (?, ?, ?, ?)", table, id, .integer(Int64(kind.rawValue)), .text(reason))
        let tokens = Set(
            object.references.map(\.token) + object.claims.map(\.claim.token) + object.offers + defaultTargets)
        for token in tokens {
            try connection.execute(
                "INSERT INTO ferry_exception_token VALUES (?, ?, ?, ?)", .integer(Int64(token.table)),
                .blob(token.id.bytes[...]), table, id)
        }
    }

    private func describe(_ object: RegionObject) -> (ExceptionKind, String) {
        switch object.outcome {
        case .gone: return (.heldBack, "")
        case .shown(let cleared, let isRevived):
            if isRevived { return (.heldBack, "deleted, but other rows still refer to it") }
            let names = cleared.flatMap { place in
                object.table.foreignKeys[object.references[place].foreignKey].columns.map {
                    object.table.columns[$0].name
                }
            }
            return (.clearedReference, "\(names.joined(separator: ", ")) refers to a row that is gone")
        case .waits(let reference):
            let key = object.table.foreignKeys[object.references[reference].foreignKey]
            let names = key.columns.map { object.table.columns[$0].name }.joined(separator: ", ")
            return (.waiting, "\(names) refers to a row that is not there")
        case .outranked(let claim):
            let index = object.table.uniqueIndexes[object.claims[claim].index]
            let names = index.terms.map { $0.column.map { object.table.columns[$0].name } ?? $0.expression ?? "" }
            return (.outranked, "an older row has the same \(names.joined(separator: ", "))")
        case .refused:
            return (.refused, object.refusal ?? "")
        }
    }
}

/// Keeps the tokens that deleted objects would offer to foreign keys on other columns than the key: what refers to one
/// of them by RESTRICT holds it back, and nothing but these tokens leads to it. A token that is out of date costs a look.
struct DeadOffers {
    let access: StoreAccess

    init(_ access: StoreAccess) { self.access = access }

    func note(_ state: ObjectState, _ table: TrackedTable) throws {
        if table.incoming.isEmpty || state.registers.inserted == nil { return }
        let offers = References(registry: access.registry).offers(of: table, state.kept.fields)
        for token in offers {
            try access.connection.execute(
                "INSERT OR IGNORE INTO ferry_exception_token VALUES (?, ?, ?, ?)", .integer(Int64(token.table)),
                .blob(token.id.bytes[...]), .integer(Int64(table.id)), .blob(state.object.bytes[...]))
        }
    }
}

/// Why an object is not shown simply as its state says (the column `kind` of `ferry_exception`).
public enum ExceptionKind: Int, Sendable, Codable, CaseIterable {
    /// Hidden until what it refers to is shown.
    case waiting = 1
    /// Hidden because an older row has the same UNIQUE value.
    case outranked = 2
    /// Hidden because the schema refuses the row.
    case refused = 3
    /// Shown although deleted: other rows hold it back.
    case heldBack = 4
    /// Shown with a reference cleared.
    case clearedReference = 5

    public var isHidden: Bool { self == .waiting || self == .outranked || self == .refused }
}
