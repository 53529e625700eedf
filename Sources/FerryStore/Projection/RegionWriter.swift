import FerryCore
import FerryMerge
import FerrySQL
import FerrySchema

/// Writes the rows, states and anomalies of a solved region.
///
/// Rows are deleted first, then keys are assigned, then rows updated and inserted. States and anomalies come last, and
/// only after every row was accepted. On an error, the caller rolls back the savepoint and solves again.
struct RegionWriter {
    let access: StoreAccess
    let region: DependencyRegion
    /// The same objects, solved as if no row stayed on this device; `nil` if no such row is in the way of an object.
    let assumed: DependencyRegion?
    let givenKeys: GivenKeys
    private var connection: SQLConnection { access.connection }

    init(_ access: StoreAccess, _ region: DependencyRegion, assumed: DependencyRegion? = nil) {
        self.access = access
        self.assumed = assumed
        givenKeys = GivenKeys(access)
        self.region = region
    }

    /// Thrown if the schema refuses rows, with the reasons: rule 4. Holds all objects of a round at once, so the order
    /// of writing decides nothing.
    struct Refused: Error {
        var reasons: [RowToken: RefusalCause] = [:]

        mutating func add(_ object: RegionObject, _ message: String) {
            for member in object.members { reasons[member.token] = .schema(message) }
        }
    }

    /// Thrown if rows are refused as not unique, because different rows hold claims unknown to the rules.
    struct TakenRows: Error {
        /// The holders of the claims.
        var values: [LearnedClaims.TakenValue] = []
        /// For all objects of the rows.
        var reasons: [RowToken: RefusalCause] = [:]
        /// For all objects of rows with a value of a row with a NULL in its key: the rules cannot decide between the two.
        var keyless: [RowToken: RefusalCause] = [:]
    }

    /// Thrown if the schema refuses rows outside of the region that refer to an object of the region by its new key. The
    /// rules must decide about such rows too.
    struct RefusedOutside: Error {
        var rows: [RowToken]
    }

    /// Thrown if objects get keys different from those assumed by the rules, and claims depend on the keys.
    struct OtherKeys: Error {
        var keys: [RowToken: FieldValue] = [:]
    }

    /// - Returns: the number of rows written.
    func write() throws -> Int {
        var written = 0
        var insertions: [RegionObject] = []
        var refused = Refused()
        var taken: [(object: RegionObject, message: String)] = []
        for object in region.objects where !object.isJoined {
            var state = object.state
            if state.shown != .joined { continue }
            // Unchecked references ask the state for the representative: no row stands for this object any more.
            state.shown = .none
            try access.objects(of: object.table.id).save(state)
            object.state = state
        }
        for object in region.objects where object.hasRow && !object.isShown {
            try delete(object)
            written += 1
        }
        // Objects getting a row get a key first, so references to them can be written. Integer keys come before keys
        // containing them.
        let appearing = region.objects.filter { $0.isShown && !$0.hasRow }
        var moves: [KeyReservations.KeyMove] = []
        // Reserved keys come before keys that objects wish for: nobody may take a reserved one whose owner gets a row.
        var wishing: [RegionObject] = []
        var reserved: [RegionObject] = []
        for object in appearing where object.table.isMapped {
            if KeyReservations.reservedKey(of: object.state) == nil {
                wishing.append(object)
            } else {
                reserved.append(object)
            }
        }
        for object in reserved + wishing {
            guard let former = try assignKey(object), let key = object.state.key.first else { continue }
            moves.append(.init(object: object.token.id, table: object.table, former: former, key: key))
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
            // The value is still held by a row about to release the value. The row is deleted, and inserted again after
            // all releases.
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
        // Oldest first: if two rows have a claim the rules could not see, the oldest is present when the second is
        // refused.
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
        // A value may be taken only because a further object's row was refused. The next round decides.
        if !refused.reasons.isEmpty { throw refused }
        if !taken.isEmpty { throw try takenRows(taken) }
        let unmoved = try KeyReservations(access).moveReferences(moves) { region[$0] != nil }
        if !unmoved.isEmpty { throw RefusedOutside(rows: unmoved.map(\.row)) }
        let formerMembers = FormerMembers()
        for object in region.objects { try record(object, formerMembers) }
        try recordClasses()
        return written
    }

    /// Finds the holders of these objects' claims.
    private func takenRows(_ taken: [(object: RegionObject, message: String)]) throws -> TakenRows {
        var rows = TakenRows()
        let search = TakenValues(access, region)
        for (object, message) in taken {
            let found = try search.find(object, rowValues(object))
            rows.values += found.values
            for member in object.members {
                rows.reasons[member.token] = .schema(message)
                rows.keyless[member.token] = found.keylessRow
            }
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
                .database,
                "A row of \(object.table.localName) cannot be removed: \(refusal.message). A trigger forbids it.")
        }
        var state = object.state
        guard object.table.isMapped, let key = state.key.first else { return }
        // The key is free for use from now on, unless rows go on referring to the key.
        state.kept.key = key
        if try !KeyReservations(access).isInUse(key, of: object.table) { state.key = [] }
        state.shown = .none
        try access.objects(of: object.table.id).save(state)
        object.state = state
    }

    /// - Returns: the placeholder key by which rows outside of the region may refer to the object.
    @discardableResult
    private func assignKey(_ object: RegionObject) throws -> FieldValue? {
        if object.table.isMapped {
            guard let (key, former) = try KeyReservations(access).keyForRow(of: object.state, in: object.table) else {
                var taken = TakenRows()
                for member in object.members { taken.reasons[member.token] = .takenKey }
                if let wish = object.state.kept.key {
                    taken.values += try [TakenValues(access, region).findHolder(of: wish, for: object)].compactMap {
                        $0
                    }
                }
                throw taken
            }
            var state = object.state
            state.key = [key]
            // Saved at once: the next allocation must see the key, and references look the key up.
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

    /// The local value of a row's portable value.
    /// - Parameter source: the object providing the value.
    private func local(_ value: FieldValue, _ column: Int, _ source: RegionObject) throws -> FieldValue? {
        if let action = source.clearedColumns[column] { return try cleared(action, column, source.table) }
        guard case .reference(let target) = value else { return value }
        guard let parent = source.table.columns[column].reference else { return .null }
        return try key(of: target, in: parent, source.table.columns[column]).map(source.table.columns[column].kept)
    }

    /// The key by which a column refers to an object.
    private func key(of target: ObjectID, in parent: Int, _ column: TrackedColumn) throws -> FieldValue? {
        let member = region[RowToken(table: parent, id: target)].map { $0.representative ?? $0 }
        if column.isUnchecked {
            if let member, member.isShown, let key = member.state.key.first { return key }
            // A row may meanwhile have taken the key reserved for an object without a row, after all references were
            // gone.
            let key = try KeyReservations(access).key(of: member?.token.id ?? target, in: access.registry[parent])
            member?.state.key = [key]
            return key
        }
        if let member { return member.state.key.first ?? .null }
        return try access.objects(of: parent).place(of: target)?.key ?? .null
    }

    /// The value shown under SET NULL or SET DEFAULT. A default without a parent row shows NULL.
    func cleared(_ action: ForeignKeyAction, _ column: Int, _ table: TrackedTable) throws -> FieldValue {
        guard action == .setDefault, let value = try access.defaultValue(of: table.columns[column]), value != .null,
            let key = table.foreignKeys.first(where: { $0.columns == [column] })
        else { return .null }
        let parent = access.registry[key.parent]
        // Some rows of the region are not written yet.
        if let token = defaultTarget(value, key), let member = region[token] { return member.isShown ? value : .null }
        let isThere = try connection.count(
            "SELECT EXISTS(SELECT 1 FROM \(parent.quotedName) WHERE \(parent.keyCondition(first: 1)))", value)
        return isThere != 0 ? value : .null
    }

    /// The object a default refers to; `nil` for an integer key of this device.
    private func defaultTarget(_ value: FieldValue, _ key: TrackedForeignKey) -> RowToken? {
        guard case .key = key.target else { return nil }
        return RowToken(table: key.parent, id: access.registry[key.parent].derivedID([value]))
    }

    /// The targets of defaults the object's row shows or would show. If such a target comes, the row changes.
    func defaultTargets(_ object: RegionObject) throws -> [RowToken] {
        try object.clearedColumns.compactMap { column, action in
            guard action == .setDefault, let value = try access.defaultValue(of: object.table.columns[column]),
                value != .null,
                let key = object.table.foreignKeys.first(where: { $0.columns == [column] })
            else { return nil }
            return defaultTarget(value, key)
        }
    }

    /// The local values an object's row must show.
    func rowValues(_ object: RegionObject) throws -> [(column: Int, value: FieldValue)] {
        let row = region.displayedRow(of: object)
        var values: [(column: Int, value: FieldValue)] = []
        for column in object.table.localColumns {
            // Unknown values are left out: the default applies.
            guard let value = row.values[column.id] else { continue }
            if let shown = try local(value, column.id, row.source(column.id)) { values.append((column.id, shown)) }
        }
        return values
    }

    /// The columns of the present row with a value to change.
    private func differences(_ object: RegionObject) throws -> [(column: Int, value: FieldValue)] {
        let present = try access.reader(of: object.table.id).read(object.state.key) ?? [:]
        return try rowValues(object).filter { column, value in
            let shown = present[column]
            return shown != value && shown != value.taken(by: object.table.columns[column].affinity)
        }
    }

    private func insert(_ object: RegionObject) throws -> RowWriter.Refusal? {
        let key = object.table.isMapped ? object.state.key.first : nil
        return try access.writer(of: object.table.id).insert(key: key, rowValues(object))
    }
}
