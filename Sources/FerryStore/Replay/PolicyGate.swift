import FerryCore
import FerrySchema

/// Selects changesets for replay: admissible, allowed by the policies, and writable by this process.
///
/// A table under a policy unknown to this process is not replayed. The log of a device that changed the table stops
/// there until the policy is known or removed. Changesets after a policy change are replayed under the new policies.
///
/// What a stopped log has in other tables can be replayed ahead (`LogsAhead`), up to the next change of policies.
///
/// Invariants:
/// - `rest` has no changeset already returned by `next`.
/// - A device in `stopped` is in `refused`.
/// - `waiting` has changesets of stopped logs only.
struct PolicyGate {
    private(set) var rest: ArraySlice<Changeset>
    /// The devices with stopped logs, and the reasons.
    private(set) var refused: [DeviceID: FerryError] = [:]
    /// The stopped devices with no replayable changeset left in `rest`.
    private var stopped: Set<DeviceID> = []
    /// The changesets of stopped logs.
    private var waiting: [Changeset] = []
    /// Tables whose changes cannot even be merged here, by name in lower case, with the reason: their schema uses the
    /// app's collation or function. The log of a device that changed such a table stops there until the app syncs.
    private var obstacles: [String: String] = [:]

    init(_ changesets: [Changeset]) { rest = changesets[...] }

    /// True if there is nothing to replay, and no log waits.
    var isEmpty: Bool { rest.isEmpty && waiting.isEmpty }

    /// Finds the changed tables this process cannot write to, and the tables it cannot merge either.
    /// - Parameter areRowsNeeded: true if no table can wait, because rows are written as they come.
    /// - Returns: the tables this process cannot write to.
    @discardableResult
    mutating func recordObstacles(_ access: StoreAccess, areRowsNeeded: Bool = false) throws -> WaitingTables {
        let registry = access.registry
        let changed = Set(rest.flatMap { $0.tables.map { foldedName($0.name) } }).compactMap {
            registry.table(named: $0)?.id
        }
        let mark = try WaitingMark.load(access.meta)
        let known = try mark?.present(registry, access.connection)
        var waiting = try WaitingTables.find(
            among: Set(changed).union(mark?.numbers ?? []), registry, access.connection)
        waiting.holdsNotes = known?.holdsNotes ?? false
        let refusing = areRowsNeeded ? waiting.reasons : waiting.refusing
        for (number, reason) in refusing { obstacles[foldedName(registry[number].name)] = Self.obstacle(reason) }
        if waiting.holdsNotes {
            let names = waiting.reasons.keys.sorted().map { registry[$0].name }.joined(separator: ", ")
            for number in waiting.connected(registry) where refusing[number] == nil {
                obstacles[foldedName(registry[number].name)] = Self.obstacle(
                    waiting.reasons[number] ?? "it is connected with \(names)")
            }
        }
        return waiting
    }

    private static func obstacle(_ reason: String) -> String {
        "The database's schema uses a collation or a function that this process does not have (\(reason)). Sync from the app "
            + "that has it."
    }

    /// The next changesets to replay together. The last may change the policies; `nil` at the end.
    mutating func next(_ registry: Registry, _ hooks: MergeHooks) -> [Changeset]? {
        var admitted: [Changeset] = []
        while let changeset = rest.popFirst() {
            if stopped.contains(changeset.device) {
                waiting.append(changeset)
                continue
            }
            if let error = objection(to: changeset, registry, hooks) {
                refused[changeset.device] = error
                stopped.insert(changeset.device)
                waiting.append(changeset)
                continue
            }
            admitted.append(changeset)
            if changeset.tables.contains(where: { $0.name == PolicyList.table }) { break }
        }
        return admitted.isEmpty ? nil : admitted
    }

    /// Removes changesets impossible to replay now, so a pass without work need not begin.
    mutating func withdraw(_ registry: Registry, _ hooks: MergeHooks) {
        // The changesets before are replayed all the same.
        var held: Set<DeviceID> = []
        var isChanging = false
        var left: [Changeset] = []
        for changeset in rest {
            if held.contains(changeset.device) {
                waiting.append(changeset)
                continue
            }
            // A later policy may allow the following changesets.
            if !isChanging, let error = objection(to: changeset, registry, hooks) {
                held.insert(changeset.device)
                refused[changeset.device] = error
                waiting.append(changeset)
                continue
            }
            isChanging = isChanging || changeset.tables.contains { $0.name == PolicyList.table }
            left.append(changeset)
        }
        rest = left[...]
    }

    /// What stopped logs have in tables without an obstacle, as far as that was not replayed ahead before.
    /// - Parameter marks: what was replayed ahead; receives the rest.
    func ahead(_ marks: inout LogsAhead, _ registry: Registry, _ hooks: MergeHooks) -> [Changeset] {
        var ahead: [Changeset] = []
        for (device, log) in Dictionary(grouping: waiting, by: \.device).sorted(by: { $0.key < $1.key }) {
            // What follows a change of policies depends on the policies.
            let changesets = log.sorted { $0.sequence < $1.sequence }.prefix { changeset in
                !changeset.tables.contains { $0.name == PolicyList.table }
            }
            var withheld: Set<String> = []
            var left: [Changeset] = []
            for changeset in changesets {
                var rest = changeset
                rest.tables = []
                for changes in changeset.tables {
                    if objection(to: changes, of: changeset, registry, hooks) == nil {
                        rest.tables.append(changes)
                    } else {
                        withheld.insert(foldedName(changes.name))
                    }
                }
                if !rest.tables.isEmpty { left.append(rest) }
            }
            ahead += left.filter { !marks.includes($0, without: withheld) }
            if let last = left.last { marks.note(device, through: last.sequence, without: withheld) }
        }
        return ahead
    }

    /// Removes inadmissible changesets, whatever the policies: each such device's log stops there.
    mutating func withdrawInadmissible(_ admission: ChangesetAdmission) {
        var left: [Changeset] = []
        for changeset in rest where refused[changeset.device] == nil {
            if let objection = admission.objection(to: changeset) {
                refused[changeset.device] = objection
            } else {
                left.append(changeset)
            }
        }
        rest = left[...]
    }

    func objection(
        to changeset: Changeset, _ registry: Registry, _ hooks: MergeHooks
    ) -> FerryError? {
        for changes in changeset.tables {
            if let reason = objection(to: changes, of: changeset, registry, hooks) { return reason }
        }
        return nil
    }

    private func objection(
        to changes: TableChanges, of changeset: Changeset, _ registry: Registry, _ hooks: MergeHooks
    ) -> FerryError? {
        if let obstacle = obstacles[foldedName(changes.name)] {
            return FerryError(
                .missingFunction, "It changes the table \(changes.name). \(obstacle)", device: changeset.device,
                sequence: changeset.sequence, detail: changes.name)
        }
        return registry.table(named: changes.name)?.unknownPolicy(hooks).map { setting in
            FerryError(
                .unknownPolicy,
                "It changes the table \(changes.name), for which “\(setting.target.text)” has the policy "
                    + "“\(setting.word)”, which is not known here. "
                    + (setting.word.hasPrefix("hook:")
                        ? "Sync from the app that has this hook." : "Update Ferry on this device."),
                device: changeset.device, sequence: changeset.sequence,
                detail: "\(setting.target.text): \(setting.word)")
        }
    }
}
