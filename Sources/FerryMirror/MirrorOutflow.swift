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
        /// The bytes are not on this device.
        case missing(DiskScan.Left)
        /// The disk has no room for the document, or the system refuses the change.
        case stuck(StuckItem)
        case left(DiskScan.Left)
    }

    func run(
        _ sight: MirrorSight, _ waiting: Set<MirrorKey>, _ obstacles: DiskObstacles, _ report: inout MirrorReport
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
        var new: [WantedItem] = []
        for step in OutflowPlan(entries, wanted, waiting: waiting.union(unknown.map(\.key)).union(blocked)).steps {
            if case .write(let item) = step {
                new.append(item)
                if new.count < Self.batch { continue }
            }
            try write(new, &known, &report)
            new = []
            if case .write = step { continue }
            count(step, try performIfAllowed(step, &known), &report)
        }
        try write(new, &known, &report)
    }

    /// So many new files are made durable together, and get their entries in a single transaction. A file without an entry is recognized by
    /// the file's bytes.
    private static var batch: Int { 256 }

    /// Writes new files: all bytes first, then all names, then all entries.
    private func write(
        _ items: [WantedItem], _ known: inout [MirrorKey: MirrorEntry], _ report: inout MirrorReport
    ) throws {
        if items.isEmpty { return }
        let present = try items.filter { item in
            guard case .success(let source) = try base.source(of: item.content) else {
                let left = DiskScan.Left(path: item.path.text, reason: "its bytes are not on this device yet")
                count(.write(item), .missing(left), &report)
                return false
            }
            do {
                // A copy is as private as its document's own file.
                let own = item.key.rival == nil ? nil : known[MirrorKey(document: item.key.document)]?.path
                try disk.write(source, toWork: WorkName.new(item.version), item, like: own)
                return true
            } catch let error as FerryError where error.isOfRoom {
                count(.write(item), .stuck(StuckItem(item.path.text, .unwritten)), &report)
                return false
            }
        }
        try disk.synchronizeWork(present.map { WorkName.new($0.version) })
        var written: [MirrorEntry] = []
        for item in present { count(.write(item), try placeIfAllowed(item, &written), &report) }
        try put(written, &known)
    }

    private func count(_ step: OutflowStep, _ outcome: Outcome, _ report: inout MirrorReport) {
        switch outcome {
        case .done: count(step, &report)
        case .later: report.waiting += 1
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
    private func performIfAllowed(_ step: OutflowStep, _ known: inout [MirrorKey: MirrorEntry]) throws -> Outcome {
        do {
            return try perform(step, &known)
        } catch let error as FerryError where error.isRefusal {
            guard let path = Self.path(of: step, known) else { throw error }
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

    private func perform(_ step: OutflowStep, _ known: inout [MirrorKey: MirrorEntry]) throws -> Outcome {
        switch step {
        case .remove(let key):
            guard let entry = known[key] else { return .later }
            return try remove(entry, &known)
        case .aside(let key): return try move(key, to: OutflowPlan.aside(key), &known)
        case .move(let key, let path): return try move(key, to: path, &known)
        case .makeFolder(let item): return try makeFolder(item, &known)
        case .write: return .later
        case .replace(let key, let item):
            guard let entry = known[key] else { return .later }
            return try replace(entry, item, &known)
        case .note(let key, let version):
            guard var entry = known[key] else { return .later }
            entry.version = version
            try put([entry], &known)
            return .done
        case .removeFolder(let key):
            guard let entry = known[key] else { return .later }
            return try removeFolder(entry, &known)
        }
    }

    /// Notes the items on the disk now. The names are durable before: a name lost with the power must not look like a deletion.
    private func put(_ entries: [MirrorEntry], _ known: inout [MirrorKey: MirrorEntry]) throws {
        if entries.isEmpty { return }
        try disk.synchronize()
        try base.change { rows in for entry in entries { try rows.put(entry) } }
        for entry in entries { known[entry.key] = entry }
    }

    private func forget(_ key: MirrorKey, _ known: inout [MirrorKey: MirrorEntry]) throws {
        try disk.synchronize()
        try base.change { try $0.removeEntry(of: key) }
        known[key] = nil
    }

    /// Whether a file has the stamp of the file's entry, and nobody writes to the file.
    private func isAtRest(_ entry: MirrorEntry) throws -> Bool {
        try disk.item(at: entry.path)?.stamp == entry.stamp && !disk.isOpenForWriting(entry.path)
    }

    // MARK: Files

    /// Gives a new file a name in the directory, unless the system refuses the name.
    private func placeIfAllowed(_ item: WantedItem, _ entries: inout [MirrorEntry]) throws -> Outcome {
        do {
            return try place(item, &entries)
        } catch let error as FerryError where error.isRefusal {
            try disk.removeWork(WorkName.new(item.version))
            return .stuck(StuckItem(item.path.text, .unchanged))
        }
    }

    /// Gives a new file a name in the directory.
    private func place(_ item: WantedItem, _ entries: inout [MirrorEntry]) throws -> Outcome {
        let name = WorkName.new(item.version)
        let work = DiskPath.work.appending(name)
        guard let written = try disk.item(at: work), try disk.rename(work, to: item.path) else {
            try disk.removeWork(name)
            return .later
        }
        entries.append(try entry(of: item, at: item.path, written.stamp))
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

    private func replace(
        _ old: MirrorEntry, _ item: WantedItem, _ known: inout [MirrorKey: MirrorEntry]
    ) throws -> Outcome {
        guard try isAtRest(old) else { return .later }
        guard case .success(let source) = try base.source(of: item.content) else {
            return .missing(
                .init(path: item.path.text, reason: "the bytes of its new version are not on this device yet"))
        }
        let out = WorkName.out(item.key.document, old.version, item.version)
        do {
            try disk.write(source, toWork: out, item, like: old.path)
        } catch let error as FerryError where error.isOfRoom {
            return .stuck(StuckItem(item.path.text, .unwritten))
        }
        try disk.synchronizeWork([out])
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
        try put([try entry(of: item, at: old.path, written.stamp)], &known)
        try settle(out, old)
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

    private func remove(_ entry: MirrorEntry, _ known: inout [MirrorKey: MirrorEntry]) throws -> Outcome {
        guard try isAtRest(entry) else {
            // A missing file needs no more steps: the next pass finds no file.
            return .later
        }
        let out = WorkName.out(entry.key.document, entry.version, nil)
        guard try disk.rename(entry.path, to: DiskPath.work.appending(out)) else { return .later }
        try forget(entry.key, &known)
        try settle(out, entry)
        return .done
    }

    private func move(
        _ key: MirrorKey, to path: DiskPath, _ known: inout [MirrorKey: MirrorEntry]
    ) throws -> Outcome {
        // A file new there since the plan belongs to a different document, or to a person.
        guard let entry = known[key], let before = try presentItem(entry) else { return .later }
        if entry.kind == .file, try disk.isOpenForWriting(entry.path) { return .later }
        guard try disk.rename(entry.path, to: path) else { return .later }
        var moved = [entry]
        if entry.kind == .folder { moved += known.values.filter { $0.path.isBelow(entry.path) } }
        for place in moved.indices { moved[place].path = moved[place].path.moved(from: entry.path, to: path) }
        if before.stamp == entry.stamp || entry.kind == .folder, let after = try disk.item(at: path),
            after.stamp.hasSameBytes(as: before.stamp)
        {
            moved[0].stamp = after.stamp
        }
        try put(moved, &known)
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

    private func makeFolder(_ item: WantedItem, _ known: inout [MirrorKey: MirrorEntry]) throws -> Outcome {
        guard try disk.makeFolder(at: item.path), let made = try disk.item(at: item.path) else { return .later }
        try put(
            [
                MirrorEntry(
                    path: item.path, key: item.key, kind: .folder, version: item.version, content: .zero,
                    stamp: made.stamp)
            ], &known)
        return .done
    }

    private func removeFolder(_ entry: MirrorEntry, _ known: inout [MirrorKey: MirrorEntry]) throws -> Outcome {
        guard try presentItem(entry) != nil else { return .later }
        if try disk.removeFolder(at: entry.path) {
            try forget(entry.key, &known)
            return .done
        }
        if entry.path.isBelow(.work) {
            // The rest in the folder is a person's: the folder gets a name where people see the files.
            return try move(entry.key, to: WorkName.leftOver(entry.key.document), &known)
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
