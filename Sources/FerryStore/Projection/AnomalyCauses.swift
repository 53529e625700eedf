import FerryCore
import FerryMerge

/// Says why an object is not simply shown, as the rules decided.
struct AnomalyCauses {
    private let access: StoreAccess

    init(_ access: StoreAccess) { self.access = access }

    /// - Parameter claim: by what the object came to be shown by another's row.
    func cause(of object: RegionObject, joinedBy claim: RuleClaim?) throws -> AnomalyTable.Cause {
        switch object.outcome {
        case .gone: return .init(kind: .heldBack, reason: "")
        case .shown(_, true): return .init(kind: .heldBack, reason: "deleted, but other rows still refer to it")
        case .shown where object.isJoined:
            let names = claim.map { self.names(of: $0, object.table) } ?? ""
            return .init(kind: .joined, reason: "one row with an older one that has the same \(names)")
        case .shown where !object.others.isEmpty:
            return .init(kind: .joining, reason: "shows \(object.members.count) rows as one")
        case .shown(let cleared, false):
            let names = cleared.flatMap { place in
                object.table.foreignKeys[object.references[place].foreignKey].columns.map {
                    object.table.columns[$0].name
                }
            }
            if names.isEmpty {
                return .init(kind: .resolvedKey, reason: "it refers to a row that is one with an older one")
            }
            return .init(
                kind: .clearedReference, reason: "\(names.joined(separator: ", ")) refers to a row that is gone")
        case .waits(let reference):
            let key = object.table.foreignKeys[object.references[reference].foreignKey]
            let names = key.columns.map { object.table.columns[$0].name }.joined(separator: ", ")
            let isMissing = try !UnknownTargets(access).targets(of: object.table, object.values).isEmpty
            if isMissing {
                return .init(kind: .missing, reason: "\(names) refers to a row that this device does not know")
            }
            return .init(kind: .waiting, reason: "\(names) refers to a row that is not there")
        case .outranked(let claim):
            return .init(kind: .outranked, reason: "an older row has the same \(names(of: claim, object.table))")
        case .refused:
            return .init(kind: .refused, reason: object.refusal ?? "")
        }
    }

    private func names(of claim: RuleClaim, _ table: TrackedTable) -> String {
        guard let place = claim.index else { return "key" }
        return table.uniqueIndexes[place].terms.map { $0.column.map { table.columns[$0].name } ?? $0.expression ?? "" }
            .joined(separator: ", ")
    }
}
