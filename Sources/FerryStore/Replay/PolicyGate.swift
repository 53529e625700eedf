import FerryCore

/// Divides what is to be replayed by what it means at all, by what the policies allow, and by what this process can write.
///
/// A table with a policy that this process cannot apply is not replayed: the log of a device that changed it stops
/// there until the policy is known, or taken off. And what follows a change of the policies is replayed under them.
struct PolicyGate {
    private(set) var rest: ArraySlice<Changeset>
    /// The devices whose logs have stopped, and why.
    private(set) var refused: [DeviceID: FerryError] = [:]
    /// Those of them of which nothing more is in `rest` that may be replayed.
    private var stopped: Set<DeviceID> = []
    /// Tables, by name in lower case, whose changes cannot even be merged here, and why: their schema uses a collation or a function
    /// of the app's own. The log of a device that changed one stops there until the app syncs.
    private var obstacles: [String: String] = [:]

    init(_ changesets: [Changeset]) { rest = changesets[...] }

    /// Finds out which of the tables that are changed this process cannot write to, and which of them it cannot merge either.
    /// - Parameter areRowsNeeded: whether no table can wait, because its rows are written as they come.
    /// - Returns: those that it cannot write to.
    @discardableResult
    mutating func noteObstacles(_ access: StoreAccess, areRowsNeeded: Bool = false) throws -> WaitingTables {
        let registry = access.registry
        let changed = Set(rest.flatMap { $0.tables.map(\.name) }).compactMap { registry.table(named: $0)?.id }
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

    /// The next changesets to be replayed at once, the last of which may change the policies; `nil` at the end.
    mutating func next(_ registry: Registry, _ hooks: MergeHooks) -> [Changeset]? {
        var admitted: [Changeset] = []
        while let changeset = rest.popFirst() {
            if stopped.contains(changeset.device) { continue }
            if let error = objection(to: changeset, registry, hooks) {
                refused[changeset.device] = error
                stopped.insert(changeset.device)
                continue
            }
            admitted.append(changeset)
            if changeset.tables.contains(where: { $0.name == PolicyList.table }) { break }
        }
        return admitted.isEmpty ? nil : admitted
    }

    /// Takes away what cannot be replayed as things are, so that a pass that could do nothing need not begin.
    mutating func withdraw(_ registry: Registry, _ hooks: MergeHooks) {
        var held: Set<DeviceID> = []
        var isChanging = false
        var left: [Changeset] = []
        for changeset in rest where !held.contains(changeset.device) {
            // What follows may be allowed by then.
            if !isChanging, let error = objection(to: changeset, registry, hooks) {
                held.insert(changeset.device)
                refused[changeset.device] = error
                continue
            }
            isChanging = isChanging || changeset.tables.contains { $0.name == PolicyList.table }
            left.append(changeset)
        }
        rest = left[...]
    }

    /// Takes away what means nothing, whatever the policies are: each device's log stops there.
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
            if let obstacle = obstacles[foldedName(changes.name)] {
                return FerryError(
                    .missingFunction, "It changes the table \(changes.name). \(obstacle)",
                    device: changeset.device,
                    sequence: changeset.sequence)
            }
            guard let setting = registry.table(named: changes.name)?.unknownPolicy(hooks) else { continue }
            return FerryError(
                .unknownPolicy,
                "It changes the table \(changes.name), for which “\(setting.target.text)” has the policy "
                    + "“\(setting.word)”, which is not known here. "
                    + (setting.word.hasPrefix("hook:")
                        ? "Sync from the app that has this hook." : "Update Ferry on this device."),
                device: changeset.device, sequence: changeset.sequence)
        }
        return nil
    }
}
