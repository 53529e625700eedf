import FerryContainer
import FerryCore
import FerryDocuments
import FerryEngine

/// The documents and entries at one moment, and the look that the directory should have by then.
struct MirrorSight {
    let entries: [MirrorEntry]
    let state: MirrorTree
    let wanted: WantedItems

    init(entries: [MirrorEntry], state: MirrorTree, rules: DiskRules, ignoring: IgnoreRules) {
        self.entries = entries
        self.state = state
        wanted = WantedItems(state, entries: entries, rules: rules, ignoring: ignoring)
    }
}

/// Brings a directory and the documents into step, once. First people's changes of the directory go to the documents, then changes of the
/// documents go to the directory.
///
/// Invariants:
/// - An edit supersedes the version that the entry had on the disk, even where a newer version is current by now.
/// - No step destroys bytes without a version. A file goes from its place first, and is looked at where nobody else finds the file. A file
///   unlike the entry becomes a version.
/// - A crash between two steps leaves files in the mirror's own folder under telling names. The next pass goes on with the files.
package struct MirrorPass<Disk: MirrorDisk, Base: MirrorBase> where Disk.Source == Base.Source {
    package let disk: Disk
    package let base: Base
    package var preference: IntakeWriter.Preference = .both
    /// True: deletions are meant, however many.
    package var isConfirmed = false
    /// A file is read after so many milliseconds without a write.
    package var quietMilliseconds: Int64 = 200
    /// Told of the files read, and of the steps of the directory.
    package var progress: ProgressHandler?

    package init(_ disk: Disk, _ base: Base) {
        self.disk = disk
        self.base = base
    }

    package func run() throws -> MirrorReport {
        var report = MirrorReport()
        try MirrorWork(disk, base).recover(&report)
        let ignoring = try disk.ignoreText().map(IgnoreRules.init) ?? .builtIn
        let scan = try disk.scan(ignoring)
        let obstacles = try scan.obstacles(base.entries(), disk.rules)
        report.stuck = scan.unreadable.map { StuckItem($0.path.text, .name) }
        report.stuck += scan.obstacles.filter { $0.value == .closedFolder }.map {
            StuckItem($0.key.text, .folder)
        }
        report.stuck.sort { DiskPath($0.path) < DiskPath($1.path) }
        report.left += report.stuck.filter { $0.reason == .name }.map {
            DiskScan.Left(path: $0.path, reason: $0.reason.words)
        }
        for item in scan.items where item.kind == .file && scan.journaled.contains(item.path) {
            if try disk.waitReason(item.path) != nil { report.keep(StuckItem(item.path.text, .inUse)) }
        }
        guard let (waiting, seen) = try takeIn(scan, obstacles, ignoring, &report) else {
            report.left += obstacles.idle([])
            return report
        }
        let present = try seen ?? sight(ignoring)
        report.blocked = present.wanted.items.compactMap { obstacles.block($0.path) }
            .filter { $0.obstacle != .closedFolder }.sorted { DiskPath($0.path) < DiskPath($1.path) }
        report.left += obstacles.idle(report.blocked)
        try MirrorOutflow(disk, base).run(present, waiting, obstacles, &report) {
            progress?(SyncProgress(phase: .mirroring, completed: $0, total: $1))
        }
        return report
    }

    private func sight(_ ignoring: IgnoreRules) throws -> MirrorSight {
        MirrorSight(
            entries: try base.entries(), state: try base.tree(), rules: disk.rules, ignoring: ignoring)
    }

    /// Takes people's changes of the directory.
    /// - Returns: the files closed to changes now, and the documents and entries seen where nothing changed; `nil` while deletions are
    ///   held.
    private func takeIn(
        _ scan: DiskScan, _ obstacles: DiskObstacles, _ ignoring: IgnoreRules, _ report: inout MirrorReport
    ) throws -> (waiting: Set<MirrorKey>, seen: MirrorSight?)? {
        let seen = try sight(ignoring)
        let entries = seen.entries
        report.left += scan.left
        report.folders = scan.items.filter { $0.kind == .folder && !$0.path.isBelow(.own) }.map(\.path)
        let look = MirrorLook(entries, scan.items)
        let (readings, refused) = try read(look.unread, scan.journaled, &report)
        var circumstances = MirrorIntake.Circumstances(
            readings: readings, wanted: seen.wanted, ignoring: ignoring, obstacles: obstacles,
            nowMilliseconds: base.nowMilliseconds(), isConfirmed: isConfirmed)
        circumstances.unreadable = refused
        let intake = MirrorIntake(look, circumstances)
        if !intake.held.isEmpty {
            report.held = intake.held.count
            return nil
        }
        report.waiting += intake.waiting.count
        let untouched = intake.waiting.union(intake.closed)
        if intake.steps.isEmpty { return (untouched, seen) }
        let counts = try base.change { rows in
            try IntakeWriter.apply(intake.steps, of: entries, to: rows, preferring: preference)
        }
        report.taken += counts.added + counts.saved
        report.moved += counts.moved
        report.removed += counts.dropped
        return (untouched, nil)
    }

    /// Reads files without a writer.
    /// - Returns: the read files, and the files that cannot be read, or have no room beside the database.
    private func read(
        _ items: [DiskItem], _ journaled: Set<DiskPath>, _ report: inout MirrorReport
    ) throws -> (readings: [DiskPath: FileReading], refused: Set<DiskPath>) {
        let now = base.nowMilliseconds()
        let quiet = try items.filter { item in
            let isQuiet = Self.isQuiet(item.stamp, now, quietMilliseconds)
            return try isQuiet && !disk.isOpenForWriting(item.path)
        }
        report.waiting += items.count - quiet.count
        if quiet.count < items.count {
            let read = Set(quiet.map(\.path))
            for item in items where !read.contains(item.path) && !journaled.contains(item.path) {
                if let reason = try disk.waitReason(item.path) {
                    report.left.append(.init(path: item.path.text, reason: reason))
                } else if try disk.isOpenForWriting(item.path) {
                    report.keep(StuckItem(item.path.text, .writing))
                }
            }
        }
        if quiet.isEmpty { return ([:], []) }
        progress?(SyncProgress(phase: .mirroring, completed: 0, total: quiet.count))
        var (readings, refused): ([DiskPath: FileReading], Set<DiskPath>) = ([:], [])
        let results = try base.store(quiet.map { disk.source(at: $0.path) })
        for (item, result) in zip(quiet, results) {
            switch result {
            case .success(let content):
                // The read bytes are the file's only where nobody touched the file between two looks.
                guard try disk.item(at: item.path)?.stamp == item.stamp else {
                    report.waiting += 1
                    continue
                }
                readings[item.path] = FileReading(content: content, stamp: item.stamp)
            case .failure(let error):
                if error.code == .busy || error.code == .nothingFound {
                    report.waiting += 1
                } else if error.isOfRoom {
                    refused.insert(item.path)
                    report.keep(StuckItem(item.path.text, .untaken))
                } else {
                    report.left.append(.init(path: item.path.text, reason: error.message))
                    if error.code != .inputOutput { continue }
                    refused.insert(item.path)
                    report.stuck.append(StuckItem(item.path.text, .file))
                }
            }
        }
        return (readings, refused)
    }

    /// A time in the future comes from a wrong clock, or was set on the file: the second time decides.
    private static func isQuiet(_ stamp: DiskStamp, _ now: Int64, _ quiet: Int64) -> Bool {
        [stamp.modified, stamp.changed].allSatisfy { time in
            let milliseconds = time / 1_000_000
            return milliseconds > now || now - milliseconds >= quiet
        }
    }
}
