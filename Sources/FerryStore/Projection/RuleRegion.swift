import FerryCore
import FerryMerge

/// The objects whose rows may have to change, found from those that were touched.
///
/// Outside of the region every object is shown as its state says and nothing in the region changes that. It grows
/// until that is true: by exceptional objects that refer to or claim what a member offers, by targets that are not
/// simply shown, by rows that refer to a member that is not shown, and by rows that hold a UNIQUE value which a member
/// claims.
final class RuleRegion {
    /// Objects in one region: a merge that would touch more is a sign of damage, or of a schema that needs a closer look.
    static let maximumObjects = 2_000_000

    let access: StoreAccess
    private let meaning: References
    private let travelling: Travelling
    private let uniqueClaims: UniqueClaims
    private let givenKeys: GivenKeys
    private(set) var objects: [RegionObject] = []
    private var places = TokenIndex()
    /// How to look for rows that offer what members refer to by value.
    private var offerSearch: OfferSearch
    /// How to look for rows that refer to members.
    private let referring: ReferringRows
    /// The keys that objects without a row are going to get, where they claim something else by those that they would like to
    /// have and cannot.
    let wantedKeys: [RowToken: FieldValue]
    /// What SQLite was found to take for one value.
    private let learned: LearnedClaims
    /// The number of objects, from the first, whose surroundings are in the region.
    private var expandedCount = 0
    /// Objects whose rows will be hidden with the rows that they refer to by CASCADE, as far as can be told before the rules
    /// are solved.
    private var expectedHidden: Set<Int> = []
    /// The number of objects, from the first, that the rules were solved with last.
    private var solvedCount = 0
    /// What visible objects and joined rows claimed in the solving at hand, and which of it rivals were looked for.
    private var claimed: [RowToken: Claimed] = [:]
    private var searched: Set<RowToken> = []
    private var lookedUp: Set<RowToken> = []
    /// The objects whose rows offer tokens, as far as they were asked for: rows do not change while the rules are solved.
    private var providers: [RowToken: RowToken?] = [:]
    private var displayed: DisplayedRows?
    /// The objects whose rows showed, at any point of the solving at hand, other values to those who refer to them by value
    /// than they do now: what is broken once stays broken, so these take part.
    private var wavering: Set<Int> = []

    /// Who claims something.
    private struct Claimed {
        var object: Int32
        /// The place of the index; -1 for the key.
        var index: Int32
        /// By what; none where that is the object's own values.
        var values: ClaimingValues?
    }

    private final class ClaimingValues {
        let values: FieldValues
        init(_ values: FieldValues) { self.values = values }
    }

    init(
        _ access: StoreAccess, formerRows: [RowToken: FormerRow] = [:], wantedKeys: [RowToken: FieldValue] = [:],
        learned: LearnedClaims = LearnedClaims()
    ) {
        self.access = access
        self.wantedKeys = wantedKeys
        self.learned = learned
        meaning = References(registry: access.registry)
        travelling = Travelling(access)
        uniqueClaims = UniqueClaims(access)
        givenKeys = GivenKeys(access)
        offerSearch = OfferSearch(access)
        referring = ReferringRows(access, formerRows: formerRows)
    }

    func contains(_ token: RowToken) -> Bool { place(of: token) != nil }

    private func place(of token: RowToken) -> Int? { places.place(of: token, in: objects) }

    subscript(token: RowToken) -> RegionObject? { place(of: token).map { objects[$0] } }

    /// Adds an object; one that the store knows nothing of is not added.
    @discardableResult
    func add(_ token: RowToken) throws -> Bool {
        if contains(token) { return false }
        let table = access.registry[token.table]
        guard table.isLocal else { return false }
        if access.waiting.contains(table.id) {
            throw FerryError(
                .missingFunction, "A row depends on one of \(table.name), which waits for a process that can write it.")
        }
        var state = try access.objects(of: token.table).load(token.id)
        guard state.isStored else { return false }
        if let key = wantedKeys[token] { state.kept.key = key }
        if objects.count >= Self.maximumObjects {
            throw FerryError(
                .limitExceeded, "More than \(Self.maximumObjects) rows depend on each other in one change.")
        }
        var row: FieldValues?
        if state.shown.hasRow, let read = try access.reader(of: table.id).read(state.key) {
            row = try travelling.values(read, table)
        }
        let values = (row ?? [:]).overlaid(with: state.kept.fields)
        let references = meaning.targets(of: table, values)
        for (place, target) in references { offerSearch.note(target, table.foreignKeys[place], values) }
        let owner = UniqueClaims.Owner(state)
        let claims = learned.apply(try plainClaims(table, values, of: owner), of: token)
        let offers = meaning.offers(of: table, values)
        var former: [RowToken] = []
        if let row, !state.kept.fields.isEmpty {
            former = try uniqueClaims.claims(table, row, of: owner).map(\.token) + meaning.offers(of: table, row)
        }
        let object = RegionObject(
            token: token, table: table, state: state, row: row, values: values, references: references, claims: claims,
            offers: offers, formerTokens: former, place: objects.count)
        objects.append(object)
        places.insert(objects.count - 1, in: objects)
        let isJoined = try addClass(of: object)
        if row != nil, !state.registers.isAlive {
            // Who refers to a joined row may mean any of its objects.
            if isJoined { try addDependents(object) } else { try referring.readHolders(object) }
            // Values may be offered by somebody else too, so who refers to them takes part.
            try addDependents(object) { if case .unique = $0.target { true } else { false } }
        }
        return true
    }

    /// Adds the objects that were shown by one row with this one.
    /// - Returns: whether there are any.
    private func addClass(of object: RegionObject) throws -> Bool {
        let table = object.token.table
        object.formerMembers = try access.joined.members(of: object.token.id, table)
        for member in object.formerMembers { try add(RowToken(table: table, id: member)) }
        guard let shown = try access.joined.representative(of: object.token.id, table) else {
            return !object.formerMembers.isEmpty
        }
        try add(RowToken(table: table, id: shown))
        return true
    }

    // MARK: Solving

    /// Solves the rules over the region, growing it until its surroundings are not concerned.
    func solve() throws {
        while true {
            try expand()
            claimed = [:]
            for object in objects { object.forgetPassingClaims() }
            displayed = nil
            let solution = try RowRules.solve(
                objects.map { $0.ruleObject(isHeldFromOutside: isHeldFromOutside($0)) }, self)
            take(solution)
            let count = objects.count
            for index in 0..<count {
                try follow(objects[index])
                if !solution.classes.isTrivial { try addResolvedTargets(of: objects[index]) }
            }
            // In an order of its own, so that every run does the same.
            for token in claimed.keys.sorted() where searched.insert(token).inserted {
                guard let entry = claimed[token] else { continue }
                let object = objects[Int(entry.object)]
                try addRivals(
                    object, token, entry.index < 0 ? nil : Int(entry.index), entry.values?.values ?? object.values)
            }
            if objects.count == count { break }
        }
        // What only the growing needed.
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
        displayed = DisplayedRows(objects, solution.classes, access.registry)
    }

    /// What the row of a shown object shows.
    func displayedRow(of object: RegionObject) -> (values: FieldValues, source: (Int) -> RegionObject) {
        guard let displayed else { return (object.values, { _ in object }) }
        let row = displayed.row(object.place)
        return (row.values, { column in row.sources[column].map { self.objects[$0] } ?? object })
    }

    /// By what an object came to be shown by another's row.
    func cause(of object: RegionObject) -> RuleClaim? {
        guard object.isJoined, let displayed else { return nil }
        return displayed.classes.cause(of: object.place)
    }

    /// An object's own values, references resolved.
    func resolvedValues(of object: RegionObject) -> FieldValues {
        guard let displayed else { return object.values }
        return displayed.resolved(object.place)
    }

    /// What an object claims and offers as it is shown.
    func shownTokens(of object: RegionObject) throws -> [RowToken] {
        guard let displayed, object.outcome.isVisible else { return [] }
        let index = object.place
        let resolved = displayed.resolved(index)
        var tokens = [displayed.resolvedKey(index)].compactMap { $0 }
        let own = object.values
        for values in object.isShown ? [resolved, displayed.row(index).values] : [resolved]
        where values != own {
            tokens += try uniqueClaims.claims(object.table, values, of: object.owner).map(\.token)
            tokens += meaning.offers(of: object.table, values)
        }
        return tokens
    }

    /// The tokens of what an object's own values claim, where something that was learned stands in their place.
    func ownClaims(of object: RegionObject) throws -> [RowToken] {
        if learned.isEmpty { return [] }
        return try uniqueClaims.claims(object.table, object.values, of: object.owner).map(\.token)
    }

    /// Whether an object, or its row, would claim something else under another key than the one that it was taken to have.
    func claimsChange(of object: RegionObject, under key: FieldValue) throws -> Bool {
        if !object.table.hasIndexOnKey || object.owner.key == key { return false }
        let owner = UniqueClaims.Owner(object.token.id, key: key)
        return try [resolvedValues(of: object), displayedRow(of: object).values].contains { values in
            try uniqueClaims.claims(object.table, values, of: object.owner)
                != uniqueClaims.claims(object.table, values, of: owner)
        }
    }

    /// What references that lead nowhere mean once what they are made of is resolved, where that is something else than by
    /// their own values.
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

    /// Adds who refers to a row that goes, that means fewer objects than before, or that shows another key or other
    /// values that foreign keys refer to.
    private func follow(_ object: RegionObject) throws {
        if try isNewTarget(object) { try addDependents(object) { $0.action == .none } }
        if object.followsRow || object.table.incoming.isEmpty { return }
        guard object.isShown else {
            if referring.referredKey(of: object).isEmpty { return }
            object.followsRow = true
            // References that no foreign key checks stay what they are, unless another row shows what they lead to, or
            // this one showed what others lead to.
            let hasLed = !object.formerMembers.isEmpty
            return try addDependents(object) { object.isJoined || hasLed || $0.action != .none }
        }
        guard let row = object.row else { return }
        let table = object.table
        let shown = displayedRow(of: object).values
        let isKeyChanged = table.keyColumnIDs.contains { row[$0] != shown[$0] }
        // A row that only gains objects leaves nobody behind.
        let members = object.formerMembers.isEmpty ? [] : Set(object.members.map(\.token.id))
        let hasLost = object.formerMembers.contains { !members.contains($0) }
        if isKeyChanged || hasLost {
            object.followsRow = true
            try addDependents(object)
        } else if wavering.contains(object.place)
            // Also where only the case changes: who means another object of the row shows what it shows.
            || table.offeredKeys.contains(where: { $0.contains { row[$0] != shown[$0] } })
        {
            try addDependents(object) { if case .unique = $0.target { true } else { false } }
        }
    }

    /// Whether rows that referred to an object before it came may claim something else now (`GivenKeys`).
    private func isNewTarget(_ object: RegionObject) throws -> Bool {
        !object.hasRow && object.table.hasUncheckedReferences && GivenKeys.isPlain(object.state.givenKey)
    }

    /// Adds what may stand for the target of a reference that has none to be seen: the object whose row shows the key
    /// or the value that the reference means once what it is made of is resolved.
    private func addResolvedTargets(of object: RegionObject) throws {
        guard let displayed else { return }
        let index = object.place
        for (place, reference) in object.references.enumerated() {
            let key = object.table.foreignKeys[reference.foreignKey]
            guard displayed.classes.target(of: index, reference: place, token: reference.token) == nil else { continue }
            let resolved = displayed.resolvedTarget(of: index, place)
            switch key.target {
            case .mapped: continue
            case .unique:
                if let resolved, resolved != reference.token, lookedUp.insert(resolved).inserted {
                    offerSearch.note(resolved, key, displayed.represented(object))
                    if let row = try offerSearch.object(offering: resolved) { try add(row) }
                    for member in try access.exceptionTokens.objects(concernedBy: resolved) { try add(member) }
                }
                continue
            case .key: break
            }
            for token in [reference.token, resolved].compactMap({ $0 })
            where lookedUp.insert(token).inserted {
                try add(token)
                if let shown = try access.joined.representative(of: token.id, token.table) {
                    try add(RowToken(table: token.table, id: shown))
                }
            }
        }
    }

    private func isHeldFromOutside(_ object: RegionObject) -> Bool {
        object.holders.contains { !contains($0) }
    }

    func isShownOutside(_ token: RowToken) throws -> Bool {
        if contains(token) { return false }
        if let known = providers[token] { return known.map { !contains($0) } ?? false }
        let provider = try provider(of: token)
        providers[token] = .some(provider)
        return provider.map { !contains($0) } ?? false
    }

    /// The object whose row offers a token.
    private func provider(of token: RowToken) throws -> RowToken? {
        if offerSearch.isNoted(token) { return try offerSearch.object(offering: token) }
        return try access.objects(of: token.table).place(of: token.id)?.shown.hasRow ?? false ? token : nil
    }

    /// Adds what the objects concern, and what these concern in turn, whatever becomes of any of them.
    ///
    /// A chain of rows that refer to each other by CASCADE comes in whole: were it to grow by one row for each time that the
    /// rules are solved, its length would count twice.
    private func expand() throws {
        while expandedCount < objects.count {
            let index = expandedCount
            expandedCount += 1
            try expand(objects[index])
            guard objects[index].hasRow, isExpectedHidden(objects[index]) else { continue }
            expectedHidden.insert(index)
            try addDependents(objects[index]) { $0.action == .cascade }
        }
    }

    /// Whether an object refers by CASCADE to one of the region that has no row any more, or will have none.
    private func isExpectedHidden(_ object: RegionObject) -> Bool {
        object.references.contains { place, target in
            let key = object.table.foreignKeys[place]
            guard key.action == .cascade, let parent = self.place(of: target) else { return false }
            if case .unique = key.target { return false }
            return expectedHidden.contains(parent) || parent < solvedCount && !objects[parent].outcome.isVisible
        }
    }

    /// Adds what an object's values concern.
    private func expand(_ object: RegionObject) throws {
        let references = object.references
        for (_, target) in references where !offerSearch.isNoted(target) {
            if let place = try access.objects(of: target.table).place(of: target.id) {
                if place.shown != .row { try add(target) }
            } else if let shown = try access.joined.representative(of: target.id, target.table) {
                try add(RowToken(table: target.table, id: shown))
            }
        }
        // What its columns refer to through another table's foreign keys may be joined too.
        let values = object.table.referenceColumns.isEmpty ? [:] : object.values
        for column in object.table.referenceColumns {
            guard let parent = column.reference, case .reference(let id)? = values[column.id],
                try access.objects(of: parent).place(of: id)?.shown == .joined
            else { continue }
            try add(RowToken(table: parent, id: id))
        }
        // Exceptional objects that wait for, or claim, what this one offers or used to offer, and deleted ones that
        // offer the values that it refers to.
        let tokens =
            [object.token] + object.offers + object.claims.map(\.token) + object.formerTokens
            + references.map(\.token).filter(offerSearch.isNoted)
        for token in tokens {
            for member in try access.exceptionTokens.objects(concernedBy: token) { try add(member) }
        }
    }

    /// Whoever shows or waits with what an object claims.
    /// - Parameter place: that of the index; `nil` for the key.
    private func addRivals(
        _ object: RegionObject, _ claim: RowToken, _ place: Int?, _ values: FieldValues
    ) throws {
        for member in try access.exceptionTokens.objects(concernedBy: claim) { try add(member) }
        guard let place else {
            try add(claim)
            return
        }
        for key in try uniqueClaims.holders(object.table, place, values, of: object.owner) {
            if let rival = try travelling.object(object.table, key) {
                try add(RowToken(table: object.table.id, id: rival))
            }
        }
    }

    /// Rows that refer to the object's present row.
    private func addDependents(
        _ object: RegionObject, where isWanted: (TrackedForeignKey) -> Bool = { _ in true }
    ) throws {
        for incoming in object.table.incoming
        where isWanted(access.registry[incoming.table].foreignKeys[incoming.foreignKey]) {
            for child in try referring.children(object, incoming) {
                try add(RowToken(table: incoming.table, id: child))
            }
        }
    }
}

// MARK: What the rules ask

extension RuleRegion: RuleSurroundings {
    private func rows(_ classes: RowClasses) -> DisplayedRows {
        if let displayed, displayed.classes.revision == classes.revision { return displayed }
        let made = DisplayedRows(objects, classes, access.registry)
        displayed = made
        return made
    }

    func claims(of index: Int, _ classes: RowClasses) throws -> [RuleClaim] {
        let object = objects[index]
        guard case .shown(let cleared, _) = classes.outcomes[index] else { return [] }
        let isResolving = (!classes.isTrivial || classes.hasLinks) && !object.references.isEmpty
        if !isResolving, cleared.isEmpty { return note(object.claims, index) }
        let rows = rows(classes)
        let values = rows.resolved(index)
        let isOwn = values == object.values
        var claims = isOwn ? object.claims : try self.claims(of: object, values)
        if let key = rows.resolvedKey(index) { claims.append(RuleClaim(token: key, index: nil)) }
        object.pass(claims)
        return note(claims, index, isOwn ? nil : values)
    }

    func claims(ofClass representative: Int, _ classes: RowClasses) throws -> [RuleClaim] {
        let object = objects[representative]
        let values = rows(classes).row(representative).values
        let claims = try self.claims(of: object, values)
        object.pass(claims)
        return note(claims, representative, values)
    }

    /// - Parameter values: by which the object claims that; `nil` for its own.
    private func note(_ claims: [RuleClaim], _ index: Int, _ values: FieldValues? = nil) -> [RuleClaim] {
        var claiming: ClaimingValues?
        for claim in claims where !searched.contains(claim.token) {
            if claiming == nil { claiming = values.map(ClaimingValues.init) }
            claimed[claim.token] = Claimed(
                object: Int32(index), index: Int32(claim.index ?? -1), values: claiming)
        }
        return claims
    }

    /// What an object claims by these values and by what SQLite was found to take for equal.
    private func claims(of object: RegionObject, _ values: FieldValues) throws -> [RuleClaim] {
        learned.apply(try plainClaims(object.table, values, of: object.owner), of: object.token)
    }

    /// What these values claim, but for what was learned.
    private func plainClaims(
        _ table: TrackedTable, _ values: FieldValues, of owner: UniqueClaims.Owner
    ) throws -> [RuleClaim] {
        let claims = try uniqueClaims.claims(table, values, of: owner)
        return try givenKeys.keyClaim(values, table).map { claims + [$0] } ?? claims
    }

    func resolvedLinks(_ classes: RowClasses) throws -> [RuleLink] {
        try rows(classes).links { try isShownOutside($0) }
    }

    func brokenReferences(_ classes: RowClasses) throws -> [RuleLink] {
        let rows = rows(classes)
        let broken = rows.brokenReferences()
        if broken.isEmpty { return [] }
        for (index, object) in objects.enumerated() where !object.table.incoming.isEmpty {
            guard let row = object.row, classes.outcomes[index].isVisible, !wavering.contains(index) else { continue }
            let shown = rows.row(classes.representative(of: index)).values
            if meaning.offers(of: object.table, row) != meaning.offers(of: object.table, shown) {
                wavering.insert(index)
            }
        }
        return broken
    }
}

/// Where objects of a region are, by their tokens. A table of places alone: each object has its token already.
private struct TokenIndex {
    /// Powers of two, at most half full; -1 where nothing is.
    private var slots: [Int32] = Array(repeating: -1, count: 16)

    func place(of token: RowToken, in objects: [RegionObject]) -> Int? {
        var slot = token.hashValue & (slots.count - 1)
        while slots[slot] >= 0 {
            if objects[Int(slots[slot])].token == token { return Int(slots[slot]) }
            slot = (slot + 1) & (slots.count - 1)
        }
        return nil
    }

    /// Enters the last of the objects, which is not in the table.
    mutating func insert(_ place: Int, in objects: [RegionObject]) {
        if 2 * objects.count > slots.count {
            slots = Array(repeating: -1, count: 2 * slots.count)
            for place in objects.indices.dropLast() { enter(place, objects[place].token) }
        }
        enter(place, objects[place].token)
    }

    private mutating func enter(_ place: Int, _ token: RowToken) {
        var slot = token.hashValue & (slots.count - 1)
        while slots[slot] >= 0 { slot = (slot + 1) & (slots.count - 1) }
        slots[slot] = Int32(place)
    }
}
