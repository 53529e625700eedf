import Ferry

/// The advice for showing rows as written, for each reason against it.
enum ShownAgain {
    static func advice(_ kind: StatusReport.Exceptional.Kind) -> String {
        switch kind {
        case .waiting:
            "The row is shown as soon as the row that it refers to is shown: once that one comes back or is written again."
        case .missing: "The row is shown when the changes arrive that made the row it refers to."
        case .outranked: "The row is shown when the older row gives up the value, or when this one gets another."
        case .refused:
            "The row is shown when the schema takes it: change the constraint, or on any device the values that break it."
        case .awaitingApp:
            "The row is shown when the app itself syncs: it has the collation or function that this program lacks."
        case .outdated: "The new values are shown when the app itself syncs: it has what this program lacks."
        case .heldBack: "The row goes when no other row refers to it any more."
        case .clearedReference: "The reference is shown again when the row that it leads to is back."
        case .joined:
            "They are one row as long as they share the value. Change or clear the value, and they come apart."
        case .joining, .resolvedKey: "The row follows the row that it is one with."
        case .stranded:
            "The table stays on this device, so the app decides: delete the row, or let it refer to another."
        case .left: "A new database that joins the container gets the rows back, if any device still has them."
        }
    }
}
