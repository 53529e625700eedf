import FerryStore

extension StatusReport.Peer {
    /// Says whether files of the container wait for a device.
    package enum Activity: String, Codable, Sendable {
        case active
        /// The device's head has not changed for long. No file waits for the device.
        case silent
        /// A person said that the device does not come back. No file waits for the device.
        case retired
    }

    /// The comparison of this device's state and rows with a peer's.
    public enum Standing: String, Codable, Sendable {
        /// Both devices have replayed the same changes, and the digests of their states and rows are equal.
        case inStep
        /// The peer has replayed changes that this device has not.
        case behind
        /// This device has changes that the peer has not replayed.
        case ahead
        /// Both `behind` and `ahead`.
        case apart
        /// Both devices have replayed the same changes and hold the same state. On either device, rows wait for a
        /// process with the app's collations or functions (`waitingTables`).
        case waits
        /// Both devices have replayed the same changes, and hold different states or show different rows.
        /// `Replica.verify` finds them.
        case differs
        /// Both devices have replayed the same changes, and digests prove nothing. The peer does not publish all
        /// digests, or has a table by a different schema (`differingSchemas`).
        case unproven
    }
}

extension StatusReport.Exceptional {
    /// The reason rows are not shown as written.
    public enum Kind: String, Codable, Sendable {
        /// Hidden until the row's target is shown.
        case waiting
        /// Hidden because an older row has the same UNIQUE value.
        case outranked
        /// Hidden because the schema refuses the row.
        case refused
        /// Hidden until the row's target arrives.
        case missing
        /// Hidden until a process with the app's collation or function syncs.
        case awaitingApp
        /// Deleted, and shown because other rows refer to the row.
        case heldBack
        /// Shown with a cleared reference: the target is gone.
        case clearedReference
        /// Shown with former values until a process with the app's collation or function syncs.
        case outdated
        /// Shown by the row of another object.
        case joined
        /// Shown, and stands for further objects.
        case joining
        /// Shown with a key value of the row that stands for the object's target.
        case resolvedKey
        /// Shown, in a local table, and refers to a row that is gone.
        case stranded
        /// No row here: the table was dropped or emptied without a deletion.
        case left
    }
}

extension StatusReport.Exceptional.Kind {
    package init(_ kind: AnomalyKind) {
        self =
            switch kind {
            case .waiting: .waiting
            case .outranked: .outranked
            case .refused: .refused
            case .heldBack: .heldBack
            case .clearedReference: .clearedReference
            case .joined: .joined
            case .joining: .joining
            case .resolvedKey: .resolvedKey
            case .missing: .missing
            case .awaitingApp: .awaitingApp
            case .outdated: .outdated
            }
    }
}
