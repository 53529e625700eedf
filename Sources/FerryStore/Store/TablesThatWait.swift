import FerryCore
import FerryMerge

/// The part of a pass for tables this process cannot write to (Docs/Architecture/replay.md, "Tables that wait for the
/// app").
extension Store {
    /// Records the tables this process cannot write to.
    /// - Parameter hasFailed: true if a pass failed with the present knowledge. If nothing new is found, pending
    ///   changes wait too.
    /// - Returns: true if more waits than before.
    @discardableResult
    func noteWaitingTables(hasFailed: Bool = false) throws -> Bool {
        try access { access in
            let former = try WaitingMark.load(access.meta)
            var waiting = try WaitingTables.find(among: access.registry.tables.keys, access.registry, access.connection)
            // The mark identifies rows waiting since an earlier pass and writable now.
            waiting.holdsNotes = former?.holdsNotes ?? false
            if waiting.isEmpty { return (false, []) }
            var mark = WaitingMark(waiting)
            for (number, reason) in former?.tables ?? [:] where mark.tables[number] == nil {
                mark.tables[number] = reason
            }
            if hasFailed, mark.numbers == former?.numbers { mark.holdsNotes = true }
            if mark == former { return (false, []) }
            try mark.save(access.meta)
            return (true, [])
        }
    }

    /// Lets waiting rows follow their states, as far as this process has everything their tables use.
    func letRowsFollow(_ work: inout PassWork) throws {
        let access = work.access
        guard let mark = try WaitingMark.load(access.meta), mark.numbers != access.waiting.reasons.keys.sorted() else {
            return
        }
        let registry = access.registry
        let concerned = WaitingTables(mark.numbers).connected(registry)
        try settle(WaitingObjects(access).exceptions(in: concerned), access, &work.touched)
        if access.waiting.isEmpty {
            try access.meta.remove(.waitingTables)
        } else {
            try WaitingMark(access.waiting).save(access.meta)
        }
    }

    /// True if a pass would have work besides waiting rows and changes.
    func hasWorkBesideWaiting(_ mark: WaitingMark, _ connection: SQLConnection) throws -> Bool {
        let registry = try registries.asRead(connection).registry
        let present = try mark.present(registry, connection)
        if present.reasons.keys.sorted() != mark.numbers { return true }
        var held = "0"
        if present.holdsNotes {
            let numbers = present.connected(registry).sorted().map { "\($0)" }.joined(separator: ", ")
            held = "\"table\" IN (\(numbers))"
        }
        return try connection.count("SELECT EXISTS(SELECT 1 FROM ferry_pending WHERE NOT (\(held)))") != 0
    }
}
