import FerryCore
import FerryMerge
import FerrySchema

/// The dependency region: the objects whose rows may have to change, found from touched objects.
///
/// Invariants:
/// - Once `solve` returns, every object outside of the region is shown as its state says, and nothing inside changes
///   that.
/// - Every object in `objects` is stored, local, and listed once in `places`.
/// - `expandedCount` and `solvedCount` never exceed the number of objects.
/// - Objects are only added, never removed.
///
/// The region grows by anomalous objects that refer to or claim a member's parent keys, and by targets not shown as
/// written. The region also grows by rows referring to a hidden member, and by rows with a UNIQUE value claimed by a
/// member.
final class DependencyRegion {
    /// Maximum number of objects. A merge touching more is a sign of damage, or of a schema that needs a closer look.
    static let maximumObjects = 2_000_000
    /// Number of objects beyond which the page cache makes room.
    private static let manyObjects = 32_768

    let access: StoreAccess
    let meaning: ReferenceTokens
    let translator: ReferenceTranslator
    let uniqueClaims: UniqueClaims
    let givenKeys: GivenKeys
    private(set) var objects: [RegionObject] = []
    private var places = TokenIndex()
    /// Finds rows with the parent keys members refer to.
    var parentKeySearch: ParentKeySearch
    /// Finds rows referring to members.
    let referring: ReferringRows
    /// The keys new rows are going to get, if claims depend on the key and the wished key is not available.
    let wantedKeys: [RowToken: FieldValue]
    /// The values found equal in SQLite.
    let learned: LearnedClaims
    /// The portable values of rows that count in place of the present ones; set before any object is added.
    var shown: [RowToken: ColumnValues] = [:]
    /// Objects of later parts. Their rows may refer to something else than their states do.
    let unsolved: Set<RowToken>
    /// The number of objects, from the first, with their surroundings in the region.
    var expandedCount = 0
    /// Objects expected to be hidden with their targets by CASCADE, as far as known before solving.
    var expectedHidden: Set<Int> = []
    /// The number of objects, from the first, in the last solving.
    var solvedCount = 0
    /// The claims of visible objects and unified rows in the present solving, and the claims with rivals already added.
    var claimed: [RowToken: Claimed] = [:]
    var searched: Set<RowToken> = []
    var lookedUp: Set<RowToken> = []
    /// The objects with rows having parent keys, by token, as far as looked up: rows do not change while the rules are
    /// solved.
    var providers: [RowToken: RowToken?] = [:]
    var displayed: ProjectedRows?
    /// Objects whose rows at some point of the solving showed different values to references by value than they do now.
    /// A reference once broken stays broken, so the referring objects are added.
    var wavering: Set<Int> = []

    init(
        _ access: StoreAccess, formerRows: [RowToken: FormerRow] = [:], wantedKeys: [RowToken: FieldValue] = [:],
        learned: LearnedClaims = LearnedClaims(), unsolved: Set<RowToken> = []
    ) {
        self.access = access
        self.unsolved = unsolved
        self.wantedKeys = wantedKeys
        self.learned = learned
        meaning = ReferenceTokens(registry: access.registry)
        translator = ReferenceTranslator(access)
        uniqueClaims = UniqueClaims(access)
        givenKeys = GivenKeys(access)
        parentKeySearch = ParentKeySearch(access)
        referring = ReferringRows(access, formerRows: formerRows)
    }

    func contains(_ token: RowToken) -> Bool { place(of: token) != nil }

    func place(of token: RowToken) -> Int? { places.place(of: token, in: objects) }

    subscript(token: RowToken) -> RegionObject? { place(of: token).map { objects[$0] } }

    /// Adds an object; ignores an object unknown to the store.
    @discardableResult
    func add(_ token: RowToken) throws -> Bool {
        if contains(token) { return false }
        let table = access.registry[token.table]
        guard table.isLocal else { return false }
        if access.waiting.contains(table.id) {
            throw FerryError(
                .missingFunction,
                "A row depends on one of \(table.localName), which waits for a process that can write it.")
        }
        var state = try access.objects(of: token.table).load(token.id)
        guard state.isStored else { return false }
        if let key = wantedKeys[token] { state.kept.key = key }
        if objects.count >= Self.maximumObjects {
            throw FerryError(
                .limitExceeded, "More than \(Self.maximumObjects) rows depend on each other in one change.")
        }
        var row: ColumnValues?
        if let former = shown[token] {
            row = former
        } else if state.shown.hasRow, let read = try access.reader(of: table.id).read(state.key) {
            row = try translator.values(read, table)
        }
        let values = (row ?? [:]).overlaid(with: state.kept.fields)
        let references = meaning.targets(of: table, values)
        for (place, target) in references { parentKeySearch.note(target, table.foreignKeys[place], values) }
        let owner = UniqueClaims.Owner(state)
        let claims = learned.apply(try plainClaims(table, values, of: owner), of: token)
        let parentKeys = meaning.parentKeys(of: table, values)
        var former: [RowToken] = []
        if let row, !state.kept.fields.isEmpty {
            former = try uniqueClaims.claims(table, row, of: owner).map(\.token) + meaning.parentKeys(of: table, row)
        }
        let content = RegionObject.Content(
            row: row, values: values, references: references, claims: claims, parentKeys: parentKeys,
            formerTokens: former)
        let object = RegionObject(token, table, state, content, place: objects.count)
        if let reason = try access.keyRefusal(of: token.id, values, state.registers, table) { object.refusal = reason }
        objects.append(object)
        places.insert(objects.count - 1, in: objects)
        let isJoined = try addClass(of: object)
        if let row, !state.registers.isAlive {
            // A reference to a unified row may mean any of its objects. A reference to a row that shows the key of another object may mean
            // that object.
            if isJoined || !table.isMapped && table.hasReferencesInKey && table.derivedID(of: row) != token.id {
                try addDependents(object)
            } else {
                try referring.readHolders(object)
                // The row of an unsolved object may refer to the object no more.
                for holder in object.holders where unsolved.contains(holder) { try add(holder) }
            }
            // A further object may have the same parent key, so the referring objects are added.
            try addDependents(object) { if case .unique = $0.target { true } else { false } }
        }
        return true
    }

    /// Adds the objects shown by the same row.
    /// - Returns: true if there are any.
    private func addClass(of object: RegionObject) throws -> Bool {
        let table = object.token.table
        object.formerMembers = try access.unified.members(of: object.token.id, table)
        for member in object.formerMembers { try add(RowToken(table: table, id: member)) }
        guard let shown = try access.unified.representative(of: object.token.id, table) else {
            return !object.formerMembers.isEmpty
        }
        try add(RowToken(table: table, id: shown))
        return true
    }

    // MARK: Solving

    /// Solves the rules over the region, growing the region until its surroundings are unaffected.
    /// - Parameter rest: later seeds, added if the region has more than `limit` objects.
    func solve(with rest: ArraySlice<RowToken> = [], beyond limit: Int = .max) throws {
        var rest = rest
        while true {
            try expand()
            if objects.count > Self.manyObjects { try access.pageCache.shrink() }
            if objects.count > limit, !rest.isEmpty {
                for token in rest { try add(token) }
                rest = []
                try expand()
            }
            claimed = [:]
            for object in objects { object.forgetPassingClaims() }
            displayed = nil
            let solution = try RowRules.solve(
                objects.lazy.map { $0.ruleObject(isHeldFromOutside: self.isHeldFromOutside($0)) }, self)
            take(solution)
            let count = objects.count
            for index in 0..<count {
                try follow(objects[index])
                if !solution.classes.isTrivial { try addResolvedTargets(of: objects[index]) }
            }
            // Sorted, so every run does the same.
            for token in claimed.keys.sorted() where searched.insert(token).inserted {
                guard let entry = claimed[token] else { continue }
                let object = objects[Int(entry.object)]
                try addRivals(
                    object, token, entry.index < 0 ? nil : Int(entry.index), entry.values?.values ?? object.values)
            }
            if objects.count == count { break }
        }
        // Only growing needed these.
        (claimed, searched, lookedUp, providers) = ([:], [], [], [:])
        try referring.finish()
    }

    private func take(_ solution: RowSolution) {
        solvedCount = objects.count
        for (index, object) in objects.enumerated() {
            object.outcome = solution.outcomes[index]
            let isVisible = object.outcome.isVisible
            object.representative = isVisible ? objects[solution.classes.representative(of: index)] : nil
            object.others = object.isShown ? solution.classes.members(of: index).dropFirst().map { objects[$0] } : []
        }
        displayed = ProjectedRows(objects, solution.classes, access.registry)
    }

    /// The row of a shown object.
    func displayedRow(of object: RegionObject) -> (values: ColumnValues, source: (Int) -> RegionObject) {
        guard let displayed else { return (object.values, { _ in object }) }
        let row = displayed.row(object.place)
        return (row.values, { column in row.sources[column].map { self.objects[$0] } ?? object })
    }

    /// The claim that unified an object with the row of an older object.
    func cause(of object: RegionObject) -> RuleClaim? {
        guard object.isJoined, let displayed else { return nil }
        return displayed.classes.cause(of: object.place)
    }

    /// An object's own values, with references resolved.
    func resolvedValues(of object: RegionObject) -> ColumnValues {
        guard let displayed else { return object.values }
        return displayed.resolved(object.place)
    }

    /// The claims and parent keys of an object as shown.
    func shownTokens(of object: RegionObject) throws -> [RowToken] {
        guard let displayed, object.outcome.isVisible else { return [] }
        let index = object.place
        let resolved = displayed.resolved(index)
        var tokens = [displayed.resolvedKey(index)].compactMap { $0 }
        let own = object.values
        for values in object.isShown ? [resolved, displayed.row(index).values] : [resolved]
        where values != own {
            tokens += try uniqueClaims.claims(object.table, values, of: object.owner).map(\.token)
            tokens += meaning.parentKeys(of: object.table, values)
        }
        return tokens
    }

    /// The tokens of claims by an object's own values, if learned equalities replaced them.
    func ownClaims(of object: RegionObject) throws -> [RowToken] {
        if learned.isEmpty { return [] }
        return try uniqueClaims.claims(object.table, object.values, of: object.owner).map(\.token)
    }

    /// True if the claims of an object or its row would differ under a key other than the assumed key.
    func claimsChange(of object: RegionObject, under key: FieldValue) throws -> Bool {
        if !object.table.hasIndexOnKey || object.owner.key == key { return false }
        let owner = UniqueClaims.Owner(object.token.id, key: key)
        return try [resolvedValues(of: object), displayedRow(of: object).values].contains { values in
            try uniqueClaims.claims(object.table, values, of: object.owner)
                != uniqueClaims.claims(object.table, values, of: owner)
        }
    }

    /// The targets of references without a visible target, by resolved values, if different from the target by own
    /// values.
    func awaitedTargets(of object: RegionObject) -> [RowToken] {
        guard let displayed else { return [] }
        let index = object.place
        return object.references.enumerated().compactMap { place, reference in
            guard displayed.classes.target(of: index, reference: place, token: reference.token) == nil,
                let resolved = displayed.resolvedTarget(of: index, place), resolved != reference.token
            else { return nil }
            return resolved
        }
    }
}
