import FerryContainer
import FerryCore
import FerryDocuments

/// Makes a directory look like the documents. Each step looks at the disk before and after: files written by somebody meanwhile stay.
struct MirrorOutflow<Disk: MirrorDisk, Base: MirrorBase> where Disk.Source == Base.Source {
    private let disk: Disk
    private let base: Base

    init(_ disk: Disk, _ base: Base) {
        self.disk = disk
        self.base = base
    }

    /// The outcome of a step.
    private enum Outcome {
        case done
        /// Somebody is at the file: the next pass plans anew.
        case later
        /// As `later`: a program has the file open for writing.
        case inUse(DiskPath)
        /// The bytes are not on this device.
        case missing(DiskScan.Left)
        /// The disk has no room for the document, or the system refuses the change.
        case stuck(StuckItem)
        case left(DiskScan.Left)
    }

    func run(
        _ sight: MirrorSight, _ waiting: Set<MirrorKey>, _ obstacles: DiskObstacles, _ report: inout MirrorReport,
        tell: (Int, Int) -> Void
    ) throws {
        let (entries, wanted) = (sight.entries, sight.wanted)
        let blocked = wanted.items.filter { obstacles.block($0.path) != nil }.map(\.key)
        let unknown = entries.filter { sight.state.isUnknown($0.key.document) }
        for entry in unknown where entry.kind == .file {
            report.left.append(
                .init(path: entry.path.text, reason: "what became of its document has not arrived; it stays as it is"))
        }
        report.left += wanted.left
        report.renamed += wanted.renamed
        report.conflicts = Set(wanted.items.filter { $0.key.rival != nil }.map(\.key.document)).count
        var known: [MirrorKey: MirrorEntry] = [:]
        for entry in entries { known[entry.key] = entry }
        let plan = OutflowPlan(entries, wanted, waiting: waiting.union(unknown.map(\.key)).union(blocked))
        var batch = OutflowBatch()
        for (place, step) in plan.steps.enumerated() where !batch.add(step, known) {
            tell(place - batch.steps.count, plan.steps.count)
            try carryOut(batch.steps, &known, &report)
            batch = OutflowBatch()
            _ = batch.add(step, known)
        }
        tell(plan.steps.count - batch.steps.count, plan.steps.count)
        try carryOut(batch.steps, &known, &report)
    }

    // MARK: Batches

    /// Above this number of incoming bytes no further file is replaced at once: the former files need room as well.
    private static var maximumReplacedBytes: Int { 64 << 20 }

    /// Carries out steps that touch different items: all bytes first, then all names, then all entries. A file without an entry is
    /// recognized by the file's bytes.
    private func carryOut(
        _ steps: [OutflowStep], _ known: inout [MirrorKey: MirrorEntry], _ report: inout MirrorReport
    ) throws {
        var rest = steps[...]
        while !rest.isEmpty {
            let staged = try stage(rest, known)
            var notes = OutflowNotes()
            do {
                for (step, outcome) in zip(rest, staged) {
                    count(step, try outcome ?? performIfAllowed(step, &known, &notes), &report)
                }
            } catch let error as FerryError {
                // What was done is noted, so that the next pass does not begin anew. The thrown error tells more than an error about the notes.
                try? finish(notes)
                throw error
            }
            try finish(notes)
            rest = rest.dropFirst(staged.count)
        }
    }

    /// Writes the bytes of new and changed files into the mirror's own folder, durably.
    /// - Returns: for each of the first steps, at least one, the outcome where the step is over by that.
    private func stage(_ steps: ArraySlice<OutflowStep>, _ known: [MirrorKey: MirrorEntry]) throws -> [Outcome?] {
        var (outcomes, names, replaced): ([Outcome?], [String], Int) = ([], [], 0)
        for step in steps {
            guard let (name, item, like) = incoming(step, known) else {
                outcomes.append(nil)
                continue
            }
            if replaced > Self.maximumReplacedBytes { break }
            if case .replace(let key, _) = step, let old = known[key], let outcome = try unrest(old) {
                outcomes.append(outcome)
                continue
            }
            guard case .success(let source) = try base.source(of: item.content) else {
                outcomes.append(.missing(.init(path: item.path.text, reason: Self.absence(step))))
                continue
            }
            do {
                try disk.write(source, toWork: name, item, like: like)
                names.append(name)
                outcomes.append(nil)
                if case .replace = step {
                    replaced += 1 + (try disk.item(at: DiskPath.work.appending(name))?.stamp.size ?? 0)
                }
            } catch let error as FerryError where error.isOfRoom {
                // The files replaced before may leave room.
                if replaced > 0 { break }
                outcomes.append(.stuck(StuckItem(item.path.text, .unwritten)))
            }
        }
        if !names.isEmpty { try disk.synchronizeWork(names) }
        return outcomes
    }

    /// The file that a step brings: the name in the mirror's own folder, and the file with the rights for it.
    private func incoming(
        _ step: OutflowStep, _ known: [MirrorKey: MirrorEntry]
    ) -> (name: String, item: WantedItem, like: DiskPath?)? {
        switch step {
        case .write(let item):
            // A copy is as private as its document's own file.
            let own = item.key.rival == nil ? nil : known[MirrorKey(document: item.key.document)]?.path
            return (WorkName.new(item.version), item, own)
        case .replace(let key, let item):
            guard let old = known[key] else { return nil }
            return (WorkName.out(item.key.document, old.version, item.version), item, old.path)
        case .remove, .aside, .move, .makeFolder, .note, .removeFolder: return nil
        }
    }

    private static func absence(_ step: OutflowStep) -> String {
        if case .write = step { return "its bytes are not on this device yet" }
        return "the bytes of its new version are not on this device yet"
    }

    /// Notes the items on the disk now, and removes files that left their places. The names are durable before: a name lost with the power
    /// must not look like a deletion.
    private func finish(_ notes: OutflowNotes) throws {
        if notes.isEmpty { return }
        try disk.synchronize()
        try base.change { rows in
            for entry in notes.entries { try rows.put(entry) }
            for key in notes.forgotten { try rows.removeEntry(of: key) }
        }
        for (name, entry) in notes.leaving { try settle(name, entry) }
    }

    private func count(_ step: OutflowStep, _ outcome: Outcome, _ report: inout MirrorReport) {
        switch outcome {
        case .done: count(step, &report)
        case .later: report.waiting += 1
        case .inUse(let path):
            report.waiting += 1
            report.keep(StuckItem(path.text, .writing))
        case .missing(let left):
            report.missing += 1
            report.left.append(left)
        case .stuck(let item):
            report.keep(item)
        case .left(let left): report.left.append(left)
        }
    }

    private func count(_ step: OutflowStep, _ report: inout MirrorReport) {
        switch step {
        case .write, .replace, .makeFolder: report.written += 1
        case .move: report.moved += 1
        case .remove, .removeFolder: report.removed += 1
        case .aside, .note: break
        }
    }

    /// Performs a step, unless the system refuses the change of this one file or folder: all others go on.
    private func performIfAllowed(
        _ step: OutflowStep, _ known: inout [MirrorKey: MirrorEntry], _ notes: inout OutflowNotes
    ) throws -> Outcome {
        do {
            return try perform(step, &known, &notes)
        } catch let error as FerryError where error.isRefusal {
            guard let path = Self.path(of: step, known) else { throw error }
            if case .write(let item) = step { try disk.removeWork(WorkName.new(item.version)) }
            return .stuck(StuckItem(path.text, .unchanged))
        }
    }

    /// The path of a step's file or folder, as people know the path.
    private static func path(of step: OutflowStep, _ known: [MirrorKey: MirrorEntry]) -> DiskPath? {
        switch step {
        case .makeFolder(let item), .write(let item), .replace(_, let item): item.path
        case .remove(let key), .aside(let key), .move(let key, _), .note(let key, _), .removeFolder(let key):
            known[key]?.path
        }
    }

    private func perform(
        _ step: OutflowStep, _ known: inout [MirrorKey: MirrorEntry], _ notes: inout OutflowNotes
    ) throws -> Outcome {
        switch step {
        case .remove(let key):
            guard let entry = known[key] else { return .later }
            return try remove(entry, &known, &notes)
        case .aside(let key): return try move(key, to: OutflowPlan.aside(key), &known, &notes)
        case .move(let key, let path): return try move(key, to: path, &known, &notes)
        case .makeFolder(let item): return try makeFolder(item, &known, &notes)
        case .write(let item): return try place(item, &known, &notes)
        case .replace(let key, let item):
            guard let entry = known[key] else { return .later }
            return try replace(entry, item, &known, &notes)
        case .note(let key, let version):
            guard var entry = known[key] else { return .later }
            entry.version = version
            notes.put(entry, &known)
            return .done
        case .removeFolder(let key):
            guard let entry = known[key] else { return .later }
            return try removeFolder(entry, &known, &notes)
        }
    }

    /// The outcome of a step for a file that was changed since the entry, or has a writer; `nil` for a file at rest.
    private func unrest(_ entry: MirrorEntry) throws -> Outcome? {
        guard try disk.item(at: entry.path)?.stamp == entry.stamp else { return .later }
        return try disk.isOpenForWriting(entry.path) ? .inUse(entry.path) : nil
    }

    // MARK: Files

    /// Gives a new file a name in the directory.
    private func place(
        _ item: WantedItem, _ known: inout [MirrorKey: MirrorEntry], _ notes: inout OutflowNotes
    ) throws -> Outcome {
        let name = WorkName.new(item.version)
        let work = DiskPath.work.appending(name)
        guard let written = try disk.item(at: work), try disk.rename(work, to: item.path) else {
            try disk.removeWork(name)
            return .later
        }
        notes.put(try entry(of: item, at: item.path, written.stamp), &known)
        return .done
    }

    /// The entry of a file just put into place.
    /// - Parameter written: the stamp before.
    private func entry(of item: WantedItem, at path: DiskPath, _ written: DiskStamp) throws -> MirrorEntry {
        // A new name changes only the file's time of change. A file with more changes was edited: the entry keeps the stamp from before the
        // rename.
        let now = try disk.item(at: path)?.stamp
        let stamp = now.flatMap { $0.hasSameBytes(as: written) ? $0 : nil } ?? written
        return MirrorEntry(
            path: path, key: item.key, kind: .file, version: item.version, content: item.content, stamp: stamp)
    }

    /// Puts a written file in the place of an old file.
    private func replace(
        _ old: MirrorEntry, _ item: WantedItem, _ known: inout [MirrorKey: MirrorEntry], _ notes: inout OutflowNotes
    ) throws -> Outcome {
        let out = WorkName.out(item.key.document, old.version, item.version)
        if let outcome = try unrest(old) {
            try disk.removeWork(out)
            return outcome
        }
        guard let written = try disk.item(at: DiskPath.work.appending(out)) else { return .later }
        do {
            switch try disk.exchange(DiskPath.work.appending(out), with: old.path) {
            case true: break
            case false:
                try disk.removeWork(out)
                return .later
            case nil:
                guard try putInPlace(out, of: old, item) else { return .later }
            }
        } catch let error as FerryError where error.isRefusal {
            // The old file is in its place: nothing was exchanged.
            if try disk.item(at: old.path)?.stamp.hasSameBytes(as: old.stamp) == true { try disk.removeWork(out) }
            throw error
        }
        notes.put(try entry(of: item, at: old.path, written.stamp), &known)
        notes.leaving.append((out, old))
        return .done
    }

    /// Puts a file in an old file's place where the disk cannot exchange both.
    private func putInPlace(_ out: String, of old: MirrorEntry, _ item: WantedItem) throws -> Bool {
        let (work, new) = (DiskPath.work.appending(out), DiskPath.work.appending(WorkName.new(item.version)))
        try disk.removeWork(WorkName.new(item.version))
        guard try disk.rename(work, to: new), try disk.rename(old.path, to: work) else { return false }
        if try disk.rename(new, to: old.path) { return true }
        // Somebody made a file there meanwhile. The old file is a version already, or becomes a version.
        return false
    }

    /// Looks at a file out of its place, and removes the file if its bytes are a version's.
    private func settle(_ out: String, _ old: MirrorEntry) throws {
        let path = DiskPath.work.appending(out)
        guard let item = try disk.item(at: path), item.stamp.hasSameBytes(as: old.stamp),
            try !disk.isOpenForWriting(path)
        else { return }
        try disk.removeWork(out)
    }

    private func remove(
        _ entry: MirrorEntry, _ known: inout [MirrorKey: MirrorEntry], _ notes: inout OutflowNotes
    ) throws -> Outcome {
        // A missing file needs no more steps: the next pass finds no file.
        if let outcome = try unrest(entry) { return outcome }
        let out = WorkName.out(entry.key.document, entry.version, nil)
        guard try disk.rename(entry.path, to: DiskPath.work.appending(out)) else { return .later }
        notes.forget(entry.key, &known)
        notes.leaving.append((out, entry))
        return .done
    }

    private func move(
        _ key: MirrorKey, to path: DiskPath, _ known: inout [MirrorKey: MirrorEntry], _ notes: inout OutflowNotes
    ) throws -> Outcome {
        // A file new there since the plan belongs to a different document, or to a person.
        guard let entry = known[key], let before = try presentItem(entry) else { return .later }
        if entry.kind == .file, try disk.isOpenForWriting(entry.path) { return .inUse(entry.path) }
        guard try disk.rename(entry.path, to: path) else { return .later }
        var moved = [entry]
        if entry.kind == .folder { moved += known.values.filter { $0.path.isBelow(entry.path) } }
        for place in moved.indices { moved[place].path = moved[place].path.moved(from: entry.path, to: path) }
        if before.stamp == entry.stamp || entry.kind == .folder, let after = try disk.item(at: path),
            after.stamp.hasSameBytes(as: before.stamp)
        {
            moved[0].stamp = after.stamp
        }
        for entry in moved { notes.put(entry, &known) }
        return .done
    }

    /// The item at an entry's path, while still the same thing as in the entry.
    private func presentItem(_ entry: MirrorEntry) throws -> DiskItem? {
        guard let item = try disk.item(at: entry.path), item.kind == entry.kind,
            item.stamp.isSameThing(as: entry.stamp, isFolder: entry.kind == .folder)
        else { return nil }
        return item
    }

    // MARK: Folders

    private func makeFolder(
        _ item: WantedItem, _ known: inout [MirrorKey: MirrorEntry], _ notes: inout OutflowNotes
    ) throws -> Outcome {
        guard try disk.makeFolder(at: item.path), let made = try disk.item(at: item.path) else { return .later }
        notes.put(
            MirrorEntry(
                path: item.path, key: item.key, kind: .folder, version: item.version, content: .zero,
                stamp: made.stamp), &known)
        return .done
    }

    private func removeFolder(
        _ entry: MirrorEntry, _ known: inout [MirrorKey: MirrorEntry], _ notes: inout OutflowNotes
    ) throws -> Outcome {
        guard try presentItem(entry) != nil else { return .later }
        if try disk.removeFolder(at: entry.path) {
            notes.forget(entry.key, &known)
            return .done
        }
        if entry.path.isBelow(.work) {
            // The rest in the folder is a person's: the folder gets a name where people see the files.
            return try move(entry.key, to: WorkName.leftOver(entry.key.document), &known, &notes)
        }
        let isKept = known.values.contains { $0.path.isBelow(entry.path) }
        return .left(
            .init(
                path: entry.path.text,
                reason: isKept
                    ? "it was deleted, and something in it cannot be removed yet"
                    : "it was deleted, and something in it is no document"))
    }
}
