import FerryCore
import FerryDocuments
import FerryMirror
import FerryTestSupport

/// A random history of mirrors: people edit directories on several devices, while mirrors work, die and go on, and devices exchange what
/// they wrote. A seed decides everything.
///
/// The oracle knows nothing of documents. It notes who had which bytes under a name when other bytes came there. Whatever a version stands in
/// the place of has to be something that its author had and replaced, and nothing that anybody wrote may be gone.
final class MirrorStory {
    final class Device {
        let disk: ModelDisk
        let base: ModelBase
        /// Files that programs have open for writing.
        var open: [ModelDisk.Node] = []
        /// Files that a program removed, and is about to make again.
        var gaps: [(path: DiskPath, since: Int64)] = []
        var lastGap: Int64 = 0
        /// What was last at a path.
        var last: [DiskPath: UInt64] = [:]
        /// What lies here because a person wrote it.
        var owed: Set<UInt64> = []
        var crashes = 0

        init(_ disk: ModelDisk, _ base: ModelBase) {
            self.disk = disk
            self.base = base
        }
    }

    private(set) var devices: [Device] = []
    private(set) var findings: [String] = []
    private(set) var counts: [String: Int] = [:]
    private(set) var story: [String] = []
    private var chance: Chance
    private var nextContent: UInt64 = 1
    /// Which bytes somebody replaced by which, knowingly. 0 stands for nothing.
    private var replaced: [UInt64: Set<UInt64>] = [:]
    private var now: Int64 = 1_772_373_600_000_000_000
    private var isQuiet = false
    private let names: [String]
    private let favorite: Int
    private let allowsCrashes: Bool
    /// A rule that the mirror lacks in this story.
    let omission: Omission

    enum Omission: String, CaseIterable {
        case nothing
        /// An edit stands in the place of what is current, whatever was on the disk.
        case versionOnDisk
        /// Nobody looks at what comes out of its place.
        case lookAtWhatComesOut
        /// A file may be replaced or removed that a program has open.
        case openFiles
        /// A new name may replace what has it.
        case renameWithoutReplacing
        /// What is gone for a moment is deleted.
        case absence
        /// What a process left that died, or took out of its place, stays where it is.
        case recovery
        /// A copy of a rival is a file like any other.
        case copies
    }

    private static let allNames = [
        "a.md", "b.md", "Report.txt", "x", "y.txt", "Data", "Übung.md", "notes.md", "c (2).md", "z.tmp",
    ]

    init(seed: UInt64, without omission: Omission = .nothing) {
        self.omission = omission
        chance = Chance(seed: seed)
        var pool = Self.allNames
        pool.shuffle(using: &chance)
        names = Array(pool.prefix(3 + chance.below(5)))
        favorite = chance.pick([3, 5, 6, 7, 9, 11, 13, 14, 15, 16, 17, 18])
        allowsCrashes = chance.oneIn(2)
        let count = 2 + chance.below(3)
        for number in 0..<count {
            let disk = ModelDisk(
                rules: DiskRules(isOfWindows: chance.oneIn(4)), canExchange: !chance.oneIn(3),
                tellsBirth: !chance.oneIn(3))
            disk.now = now
            disk.isBlind = omission == .lookAtWhatComesOut
            disk.ignoresWriters = omission == .openFiles
            disk.replaces = omission == .renameWithoutReplacing
            disk.hidesWork = omission == .recovery
            let base = ModelBase(
                number: number, devices: count, disk: disk, random: SeededRandom(seed: seed &* 31 &+ UInt64(number)))
            base.forgetsCopies = omission == .copies
            base.editsCurrent = omission == .versionOnDisk
            base.forgetsAbsence = omission == .absence
            let device = Device(disk, base)
            disk.between = { [unowned self, unowned device] in try between(device) }
            base.between = { [unowned self, unowned device] in try between(device) }
            disk.onDestruction = { [unowned self, unowned device] content, isOpen in
                destroyed(content, isOpen, device)
            }
            // Who makes a file where another one was a moment ago replaces that one.
            disk.onLeaving = { [unowned device] path, content in device.last[path] = content }
            devices.append(device)
        }
    }

    func play() throws {
        if chance.oneIn(2) { furnish() }
        for _ in 0..<15 + chance.below(50) {
            tick(Int64(chance.below(chance.oneIn(3) ? 3_000 : 400)))
            let device = chance.pick(devices)
            switch chance.below(6) {
            case 0, 1, 2: person(device)
            case 3: replay(device)
            default: try pass(device)
            }
        }
        try comeToRest()
    }

    /// Begins with folders and files in them.
    private func furnish() {
        for device in devices where chance.oneIn(2) {
            for _ in 0..<1 + chance.below(3) {
                guard let folder = freePath(device), !isIgnored(folder) else { continue }
                device.disk.put(device.disk.makeNode(isFolder: true), at: folder)
                make(folder.appending(chance.pick(names)), device)
            }
        }
    }

    private func tick(_ milliseconds: Int64) {
        // No program leaves a gap for so long.
        for device in devices {
            if device.gaps.contains(where: { now + milliseconds * 1_000_000 - $0.since > 1_500_000_000 }) {
                fillGaps(device)
            }
        }
        now += milliseconds * 1_000_000
        for device in devices { device.disk.now = max(device.disk.now, now) }
        now = devices.map(\.disk.now).max() ?? now
    }

    /// Notes what mirrors do, for a close look.
    func follow() {
        for device in devices {
            device.disk.onCall = { [unowned self] call in story.append("    \(device.base.number): \(call)") }
        }
    }

    private func note(_ kind: String, _ text: String = "") {
        counts[kind, default: 0] += 1
        story.append(kind + " " + text)
    }

    // MARK: Devices

    private func replay(_ device: Device, completely: Bool = false) {
        for other in devices where other !== device && (completely || !chance.oneIn(3)) {
            let from = device.base.replayed[other.base.number]
            let end = completely ? other.base.log.count : from + chance.below(other.base.log.count - from + 1)
            for transaction in other.base.log[from..<end] { device.base.take(transaction) }
            device.base.replayed[other.base.number] = end
        }
        device.base.read()
        note("replay", "\(device.base.number)")
    }

    @discardableResult
    private func pass(_ device: Device) throws -> MirrorReport? {
        story.append("pass \(device.base.number)")
        do {
            var pass = MirrorPass(device.disk, device.base)
            pass.isConfirmed = true
            let report = try pass.run()
            if report.hasNews { counts["pass with news", default: 0] += 1 }
            return report
        } catch is ModelDisk.Crash {
            note("crash", "\(device.base.number) after \(device.disk.calls.last ?? "")")
            device.base.finish()
            return nil
        } catch let error as FerryError {
            findings.append("a pass failed: \(error.message)")
            return nil
        }
    }

    /// Between two calls of a mirror: somebody writes, or the process dies.
    private func between(_ device: Device) throws {
        if isQuiet { return }
        if chance.oneIn(30) { person(device) }
        if allowsCrashes, chance.oneIn(60) { throw ModelDisk.Crash() }
    }

    private func destroyed(_ content: UInt64, _ isOpen: Bool, _ device: Device) {
        if isOpen { findings.append("a file went that somebody had open for writing") }
        if !device.base.contents.contains(ModelBase.content(content)) {
            findings.append("bytes \(content) went that are no version")
        }
    }

    // MARK: People

    private func fresh() -> UInt64 {
        nextContent += 1
        return nextContent
    }

    private func replace(_ old: UInt64?, by new: UInt64, _ device: Device) {
        guard let old, old != new else { return }
        replaced[old, default: []].insert(new)
        if !isKept(old, device) { device.owed.remove(old) }
    }

    /// Whether other files here have the bytes, or a version has.
    private func isKept(_ content: UInt64, _ device: Device) -> Bool {
        device.base.contents.contains(ModelBase.content(content))
    }

    private func appear(_ content: UInt64, at path: DiskPath, _ device: Device) {
        replace(device.last[path], by: content, device)
        // A mirror renames folders. What was deleted in one before comes anew there.
        for (former, old) in device.last
        where former.name == path.name && former != path && device.disk.node(former.folder) == nil {
            replaced[old, default: []].insert(content)
        }
        device.last[path] = content
        if !isIgnored(path) {
            device.owed.insert(content)
        } else if !isKept(content, device) {
            device.owed.remove(content)
        }
    }

    private func files(_ device: Device) -> [(path: DiskPath, node: ModelDisk.Node)] {
        device.disk.everything().filter { !$0.node.isFolder }
    }

    private func folders(_ device: Device) -> [DiskPath] {
        [.top] + device.disk.everything().filter { $0.node.isFolder }.map(\.path)
    }

    private func isIgnored(_ path: DiskPath) -> Bool { path.text.hasSuffix(".tmp") || path.text.contains(".tmp/") }

    private func freePath(_ device: Device) -> DiskPath? {
        let path = chance.pick(folders(device)).appending(chance.pick(names))
        return device.disk.node(path) == nil ? path : nil
    }

    private func person(_ device: Device) {
        let kind = chance.oneIn(3) ? favorite : chance.below(19)
        fillGaps(device)
        let files = files(device)
        let disk = device.disk
        for node in device.open where chance.oneIn(2) { write(node, device) }
        if kind < 2 || files.isEmpty {
            guard let path = freePath(device) else { return }
            make(path, device)
            return
        }
        let (path, node) = chance.pick(files)
        switch kind {
        case 2, 3, 4: write(node, device)
        case 5:
            // A program saves beside and renames over.
            let new = disk.makeNode(isFolder: false, content: fresh())
            replace(node.content, by: new.content, device)
            device.open.removeAll { $0 === node }
            disk.put(new, at: path)
            appear(new.content, at: path, device)
            note("save by renaming", "\(device.base.number) \(path) \(new.content)")
        case 6:
            guard let target = freePath(device) else { return }
            disk.take(path)
            disk.put(node, at: target)
            device.last[path] = node.content
            appear(node.content, at: target, device)
            // A copy of a rival that gets a name of its own goes from the document.
            replaced[node.content, default: []].insert(0)
            note("rename", "\(device.base.number) \(path) \(target)")
        case 7:
            disk.take(path)
            device.open.removeAll { $0 === node }
            device.last[path] = node.content
            replace(node.content, by: 0, device)
            disk.free(node)
            note("delete", "\(device.base.number) \(path) \(node.content)")
        case 8:
            guard let target = freePath(device), !isIgnored(target) else { return }
            disk.put(disk.makeNode(isFolder: true), at: target)
            note("make folder", "\(device.base.number) \(target)")
        case 9, 14: moveFolder(device)
        case 15, 16: changeDocuments(device)
        case 17:
            // A program that saves by removing first. Two looks of the mirror do not fall on two such moments.
            guard disk.now - device.lastGap > 600_000_000_000 else { return }
            device.lastGap = disk.now
            disk.take(path)
            device.open.removeAll { $0 === node }
            device.last[path] = node.content
            if !isKept(node.content, device) { device.owed.remove(node.content) }
            disk.free(node)
            device.gaps.append((path, disk.now))
            note("gap", "\(device.base.number) \(path) \(node.content)")
        case 10:
            let folders = folders(device).dropFirst()
            guard chance.oneIn(2), let folder = folders.randomElement(using: &chance) else { return }
            for (path, node) in disk.everything(below: folder) where !node.isFolder {
                device.last[path] = node.content
                device.open.removeAll { $0 === node }
                replace(node.content, by: 0, device)
            }
            disk.take(folder)
            note("delete folder", "\(device.base.number) \(folder)")
        case 11:
            let (other, second) = chance.pick(files)
            guard other != path else { return }
            // One file comes in another one's place.
            disk.take(path)
            device.open.removeAll { $0 === second }
            disk.put(node, at: other)
            device.last[path] = node.content
            replace(second.content, by: node.content, device)
            replaced[node.content, default: []].insert(0)
            appear(node.content, at: other, device)
            note("rename over", "\(device.base.number) \(path) \(other)")
        case 18: takeOver(files, device)
        case 12:
            node.isExecutable.toggle()
            node.changed = disk.now
            if chance.oneIn(2) { node.modified = disk.now }
            note("touch")
        default:
            if let open = device.open.popLast() {
                open.writers -= 1
                note("close")
            } else {
                node.writers += 1
                device.open.append(node)
                note("open", "\(device.base.number) \(path)")
            }
        }
    }

    /// A person takes a copy's text over the file, or the file's over the copy, and removes the first of both or not.
    private func takeOver(_ files: [(path: DiskPath, node: ModelDisk.Node)], _ device: Device) {
        let copies = files.filter { $0.path.name.contains("(conflict, ") }
        guard let copy = copies.randomElement(using: &chance) else { return }
        let name = copy.path.name.prefix { $0 != "(" }.dropLast()
        let own = files.first {
            $0.path.folder == copy.path.folder && $0.path != copy.path && $0.path.name.hasPrefix(name)
                && !$0.path.name.contains("(conflict, ")
        }
        guard let own else { return }
        let (from, to) = chance.oneIn(2) ? (copy, own) : (own, copy)
        replace(to.node.content, by: from.node.content, device)
        to.node.content = from.node.content
        (to.node.modified, to.node.changed) = (device.disk.now, device.disk.now)
        appear(to.node.content, at: to.path, device)
        note("take over", "\(device.base.number) \(from.path) \(to.path) \(to.node.content)")
        if chance.oneIn(3) { return }
        // The bytes are in the other file, and may be replaced there before the mirror knows the file.
        replaced[from.node.content, default: []].insert(0)
        device.disk.take(from.path)
        device.open.removeAll { $0 === from.node }
        device.disk.free(from.node)
    }

    private func fillGaps(_ device: Device) {
        for (path, _) in device.gaps {
            if device.disk.node(path) == nil, device.disk.node(path.folder)?.isFolder ?? false {
                make(path, device)
            } else if let old = device.last[path] {
                // A folder came there meanwhile: the program cannot save.
                replaced[old, default: []].insert(0)
            }
        }
        device.gaps = []
    }

    /// What a person does by the command: documents change, and no file does.
    private func changeDocuments(_ device: Device) {
        guard let state = try? device.base.tree() else { return }
        let shown = state.tree.entries.filter { $0.isShown && $0.kind == .file }
        guard !shown.isEmpty else { return }
        let entry = chance.pick(shown)
        let versions = (try? device.base.versions(of: entry.id)) ?? []
        let leaves = DocumentLeaves(versions)
        switch chance.below(4) {
        case 0:
            for leaf in leaves.all { if let old = leaf.content?.low { replaced[old, default: []].insert(0) } }
            try? device.base.commit(.removing(entry.id, versions, by: device.base.author))
            note("remove document", "\(device.base.number) \(entry.name)")
        case 1:
            let folders = [nil] + state.tree.entries.filter { $0.isShown && $0.kind == .folder }.map { Optional($0.id) }
            try? device.base.place(
                entry.id, in: chance.pick(folders), as: chance.pick(names),
                atMilliseconds: device.base.nowMilliseconds())
            device.base.finish()
            note("move document", "\(device.base.number) \(entry.name)")
        case 2:
            guard let row = try? device.base.document(entry.id), let kept = leaves.rivals.last ?? leaves.current
            else { return }
            for leaf in leaves.all {
                if let old = leaf.content?.low { replaced[old, default: []].insert(kept.content?.low ?? 0) }
            }
            let settling = try? DocumentChange.settling(
                row, versions, .keep(kept.id), by: device.base.author, isTaken: device.base.isTaken)
            guard let settling else { return }
            try? device.base.commit(settling)
            note("settle", "\(device.base.number) \(entry.name)")
        default:
            guard let current = leaves.current, let old = current.content?.low else { return }
            let new = fresh()
            replaced[old, default: []].insert(new)
            let bytes = VersionBytes(content: ModelBase.content(new), modifiedMicroseconds: device.disk.now / 1000)
            try? device.base.commit(.saving(bytes, over: current, among: versions, by: device.base.author))
            note("save document", "\(device.base.number) \(entry.name) \(new)")
        }
    }

    private func make(_ path: DiskPath, _ device: Device) {
        let node = device.disk.makeNode(isFolder: false, content: fresh())
        device.disk.put(node, at: path)
        appear(node.content, at: path, device)
        note("make", "\(device.base.number) \(path) \(node.content)")
    }

    private func write(_ node: ModelDisk.Node, _ device: Device) {
        let new = fresh()
        replace(node.content, by: new, device)
        let path = device.disk.everything().first { $0.node === node }?.path
        // Whoever has a file open writes to it wherever it is.
        if path.map({ !isIgnored($0) }) ?? true { device.owed.insert(new) }
        node.content = new
        (node.modified, node.changed) = (device.disk.now, device.disk.now)
        if let path { device.last[path] = new }
        note("write", "\(device.base.number) \(path?.text ?? "somewhere") \(new)")
    }

    private func moveFolder(_ device: Device) {
        let folders = folders(device)
        guard folders.count > 1 else { return }
        let folder = chance.pick(Array(folders.dropFirst()))
        let around = chance.pick(folders)
        let target = around.appending(chance.oneIn(2) ? folder.name : chance.pick(names))
        guard !isIgnored(target), around != folder, !around.isBelow(folder), device.disk.node(target) == nil,
            let node = device.disk.take(folder)
        else { return }
        device.disk.put(node, at: target)
        for (path, node) in device.disk.everything(below: target) where !node.isFolder {
            device.last[path.moved(from: target, to: folder)] = node.content
            appear(node.content, at: path, device)
            replaced[node.content, default: []].insert(0)
        }
        note("move folder", "\(device.base.number) \(folder) \(target)")
    }

    // MARK: The end

    private func comeToRest() throws {
        isQuiet = true
        for device in devices {
            fillGaps(device)
            for node in device.open { node.writers = 0 }
            device.open = []
        }
        for _ in 0..<8 {
            for device in devices {
                for _ in 0..<3 {
                    tick(2_500)
                    try pass(device)
                }
            }
            for device in devices { replay(device, completely: true) }
        }
        tick(3_000)
        for device in devices {
            let before = device.base.log.count
            if let report = try pass(device), report.hasNews || report.waiting > 0 {
                findings.append(
                    "device \(device.base.number) does not come to rest: \(device.disk.calls.suffix(8)) \(report.left)"
                )
            }
            if device.base.log.count != before { findings.append("a quiet pass writes") }
        }
        try check()
    }

    private func check() throws {
        let first = shown(devices[0])
        for device in devices.dropFirst() where shown(device) != first {
            findings.append("devices differ: \(shown(device)) and \(first)")
        }
        for device in devices {
            let contents = Set(device.base.allVersions.compactMap(\.content))
            for content in devices.reduce(into: Set<UInt64>(), { $0.formUnion($1.owed) })
            where !contents.contains(ModelBase.content(content)) {
                findings.append("bytes \(content) are no version on device \(device.base.number)")
            }
            try checkDisk(device)
        }
        checkThatNothingWasReplacedUnseen(devices[0])
    }

    /// The documents' own files with their bytes, and the copies' bytes without their names: copies keep the name under which somebody
    /// edits them.
    private func shown(_ device: Device) -> [String] {
        files(device).filter { !isIgnored($0.path) }.map { path, node in
            let isCopy = path.name.contains("(conflict, ")
            return "\(isCopy ? path.folder.text + "/copy" : path.text) \(node.content)"
        }.sorted()
    }

    private func checkDisk(_ device: Device) throws {
        let entries = try device.base.entries()
        let wanted = WantedItems(
            try device.base.tree(), entries: entries, rules: device.disk.rules,
            ignoring: IgnoreRules("*.tmp\n"))
        let expected = Set(
            wanted.items.filter { $0.kind == .file }.map { "\($0.path) \($0.content.low) \($0.mode)" })
        let found = Set(
            files(device).filter { !isIgnored($0.path) }.map {
                "\($0.path) \($0.node.content) \($0.node.isExecutable ? 1 : 0)"
            })
        if expected != found {
            findings.append(
                "the disk of \(device.base.number) has \(found.subtracting(expected)), and should have \(expected.subtracting(found))"
            )
        }
        if !(device.disk.node(.work)?.children.isEmpty ?? true) {
            findings.append("litter: \(device.disk.node(.work)?.children.keys.sorted() ?? [])")
        }
    }

    private func checkThatNothingWasReplacedUnseen(_ device: Device) {
        let versions = device.base.allVersions
        let byID = Dictionary(versions.map { ($0.id, $0) }, uniquingKeysWith: { first, _ in first })
        let folders = Set(
            device.base.log.isEmpty ? [] : versions.filter { $0.content == ModelBase.content(0) }.map(\.document))
        for version in versions where !folders.contains(version.document) {
            for parent in version.supersedes.compactMap({ byID[$0] }) {
                guard let old = parent.content?.low, old != version.content?.low else { continue }
                if !reaches(old, version.content?.low ?? 0) {
                    story += versions.filter { $0.document == version.document }.sorted {
                        $0.madeMilliseconds < $1.madeMilliseconds
                    }.map { row in
                        "version of \(row.content?.low ?? 0) by \(row.device?.hex.prefix(16).suffix(1) ?? "") over \(row.supersedes.map { byID[$0]?.content?.low ?? 0 })"
                    }
                    findings.append("bytes \(old) were replaced by \(version.content?.low ?? 0), and nobody did that")
                }
            }
        }
    }

    private func reaches(_ old: UInt64, _ new: UInt64) -> Bool {
        var (next, seen) = ([old], Set([old]))
        while let content = next.popLast() {
            if content == new { return true }
            next += (replaced[content] ?? []).filter { seen.insert($0).inserted }
        }
        return false
    }
}
