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
    /// From more objects on the page cache makes room for them.
    private static let manyObjects = 32_768

    let access: StoreAccess
    let meaning: References
    let travelling: Travelling
    let uniqueClaims: UniqueClaims
    let givenKeys: GivenKeys
    private(set) var objects: [RegionObject] = []
    private var places = TokenIndex()
    /// How to look for rows that offer what members refer to by value.
    var offerSearch: OfferSearch
    /// How to look for rows that refer to members.
    let referring: ReferringRows
    /// The keys that objects without a row are going to get, where they claim something else by those that they would like to
    /// have and cannot.
    let wantedKeys: [RowToken: FieldValue]
    /// What SQLite was found to take for one value.
    let learned: LearnedClaims
    /// The number of objects, from the first, whose surroundings are in the region.
    var expandedCount = 0
    /// Objects whose rows will be hidden with the rows that they refer to by CASCADE, as far as can be told before the rules
    /// are solved.
    var expectedHidden: Set<Int> = []
    /// The number of objects, from the first, that the rules were solved with last.
    var solvedCount = 0
    /// What visible objects and joined rows claimed in the solving at hand, and which of it rivals were looked for.
    var claimed: [RowToken: Claimed] = [:]
    var searched: Set<RowToken> = []
    var lookedUp: Set<RowToken> = []
    /// The objects whose rows offer tokens, as far as they were asked for: rows do not change while the rules are solved.
    var providers: [RowToken: RowToken?] = [:]
    var displayed: DisplayedRows?
    /// The objects whose rows showed, at any point of the solving at hand, other values to those who refer to them by value
    /// than they do now: what is broken once stays broken, so these take part.
    var wavering: Set<Int> = []

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

    func place(of token: RowToken) -> Int? { places.place(of: token, in: objects) }

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
    /// - Parameter rest: is added where the region comes to have more than `limit` objects.
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
}
