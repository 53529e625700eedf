import FerryCore
import FerryDocuments
import FerryTestSupport

/// A random history of a tree on several devices: each changes what it sees by the pure functions, and replays what others wrote, in
/// any order of logs. A seed decides everything.
final class TreeStory {
    struct Transaction {
        var stamp: PlainTables.Stamp
        var writes: [PlainTables.Write]
    }

    final class Device {
        let number: Int
        let id: DeviceID
        /// What the wall clock is off, in milliseconds.
        let skew: Int64
        var log: [Transaction] = []
        /// How far this device has replayed each log.
        var replayed: [Int]
        var tables = PlainTables()
        var clock = 0
        /// What was shown when this device was looked at last, and of which rows.
        var shown = ShownTables()

        init(number: Int, devices: Int, skew: Int64) {
            self.number = number
            self.skew = skew
            id = DeviceID(high: UInt64(number + 1), low: 5)
            replayed = Array(repeating: 0, count: devices)
        }
    }

    private(set) var devices: [Device] = []
    private(set) var findings: [String] = []
    /// How often each kind of change was made.
    private(set) var counts: [String: Int] = [:]
    private var chance: Chance
    private let random: SeededRandom
    private let names: [String]
    /// The change that this history has most often.
    private let favorite: Int
    private var now = Samples.now
    private var nextContent: UInt64 = 1
    /// Every version with content that anybody made.
    private var made: [VersionID: VersionRow] = [:]
    private var supersededByAuthors: Set<VersionID> = []

    init(seed: UInt64) {
        chance = Chance(seed: seed)
        random = SeededRandom(seed: seed)
        var pool = Self.allNames
        pool.shuffle(using: &chance)
        names = Array(pool.prefix(3 + chance.below(5)))
        favorite = chance.pick([0, 3, 5, 6, 6, 7, 8, 9, 10, 10])
        let count = 2 + chance.below(5)
        for number in 0..<count {
            let skew =
                chance.oneIn(4) ? Int64(chance.below(4_000_000)) * 1000 - 2_000_000_000 : Int64(chance.below(9000))
            devices.append(Device(number: number, devices: count, skew: skew))
        }
    }

    func play() {
        for _ in 0..<20 + chance.below(60) {
            now += chance.oneIn(12) ? Int64(chance.below(40)) * Samples.day : Int64(chance.below(100_000))
            let device = chance.pick(devices)
            if chance.oneIn(3) { replay(device) } else { change(device) }
            if chance.oneIn(4) { check(device) }
        }
        for _ in 0..<2 { for device in devices { replay(device, completely: true) } }
        for device in devices { check(device) }
        checkThatNothingIsLost()
    }

    // MARK: Replay

    private func replay(_ device: Device, completely: Bool = false) {
        for other in devices.shuffled(using: &chance) where other !== device && (completely || !chance.oneIn(3)) {
            let from = device.replayed[other.number]
            let end = completely || chance.oneIn(2) ? other.log.count : from + chance.below(other.log.count - from + 1)
            for transaction in other.log[from..<end] { take(transaction, device) }
            device.replayed[other.number] = end
        }
    }

    private func take(_ transaction: Transaction, _ device: Device) {
        for write in transaction.writes { device.tables.replay(write, transaction.stamp) }
        device.clock = max(device.clock, transaction.stamp.time)
    }

    private func commit(_ writes: [PlainTables.Write], _ device: Device, _ kind: String) {
        guard !writes.isEmpty else { return }
        device.clock += 1
        let transaction = Transaction(stamp: .init(time: device.clock, device: device.number), writes: writes)
        take(transaction, device)
        device.log.append(transaction)
        counts[kind, default: 0] += 1
        for case .insertVersion(let row) in writes {
            supersededByAuthors.formUnion(row.supersedes)
            if row.content != nil { made[row.id] = row }
        }
    }

    private func commit(_ change: DocumentChange, _ device: Device, _ kind: String) {
        commit(
            change.documents.map { .insertDocument($0) } + change.versions.map { .insertVersion($0) }
                + change.superseded.sorted().map { .mark($0) }, device, kind)
    }

    // MARK: Changes

    private func author(_ device: Device) -> VersionAuthor {
        VersionAuthor(device: device.id, nowMilliseconds: now + device.skew, random: random)
    }

    private func bytes(_ kind: DocumentKind) -> VersionBytes {
        if kind == .folder { return Samples.bytes(0) }
        // Two devices now and then write the same.
        if !chance.oneIn(4) { nextContent += 1 }
        return Samples.bytes(nextContent, mode: chance.oneIn(6) ? 1 : 0)
    }

    private func change(_ device: Device) {
        let (documents, versions, _) = device.tables.rows()
        let tree = DocumentTree(documents: documents, versions: versions)
        let shown = tree.entries.filter(\.isShown)
        let byDocument = Dictionary(grouping: versions, by: \.document)
        let kind = chance.oneIn(2) ? favorite : chance.below(15)
        if kind < 3 || shown.isEmpty { return make(device, documents, tree) }
        let entry = chance.pick(shown)
        let own = byDocument[entry.id] ?? []
        switch kind {
        case 3, 4: edit(device, entry, own)
        case 5: rename(device, entry, tree)
        case 6:
            let folders = shown.filter { $0.kind == .folder }
            move(device, folders.isEmpty || chance.oneIn(3) ? entry : chance.pick(folders), tree)
        case 7: remove(device, entry, tree, byDocument)
        case 8: putBack(device, tree, byDocument)
        case 9: settle(device, tree, documents, byDocument)
        case 10: merge(device, tree, byDocument)
        case 11: purge(device, documents, versions)
        default: forge(device, entry)
        }
    }

    private func make(_ device: Device, _ documents: [DocumentRow], _ tree: DocumentTree) {
        let folders = tree.entries.filter { $0.isShown && $0.kind == .folder && !$0.isDeleted }.map(\.id)
        let folder = folders.isEmpty || chance.oneIn(3) ? nil : chance.pick(folders)
        let name = chance.pick(names)
        let kind = chance.pick([DocumentKind.file, .file, .folder, .folder, .package, .link])
        if tree.shown(in: folder).contains(where: { $0.name == name }) { return }
        let taken = Set(documents.map(\.id))
        guard let id = try? DocumentID.free(folder: folder, name: name, kind: kind, isTaken: { taken.contains($0) })
        else {
            return findings.append("no ID is free")
        }
        let row = DocumentRow(id: id, folder: folder, name: name, kind: kind)
        commit(.making(row, bytes(kind), by: author(device)), device, "make")
    }

    private func edit(_ device: Device, _ entry: DocumentTree.Entry, _ own: [VersionRow]) {
        guard entry.kind != .folder, !entry.isDeleted else { return }
        // An app may have open what is not current any more.
        let edited = own.filter { $0.content != nil && ($0.id == entry.version || chance.oneIn(4)) }
        guard !edited.isEmpty else { return }
        commit(
            .saving(bytes(entry.kind), over: chance.pick(edited), among: own, by: author(device)), device, "edit")
    }

    private func rename(_ device: Device, _ entry: DocumentTree.Entry, _ tree: DocumentTree) {
        let name = chance.pick(names)
        if tree.shown(in: entry.folder).contains(where: { $0.name == name }) { return }
        commit([.rename(entry.id, name: name, named: now + device.skew)], device, "rename")
    }

    private func move(_ device: Device, _ entry: DocumentTree.Entry, _ tree: DocumentTree) {
        let path = tree.path(of: entry.id) ?? []
        let folders = tree.entries.filter { folder in
            guard folder.isShown, folder.kind == .folder, !folder.isDeleted, folder.id != entry.folder else {
                return false
            }
            return !(tree.path(of: folder.id) ?? []).starts(with: path)
        }
        let folder = folders.isEmpty || entry.folder != nil && chance.oneIn(6) ? nil : chance.pick(folders).id
        if folder == entry.folder || tree.shown(in: folder).contains(where: { $0.name == entry.name }) { return }
        commit([.place(entry.id, folder: folder, named: now + device.skew)], device, "move")
    }

    private func remove(
        _ device: Device, _ entry: DocumentTree.Entry, _ tree: DocumentTree, _ versions: [DocumentID: [VersionRow]]
    ) {
        var change = DocumentChange()
        var next = [entry]
        while let entry = next.popLast() {
            next += tree.shown(in: entry.id)
            guard !entry.isDeleted else { continue }
            let one = DocumentChange.removing(entry.id, versions[entry.id] ?? [], by: author(device))
            change.versions += one.versions
            change.superseded.formUnion(one.superseded)
        }
        commit(change, device, "remove")
    }

    private func putBack(_ device: Device, _ tree: DocumentTree, _ versions: [DocumentID: [VersionRow]]) {
        let deleted = tree.entries.filter(\.isDeleted)
        guard !deleted.isEmpty else { return }
        let entry = chance.pick(deleted)
        guard let change = DocumentChange.puttingBack(entry.id, versions[entry.id] ?? [], by: author(device)) else {
            return
        }
        commit(change, device, "put back")
    }

    private func settle(
        _ device: Device, _ tree: DocumentTree, _ documents: [DocumentRow], _ versions: [DocumentID: [VersionRow]]
    ) {
        let entries = tree.entries.filter { !$0.rivals.isEmpty }
        guard !entries.isEmpty else { return }
        let entry = chance.pick(entries)
        guard let row = documents.first(where: { $0.id == entry.id }), let version = entry.version else { return }
        let label = "device \(device.number)"
        let how: Settlement =
            switch chance.below(3) {
            case 0: .keep(chance.pick(entry.rivals + [version]))
            case 1:
                .keepBoth(
                    names: entry.rivals.map { _ in CopyName.of(entry.name, label: label, madeMilliseconds: now) })
            default: .with(bytes(entry.kind))
            }
        let taken = Set(documents.map(\.id))
        do {
            let change = try DocumentChange.settling(
                row, versions[entry.id] ?? [], how, by: author(device), isTaken: { taken.contains($0) })
            commit(change, device, "settle")
        } catch {
            return findings.append("settling failed: \(error)")
        }
        let (_, after, _) = device.tables.rows()
        if !DocumentLeaves(after.filter { $0.document == entry.id }).rivals.isEmpty {
            findings.append("a settled document has rivals")
        }
    }

    private func merge(_ device: Device, _ tree: DocumentTree, _ versions: [DocumentID: [VersionRow]]) {
        for entry in tree.entries where !entry.rivals.isEmpty {
            let own = versions[entry.id] ?? []
            guard let pair = VersionHistory(own).mergePairs.first, let ours = pair.ours.content,
                let theirs = pair.theirs.content
            else { continue }
            // Programs of two versions do not always agree.
            let content = Samples.content(ours.low &* 31 &+ theirs.low &* 17 &+ (chance.oneIn(4) ? 1 : 0))
            return commit(.merging(pair, content, own), device, "merge")
        }
    }

    private func purge(_ device: Device, _ documents: [DocumentRow], _ versions: [VersionRow]) {
        let plan = DocumentRetention().plan(
            documents: documents, versions: versions, nowMilliseconds: now + device.skew)
        let kept = Set(documents.map(\.id)).subtracting(plan.documents)
        let isBroken =
            documents.contains { kept.contains($0.id) && !($0.folder.map(kept.contains) ?? true) }
            || versions.contains { !plan.versions.contains($0.id) && !kept.contains($0.document) }
        if isBroken { findings.append("SQLite would refuse a purge") }
        commit(
            plan.versions.map { .deleteVersion($0) } + plan.documents.map { .deleteDocument($0) }
                + plan.superseded.map { .mark($0) }, device, "purge")
    }

    /// A row as no interface writes it.
    private func forge(_ device: Device, _ entry: DocumentTree.Entry) {
        guard chance.oneIn(6) else { return }
        let name = chance.pick(["", ".", "..", "a/b", "x\0y"])
        commit([.rename(entry.id, name: name, named: now + device.skew)], device, "forge")
    }

    // MARK: Checks

    private func check(_ device: Device) {
        let (documents, versions, isRetaining) = device.tables.rows()
        if isRetaining { counts["held back", default: 0] += 1 }
        let tree = DocumentTree(
            documents: documents.shuffled(using: &chance), versions: versions.shuffled(using: &chance))
        let plain = PlainTree(documents, versions)
        if tree.entries.count != documents.count { findings.append("documents are missing in the tree") }
        for entry in tree.entries {
            let found = PlainTree.Shown(
                folder: entry.folder, name: entry.name, isShown: entry.isShown, isDeleted: entry.isDeleted,
                version: entry.version, rivals: entry.rivals, beatenDeletion: entry.beatenDeletion,
                isInCycle: entry.misplacement == .cycle)
            if found != plain.shown[entry.id] {
                findings.append("\(found) instead of \(plain.shown[entry.id].map { "\($0)" } ?? "nothing")")
            }
            if entry.misplacement == .cycle { counts["cycle", default: 0] += 1 }
            if entry.isShown, !documents.contains(where: { $0.id == entry.id && $0.name == entry.name }) {
                counts["numbered", default: 0] += 1
            }
            if !entry.rivals.isEmpty { counts["conflict", default: 0] += 1 }
            if entry.beatenDeletion != nil { counts["beaten deletion", default: 0] += 1 }
            if entry.isShown, entry.isDeleted { counts["deleted folder shown", default: 0] += 1 }
        }
        checkThatEveryContentHasAPath(documents, versions, tree)
        checkThatARegionIsEnough(device, documents, versions, tree)
    }

    /// What changed since the last look changes the tree as the whole tree says.
    private func checkThatARegionIsEnough(
        _ device: Device, _ documents: [DocumentRow], _ versions: [VersionRow], _ tree: DocumentTree
    ) {
        let changed = device.shown.replace(documents, versions)
        do {
            let difference = try DocumentRegion.difference(changed: changed, in: device.shown)
            for id in difference.removed { device.shown.entries[id] = nil }
            for entry in difference.changed { device.shown.entries[entry.id] = entry }
        } catch {
            findings.append("a region cannot be read: \(error)")
        }
        let found = device.shown.entries
        for entry in tree.entries where found[entry.id] != entry {
            findings.append("by a region \(found[entry.id].map { "\($0)" } ?? "nothing") instead of \(entry)")
        }
        if found.count != tree.entries.count { findings.append("a region leaves documents that are gone") }
    }

    /// Says what must hold without any rule: what has a leaf with content is reached from the top, by one path that nothing else has.
    private func checkThatEveryContentHasAPath(
        _ documents: [DocumentRow], _ versions: [VersionRow], _ tree: DocumentTree
    ) {
        var paths: [String: DocumentID] = [:]
        let superseded = Set(versions.flatMap(\.supersedes))
        if versions.contains(where: { !$0.isSuperseded && superseded.contains($0.id) }) {
            counts["mark lost", default: 0] += 1
        }
        for version in versions
        where version.content != nil && !version.isSuperseded && !superseded.contains(version.id) {
            let entry = tree[version.document]
            guard let entry, let path = tree.path(of: version.document) else {
                findings.append("a document with content vanished")
                continue
            }
            let shownVersions = ([entry.version].compactMap { $0 } + entry.rivals).compactMap { id in
                versions.first { $0.id == id }
            }
            if !shownVersions.contains(where: { $0.content == version.content && $0.mode == version.mode }) {
                findings.append("a leaf is neither current nor a rival")
            }
            let text = path.joined(separator: "/")
            if paths.updateValue(version.document, forKey: text).map({ $0 != version.document }) ?? false {
                findings.append("two documents have one path")
            }
            if path.contains(where: { DocumentName.refusal(of: $0) != nil }) {
                findings.append("an impossible name is shown")
            }
        }
    }

    /// What nobody put another version in the place of is a leaf everywhere, however old it is and whatever was purged.
    private func checkThatNothingIsLost() {
        for device in devices {
            let (_, versions, _) = device.tables.rows()
            for (id, row) in made where !supersededByAuthors.contains(id) {
                let isLeaf = versions.contains { $0.id == id && !$0.isSuperseded }
                if !isLeaf { findings.append("version \(row.id) is no leaf, and nobody superseded it") }
            }
        }
    }

    // MARK: Names

    /// As people write them: other scripts, both forms of accents, dots, spaces, pictures, numbers in parentheses, long ones.
    private static let allNames: [String] = [
        "Trio.pdf", "Trio (2).pdf", "Trio (3).pdf", "notes", "notes (2)", "Notes", ".profile", "archive.tar.gz",
        "2026-03-01.md", "Übung.pages", "U\u{308}bung.pages", "Übung (2).pages", "résumé", "re\u{301}sume\u{301}",
        "日本語.txt",
        "한국어", "한국어", "Ελληνικά.doc", "שלום.txt", "👩‍👩‍👧‍👦.png", "👍🏽 done.md", "a b  c", "x.", "..x",
        "line\nbreak.txt", "CON", "a:b?.txt", "ﬁ.txt", "Å", "Å",
        String(repeating: "x", count: 251) + ".txt", String(repeating: "x", count: 247) + " (2).txt",
        String(repeating: "ä", count: 127), String(repeating: "a\u{308}", count: 84),
        String(repeating: "👩‍👩‍👧‍👦", count: 10), "n." + String(repeating: "e", count: 253),
    ]
}
