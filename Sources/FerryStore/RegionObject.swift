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
    let claims: [(index: Int, claim: RuleClaim)]
    /// What it offers to foreign keys on other columns than the key.
    let offers: [RowToken]
    /// Tokens that the present row offers or claims and the state's values do not.
    let formerTokens: [RowToken]
    /// Objects whose rows hold it back by RESTRICT; read where it is dead and has a row.
    var holders: [ObjectID] = []
    var holderTables: [Int] = []
    var refusal: String?
    var outcome = RowOutcome.gone

    init(
        token: RowToken, table: TrackedTable, state: ObjectState, row: FieldValues?, values: FieldValues,
        references: [(foreignKey: Int, token: RowToken)], claims: [(index: Int, claim: RuleClaim)], offers: [RowToken],
        formerTokens: [RowToken]
    ) {
        self.token = token
        self.table = table
        self.state = state
        self.row = row
        self.values = values
        self.references = references
        self.claims = claims
        self.offers = offers
        self.formerTokens = formerTokens
    }

    var isShown: Bool { if case .shown = outcome { true } else { false } }

    /// The references that the row shows cleared, as places in `references`.
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
            offers: offers,
            references: references.map { place, target in
                let action: ReferenceAction =
                    switch table.foreignKeys[place].action {
                    case .restrict: .restrict
                    case .cascade: .cascade
                    case .setNull, .setDefault: .clear
                    case .none: .none
                    }
                return RuleReference(target: target, action: action)
            }, claims: claims.map(\.claim), isHeldFromOutside: isHeldFromOutside, isRefused: refusal != nil)
    }
}
