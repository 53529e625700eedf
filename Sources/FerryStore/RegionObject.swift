import FerryCore
import FerryMerge

/// One object of a region: its state, its row, and what both mean to the rules.
final class RegionObject {
    let token: RowToken
    let table: TrackedTable
    var state: ObjectState
    /// The present row's values as they travel; `nil` where there is no row.
    let row: FieldValues?
    /// The state's values: the row's, except where the state keeps others.
    let values: FieldValues
    let references: [(foreignKey: Int, token: RowToken)]
    /// As what it claims UNIQUE values.
    let owner: UniqueClaims.Owner
    /// What its values claim as they are.
    let claims: [RuleClaim]
    /// What it offers to foreign keys on other columns than the key.
    let offers: [RowToken]
    /// Tokens that the present row offers or claims and the state's values do not.
    let formerTokens: [RowToken]
    /// What it, or its row, claimed at any point of the solving at hand by other values than its own.
    var passingClaims: Set<RowToken> = []
    /// Objects whose rows hold it back by RESTRICT; read where it is dead and has a row.
    var holders: [ObjectID] = []
    var holderTables: [Int] = []
    /// Who was shown by its row beside itself.
    var formerMembers: [ObjectID] = []
    /// Whether who refers to its row was added because the row means or shows something else than before.
    var followsRow = false
    var refusal: String?
    var outcome = RowOutcome.gone
    /// Who is shown by its row beside itself, oldest first. (Not itself: it would never be freed.)
    var others: [RegionObject] = []
    /// By whose row it is shown; `nil` where it is not.
    weak var representative: RegionObject?
    /// By what it came to be shown by another's row.
    var cause: RuleClaim?

    init(
        token: RowToken, table: TrackedTable, state: ObjectState, row: FieldValues?, values: FieldValues,
        references: [(foreignKey: Int, token: RowToken)], claims: [RuleClaim], offers: [RowToken],
        formerTokens: [RowToken]
    ) {
        self.token = token
        self.table = table
        self.state = state
        owner = UniqueClaims.Owner(state)
        self.row = row
        self.values = values
        self.references = references
        self.claims = claims
        self.offers = offers
        self.formerTokens = formerTokens
    }

    /// Who is shown by its row, itself included, oldest first; empty where it has none.
    var members: [RegionObject] { isShown ? [self] + others : [] }

    /// Whether it has a row of its own.
    var isShown: Bool { representative === self }

    /// Whether the row of another object shows it.
    var isJoined: Bool { representative != nil && representative !== self }

    /// The references that a row shows cleared, as places in `references`.
    var cleared: [Int] { if case .shown(let cleared, _) = outcome { cleared } else { [] } }

    var isRevived: Bool { if case .shown(_, let isRevived) = outcome { isRevived } else { false } }

    /// Columns that are shown as NULL or as their default, with the action that says so.
    var clearedColumns: [Int: ForeignKeyAction] {
        var columns: [Int: ForeignKeyAction] = [:]
        for place in cleared {
            let key = table.foreignKeys[references[place].foreignKey]
            for column in key.columns { columns[column] = key.action }
        }
        return columns
    }

    /// What the rules see.
    func ruleObject(isHeldFromOutside: Bool) -> RuleObject {
        RuleObject(
            token: token, isAlive: state.registers.isAlive,
            isRestorable: state.registers.inserted != nil,
            inserted: state.registers.inserted ?? Stamp(time: .latest, device: DeviceID(high: 0, low: 0)),
            deleted: state.registers.deleted, offers: offers,
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
