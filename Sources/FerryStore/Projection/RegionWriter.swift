import FerryCore
import FerryMerge

/// Writes the rows, states and exceptions of a solved region.
struct RegionWriter {
    let access: StoreAccess
    let region: RuleRegion
    private let givenKeys: GivenKeys
    private var connection: SQLConnection { access.connection }

    init(_ access: StoreAccess, _ region: RuleRegion) {
        self.access = access
        givenKeys = GivenKeys(access)
        self.region = region
    }

    /// SQLite refused the rows of these objects, for these reasons: rule 4. All of one round at once, so that the order
    /// in which rows are written decides nothing.
    struct Refused: Error {
        var reasons: [RowToken: String] = [:]

        mutating func add(_ object: RegionObject, _ reason: String) {
            for member in object.members { reasons[member.token] = reason }
        }
    }

    /// SQLite refused rows because others have what they claim, which the rules had not foreseen.
    struct TakenRows: Error {
        /// Who has it.
        var values: [LearnedClaims.TakenValue] = []
        /// What SQLite said, for all objects of the rows.
        var reasons: [RowToken: String] = [:]
    }

    /// Objects that get other keys than those by which the rules took them to claim something, by what is claimed under them.
    struct OtherKeys: Error {
        var keys: [RowToken: FieldValue] = [:]
    }

    /// - Returns: the number of rows written.
    func write() throws -> Int {
        var written = 0
        var insertions: [RegionObject] = []
        var refused = Refused()
        var taken: [(object: RegionObject, reason: String)] = []
        for object in region.objects where !object.isJoined {
            var state = object.state
            if state.shown != .joined { continue }
            // References that no foreign key checks ask the state what leads to it: no other row any more.
            state.shown = .none
            try access.objects(of: object.table.id).save(state)
            object.state = state
        }
        for object in region.objects where object.hasRow && !object.isShown {
            try delete(object)
            written += 1
        }
        // Who gets a row gets its key first, so that references to it can be written.
        // Integer keys come before keys that are made of them.
        let appearing = region.objects.filter { $0.isShown && !$0.hasRow }
        var moves: [(object: RegionObject, former: FieldValue)] = []
        for object in appearing where object.table.isMapped {
            if let former = try assignKey(object) { moves.append((object, former)) }
        }
        try checkClaims(of: appearing)
        for object in appearing where !object.table.isMapped { try assignKey(object) }
        insertions += appearing
        for object in region.objects where object.isShown && object.hasRow {
            let changes = try differences(object)
            if changes.isEmpty { continue }
            written += 1
            guard
                let refusal = try access.writer(of: object.table.id).update(
                    key: object.state.key, changes, of: object.token.id)
            else {
                if !object.table.isMapped { try assignKey(object) }
                continue
            }
            // A value still held by a row that is about to let go of it: written anew after all have let go.
            if !refusal.isTakenValue {
                refused.add(object, refusal.message)
            } else if let failure = try access.writer(of: object.table.id).delete(
                key: object.state.key, of: object.token.id)
            {
                refused.add(object, failure.message)
            } else {
                insertions.append(object)
                if !object.table.isMapped { try assignKey(object) }
            }
        }
        // Oldest first: where two claim what the rules could not see, the oldest is there when the other one is refused.
        for object in oldestFirst(insertions) {
            if let refusal = try insert(object) {
                if refusal.isTakenValue {
                    taken.append((object, refusal.message))
                } else {
                    refused.add(object, refusal.message)
                }
            }
            written += 1
        }
        // A value that is taken while the row of somebody else was refused may only be taken because of that: the next round
        // tells.
        if !refused.reasons.isEmpty { throw refused }
        if !taken.isEmpty { throw try takenRows(taken) }
        for (object, former) in moves {
            guard let key = object.state.key.first else { continue }
            try KeyReservations(access).moveReferences(to: object.token.id, in: object.table, from: former, to: key)
        }
        let formerMembers = FormerMembers()
        for object in region.objects { try record(object, formerMembers) }
        try recordClasses()
        return written
    }

    /// Who has what the rows of these objects claim.
    private func takenRows(_ taken: [(object: RegionObject, reason: String)]) throws -> TakenRows {
        var rows = TakenRows()
        let search = TakenValues(access, region)
        for (object, reason) in taken {
            rows.values += try search.find(object, rowValues(object))
            for member in object.members { rows.reasons[member.token] = reason }
        }
        return rows
    }

    private func checkClaims(of appearing: [RegionObject]) throws {
        var others = OtherKeys()
        for object in appearing {
            guard object.table.hasIndexOnKey, region.wantedKeys[object.token] == nil, let key = object.state.key.first
            else { continue }
            if try region.claimsChange(of: object, under: key) { others.keys[object.token] = key }
        }
        if !others.keys.isEmpty { throw others }
    }

    private func oldestFirst(_ objects: [RegionObject]) -> [RegionObject] {
        let ages = objects.map { (object: $0, inserted: $0.state.registers.inserted) }
        return ages.sorted { left, right in
            if left.inserted != right.inserted, let a = left.inserted, let b = right.inserted {
                return a.isOlder(than: b)
            }
            return left.object.token.id < right.object.token.id
        }.map(\.object)
    }

    private func delete(_ object: RegionObject) throws {
        if let refusal = try access.writer(of: object.table.id).delete(key: object.state.key, of: object.token.id) {
            throw FerryError(
                .database, "A row of \(object.table.name) cannot be removed: \(refusal.message). A trigger forbids it.")
        }
        var state = object.state
        guard object.table.isMapped, let key = state.key.first else { return }
        // Its key is free for others from now on, unless rows refer to it all the same.
        state.kept.key = key
        if try !KeyReservations(access).isInUse(key, of: object.table) { state.key = [] }
        state.shown = .none
        try access.objects(of: object.table.id).save(state)
        object.state = state
    }

    /// - Returns: the stand-in by which rows outside of the region may refer to it.
    @discardableResult
    private func assignKey(_ object: RegionObject) throws -> FieldValue? {
        if object.table.isMapped {
            guard let (key, former) = try KeyReservations(access).keyForRow(of: object.state, in: object.table) else {
                var taken = TakenRows()
                for member in object.members { taken.reasons[member.token] = "its key is taken by another row" }
                if let wish = object.state.kept.key {
                    taken.values += try [TakenValues(access, region).findHolder(of: wish, for: object)].compactMap {
                        $0
                    }
                }
                throw taken
            }
            var state = object.state
            state.key = [key]
            // Saved at once: the next allocation must see it, and references look it up.
            state.shown = .row
            try access.objects(of: object.table.id).save(state)
            object.state = state
            return former
        }
        let row = region.displayedRow(of: object)
        object.state.key = try object.table.keyColumnIDs.map { column in
            try local(row.values[column] ?? .null, column, row.source(column)) ?? .null
        }
        return nil
    }

    /// A value of a row as the row holds it.
    /// - Parameter source: the object that the value comes from.
    private func local(_ value: FieldValue, _ column: Int, _ source: RegionObject) throws -> FieldValue? {
        if let action = source.clearedColumns[column] { return try cleared(action, column, source.table) }
        guard case .reference(let target) = value else { return value }
        guard let parent = source.table.columns[column].reference else { return .null }
        return try key(of: target, in: parent, source.table.columns[column]).map(source.table.columns[column].kept)
    }

    /// The key of an object for what refers to it by a column.
    private func key(of target: ObjectID, in parent: Int, _ column: TrackedColumn) throws -> FieldValue? {
        let member = region[RowToken(table: parent, id: target)].map { $0.representative ?? $0 }
        if column.isUnchecked {
            if let member, member.isShown, let key = member.state.key.first { return key }
            // The key that was reserved for what has no row may have gone to a row meanwhile, as nothing held it any more.
            let key = try KeyReservations(access).key(of: member?.token.id ?? target, in: access.registry[parent])
            member?.state.key = [key]
            return key
        }
        if let member { return member.state.key.first ?? .null }
        return try access.objects(of: parent).place(of: target)?.key ?? .null
    }

    /// What SET NULL or SET DEFAULT shows. A default that refers to a row that is not there shows NULL.
    private func cleared(_ action: ForeignKeyAction, _ column: Int, _ table: TrackedTable) throws -> FieldValue {
        guard action == .setDefault, let value = try access.defaultValue(of: table.columns[column]), value != .null,
            let key = table.foreignKeys.first(where: { $0.columns == [column] })
        else { return .null }
        let parent = access.registry[key.parent]
        // Of the region's rows some are not written yet.
        if let token = defaultTarget(value, key), let member = region[token] { return member.isShown ? value : .null }
        let isThere = try connection.count(
            "SELECT EXISTS(SELECT 1 FROM \(quoted(parent.name)) WHERE \(parent.keyCondition(first: 1)))", value)
        return isThere != 0 ? value : .null
    }

    /// The object that a default refers to; `nil` where its key is an integer of this device's.
    private func defaultTarget(_ value: FieldValue, _ key: TrackedForeignKey) -> RowToken? {
        guard case .key = key.target else { return nil }
        return RowToken(table: key.parent, id: access.registry[key.parent].derivedID([value]))
    }

    /// What an object's row shows or would show as defaults: when such a target comes, the row changes.
    private func defaultTargets(_ object: RegionObject) throws -> [RowToken] {
        try object.clearedColumns.compactMap { column, action in
            guard action == .setDefault, let value = try access.defaultValue(of: object.table.columns[column]),
                value != .null,
                let key = object.table.foreignKeys.first(where: { $0.columns == [column] })
            else { return nil }
            return defaultTarget(value, key)
        }
    }

    /// What an object's row is to show, as rows hold it.
    func rowValues(_ object: RegionObject) throws -> [(column: Int, value: FieldValue)] {
        let row = region.displayedRow(of: object)
        var values: [(column: Int, value: FieldValue)] = []
        for column in object.table.localColumns {
            // What is not known is left out: the default applies.
            guard let value = row.values[column.id] else { continue }
            if let shown = try local(value, column.id, row.source(column.id)) { values.append((column.id, shown)) }
        }
        return values
    }

    /// Columns whose present row shows something else than it should.
    private func differences(_ object: RegionObject) throws -> [(column: Int, value: FieldValue)] {
        let present = try access.reader(of: object.table.id).read(object.state.key) ?? [:]
        return try rowValues(object).filter { present[$0.column] != $0.value }
    }

    private func insert(_ object: RegionObject) throws -> RowWriter.Refusal? {
        let key = object.table.isMapped ? object.state.key.first : nil
        return try access.writer(of: object.table.id).insert(key: key, rowValues(object))
    }

    // MARK: State and exceptions

    /// Who was shown by rows. The answers for large classes are kept: all of their members ask for the same.
    private final class FormerMembers {
        private var known: [RowToken: Set<ObjectID>] = [:]

        func of(_ object: RegionObject) -> Set<ObjectID> {
            if object.formerMembers.count < 8 { return Set(object.formerMembers) }
            if let members = known[object.token] { return members }
            let members = Set(object.formerMembers)
            known[object.token] = members
            return members
        }
    }

    private func record(_ object: RegionObject, _ formerMembers: FormerMembers) throws {
        var state = object.state
        let values = object.values
        if let representative = object.representative, !representative.others.isEmpty {
            try recordDifferences(object, representative, values, state.registers, formerMembers)
        }
        if object.isShown {
            state.kept = try keptBesideRow(object, values)
            state.shown = isExceptional(object, values) ? .exceptionalRow : .row
        } else {
            if object.hasRow {
                state.kept.fields = values
                if object.table.isMapped, let key = state.key.first { state.kept.key = key }
            }
            // What is only referred to keeps the key by which it is.
            state.key = try KeyReservations(access).retained(state.key, by: state, in: object.table)
            state.shown = object.isJoined ? .joined : object.outcome == .gone ? .none : .hidden
        }
        let objects = access.objects(of: object.table.id)
        objects.renewCheck(of: &state, row: values)
        try objects.save(state)
        try ExceptionList(access).record(
            object, isExceptional: state.shown.isExceptional, cause: region.cause(of: object),
            tokens: exceptionTokens(object), check: shownCheck(object, state))
        if object.outcome == .gone { try DeadOffers(access).note(state, object.table) }
        // Whoever comes with the integer claims the same, and no row says so.
        if try givenKeys.areAny(in: values, object.table) {
            for claim in object.claims { try access.exceptionTokens.note(claim.token, concerns: object.token) }
        }
    }

    /// The check of how an object is shown.
    private func shownCheck(_ object: RegionObject, _ state: ObjectState) throws -> UInt64 {
        let checks = access.objects(of: object.table.id).shownChecks
        switch state.shown {
        case .none, .row: return 0
        case .hidden: return checks.ofHidden(object.token.id)
        case .joined: return checks.ofJoined(object.token.id, to: (object.representative ?? object).token.id)
        case .exceptionalRow: break
        }
        let isDeleted = !state.registers.isAlive
        let row = region.displayedRow(of: object)
        var shown: [(column: Int, value: FieldValue)] = []
        for column in object.table.localColumns {
            let source = row.source(column.id)
            let action = source.clearedColumns[column.id]
            guard isDeleted || action != nil || source !== object,
                source.state.registers.stamp(of: column.id) != nil, let value = row.values[column.id]
            else { continue }
            shown.append((column.id, try action.map { try travellingDefault($0, column, source.table) } ?? value))
        }
        return checks.ofRow(object.token.id, isDeleted: isDeleted, shown: shown)
    }

    /// What SET NULL or SET DEFAULT shows, as it travels.
    private func travellingDefault(
        _ action: ForeignKeyAction, _ column: TrackedColumn, _ table: TrackedTable
    ) throws -> FieldValue {
        let value = try cleared(action, column.id, table)
        guard value != .null, let parent = column.reference else { return value }
        return try access.objects(of: parent).object(forKey: value).map { .reference($0) } ?? value
    }

    /// The values that the row does not show: of columns that it does not have, cleared references, and where it shows
    /// those of another object or of a reference's representative.
    private func keptBesideRow(_ object: RegionObject, _ values: FieldValues) throws -> KeptValues {
        let row = region.displayedRow(of: object)
        var kept = KeptValues()
        for (column, value) in values {
            let source = row.source(column)
            if source.clearedColumns[column] != nil || row.values[column] != value
                || !object.table.columns[column].isLocal
            {
                kept.fields[column] = value
            }
        }
        kept.fields = kept.fields.overlaid(with: try KeyReservations(access).misleading(values, object.table))
        return kept
    }

    /// Keeps what an object says and the row that shows it does not, where it is shown by it for the first time.
    private func recordDifferences(
        _ object: RegionObject, _ representative: RegionObject, _ values: FieldValues, _ registers: ObjectRegisters,
        _ formerMembers: FormerMembers
    ) throws {
        let former = formerMembers.of(representative)
        let isNew =
            object.isJoined
            ? !former.contains(object.token.id) : representative.others.contains { !former.contains($0.token.id) }
        guard isNew else { return }
        let row = region.displayedRow(of: representative)
        let resolved = region.resolvedValues(of: object)
        for (column, value) in values where !object.table.keyColumnIDs.contains(column) {
            // References to rows that are one are no difference.
            guard let shown = row.values[column], shown != value, shown != resolved[column],
                let lost = registers.stamp(of: column),
                let kept = row.source(column).state.registers.stamp(of: column)
            else { continue }
            try ConflictLog(access).record(
                .joined, table: object.token.table, object: object.token.id, column: column, lost: (value, lost),
                kept: (shown, kept))
        }
    }

    private func isExceptional(_ object: RegionObject, _ values: FieldValues) -> Bool {
        if !object.others.isEmpty || object.isRevived || !object.clearedColumns.isEmpty { return true }
        let shown = region.displayedRow(of: object).values
        return object.table.telltaleColumns.contains { shown[$0] != values[$0] }
    }

    /// What leads to an exceptional object: tokens that it refers to, claims or offers, by its own values, as it is shown,
    /// and as it was in between: what rule 3 made one row stays one, though the row came to show something else by it.
    private func exceptionTokens(_ object: RegionObject) throws -> Set<RowToken> {
        var tokens = Set(object.references.map(\.token) + object.claims.map(\.token) + object.offers)
        // When what it refers to through another table's foreign keys becomes one with another row, it may mean somebody.
        let values = object.table.referenceColumns.isEmpty ? [:] : object.values
        for column in object.table.referenceColumns {
            guard let parent = column.reference, case .reference(let id)? = values[column.id] else { continue }
            tokens.insert(RowToken(table: parent, id: id))
        }
        tokens.formUnion(try defaultTargets(object))
        tokens.formUnion(try region.shownTokens(of: object))
        // Who has that by itself comes later.
        tokens.formUnion(region.awaitedTargets(of: object))
        tokens.formUnion(object.passingClaims)
        tokens.formUnion(try region.ownClaims(of: object))
        return tokens
    }

    /// Notes who is shown by which row.
    private func recordClasses() throws {
        for object in region.objects { try access.joined.forget(object.token) }
        for object in region.objects where object.isShown {
            for member in object.others {
                try access.joined.note(member.token.id, isShownBy: object.token)
            }
        }
        for object in region.objects where object.isShown && object.table.hasReferencesInKey {
            let shown = region.displayedRow(of: object).values
            let key = object.table.derivedID(of: shown)
            if key != object.token.id { try access.joined.note(key, isShownBy: object.token, asAlias: true) }
            if let mistaken = try givenKeys.mistakenID(shown, object.table), mistaken != object.token.id {
                try access.joined.note(mistaken, isShownBy: object.token, asAlias: true)
            }
        }
    }
}
