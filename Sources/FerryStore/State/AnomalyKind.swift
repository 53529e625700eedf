/// The reason for an object not to be shown as written (the column `kind` of `ferry_exception`).
public enum AnomalyKind: Int, Sendable, Codable, CaseIterable {
    /// Hidden until the object's target is shown.
    case waiting = 1
    /// Hidden because an older row has the same UNIQUE value.
    case outranked = 2
    /// Hidden because the schema refuses the row.
    case refused = 3
    /// Deleted and retained by referring rows.
    case heldBack = 4
    /// Shown with a cleared reference.
    case clearedReference = 5
    /// Without an own row: an older object's row with the same UNIQUE value or key stands for both.
    case joined = 6
    /// Shown by a row that also stands for younger objects with the same UNIQUE value.
    case joining = 7
    /// Shown with a key value of the row that stands for the object's target. Or, under a UNIQUE index, with a part of
    /// that key.
    case resolvedKey = 8
    /// Hidden until the target by RESTRICT or NO ACTION is known here. The target may have been forgotten.
    case missing = 9
    /// Hidden until a pass of a process with the app's collation or function.
    case awaitingApp = 10
    /// Shown with former values until such a pass.
    case outdated = 11

    package var isHidden: Bool {
        switch self {
        case .waiting, .outranked, .refused, .missing, .awaitingApp: true
        case .heldBack, .clearedReference, .joined, .joining, .resolvedKey, .outdated: false
        }
    }

    /// The kinds following from rule 3.
    static let ofClasses: [AnomalyKind] = [.joined, .joining, .resolvedKey]
    /// The kinds of rows waiting for an equipped process.
    static let ofWaiting: [AnomalyKind] = [.awaitingApp, .outdated]
    /// The kinds of objects whose display a write to a related object may change, besides those found by their claims.
    static let dependent = allCases.filter { !ofClasses.contains($0) && !ofWaiting.contains($0) }
    /// The kinds of objects without an own row.
    static let withoutRow = allCases.filter { $0.isHidden || $0 == .joined }

    /// True if the entry may interest a person. Mere consequences of a different entry do not.
    var isListed: Bool { self != .joining && self != .resolvedKey }
}
