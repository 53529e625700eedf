import FerryCore
import FerryDocuments

/// The result of reading a file: the content, and the disk's stamp, equal before and after.
package struct FileReading: Hashable, Sendable {
    package var content: ContentID
    package var stamp: DiskStamp

    package init(content: ContentID, stamp: DiskStamp) {
        self.content = content
        self.stamp = stamp
    }

    package var bytes: VersionBytes {
        // Times before 1970 are rounded down, too.
        VersionBytes(
            content: content, modifiedMicroseconds: stamp.modified / 1000 - (stamp.modified % 1000 < 0 ? 1 : 0),
            mode: stamp.isExecutable ? 1 : 0)
    }
}

/// The folder around something: a document, or a folder made by the same intake.
package enum IntakeFolder: Hashable, Sendable {
    case document(DocumentID?)
    case new(DiskPath)
}

/// A change of documents because of a disk.
package enum IntakeStep: Hashable, Sendable {
    /// The entry's version lies there still, maybe under a new path or with a new stamp.
    case keep(MirrorEntry)
    /// A folder is new, or belongs to a document without an entry yet.
    case folder(DiskItem, in: IntakeFolder, present: DocumentID?)
    /// A file is new. `present`: the document shown under the file's name and without a file so far.
    case file(DiskPath, FileReading, in: IntakeFolder, present: DocumentID?)
    /// A file was edited, on top of the entry's version.
    case edit(MirrorEntry, FileReading)
    /// Somebody moved or renamed a document. `name` is `nil` where the document kept the name on the disk.
    case move(DocumentID, to: IntakeFolder, name: String?)
    /// Somebody deleted the file or folder.
    case drop(MirrorEntry)
    /// The file or folder is ignored from now on, or something stands in the place: nothing happens to the document.
    case forget(MirrorEntry)
}

/// The steps of an intake, and the files that have to wait.
package struct MirrorIntake: Sendable {
    /// The steps in order: folders from the top.
    package private(set) var steps: [IntakeStep] = []
    /// Files and folders closed to all changes before a further look.
    package private(set) var waiting: Set<MirrorKey> = []
    /// Files that cannot be read or have no room beside the database, folders that cannot be listed, and everything in the folders. They stay as they are, for as long as that
    /// lasts.
    package private(set) var closed: Set<MirrorKey> = []
    /// Deletions for a person to confirm. Not empty: nothing is done at all.
    package private(set) var held: [MirrorEntry] = []

    private let wanted: WantedItems
    private let unreadable: Set<DiskPath>
    private var folders: [DiskPath: IntakeFolder] = [.top: .document(nil)]
    private var formerFolders: [DiskPath: DocumentID] = [:]
    private var known: Set<DocumentID> = []
    /// The copies of rivals with an entry.
    private var copies: Set<MirrorKey> = []

    /// How long something has to be gone before the absence is a deletion, in milliseconds. Programs that save by renaming leave a moment
    /// without the file.
    package static let absenceMilliseconds: Int64 = 2000

    /// The intake's knowledge besides the look at the disk.
    package struct Circumstances {
        /// The files read with success. A file to be read waits where the reading is missing.
        package var readings: [DiskPath: FileReading]
        /// The look that the directory should have.
        package var wanted: WantedItems
        package var ignoring: IgnoreRules
        package var obstacles: DiskObstacles
        /// Files that cannot be read. Any other file without a reading waits.
        package var unreadable: Set<DiskPath> = []
        package var nowMilliseconds: Int64
        /// True: deletions are meant, however many.
        package var isConfirmed: Bool

        package init(
            readings: [DiskPath: FileReading], wanted: WantedItems, ignoring: IgnoreRules,
            obstacles: DiskObstacles = DiskObstacles([:], DiskRules()), nowMilliseconds: Int64,
            isConfirmed: Bool = false
        ) {
            self.readings = readings
            self.wanted = wanted
            self.ignoring = ignoring
            self.obstacles = obstacles
            self.nowMilliseconds = nowMilliseconds
            self.isConfirmed = isConfirmed
        }
    }

    package init(_ look: MirrorLook, _ circumstances: Circumstances) {
        let (readings, ignoring) = (circumstances.readings, circumstances.ignoring)
        (wanted, unreadable) = (circumstances.wanted, circumstances.unreadable)
        var look = look
        let unlisted = takeClosed(look, circumstances.obstacles)
        let unfound = look.missing.filter { !closed.contains($0.key) }
        let ignored = unfound.filter { ignoring.ignores($0.path, isFolder: $0.kind == .folder) }
        let missing = unfound.filter { !ignoring.ignores($0.path, isFolder: $0.kind == .folder) }
        let entries = look.matches.map(\.entry) + missing + unlisted
        for entry in entries where entry.kind == .folder { formerFolders[entry.path] = entry.key.document }
        known = Set((entries + ignored).filter { $0.key.rival == nil }.map(\.key.document))
        copies = Set(entries.lazy.filter { $0.key.rival != nil }.map(\.key))
        let unread = Set(look.unread.map(\.path))
        let unseen = look.takeByContent(readings, missing)
        // An obstacle in a file's place deletes no document: the file comes again once the place is free.
        let (gone, blocked) = unseen.divided { circumstances.obstacles.block($0.path) == nil }
        if !circumstances.isConfirmed, DeletionGuard.holds(gone, of: entries) {
            held = gone.filter { $0.kind == .file }
            return
        }
        for entry in blocked { steps.append(.forget(entry)) }
        for entry in ignored { suspend(entry) }
        // Folders first, so that every item finds the folder around.
        let matched = look.matches.sorted { ($0.item.path.depth, $0.item.path) < ($1.item.path.depth, $1.item.path) }
        for match in matched where match.item.kind == .folder {
            folders[match.item.path] = .document(match.entry.key.document)
        }
        // A file in the mirror's own folder without an entry is nobody's document.
        let new = look.new.filter { !$0.path.isBelow(.own) }
        for item in new where item.kind == .folder { takeNewFolder(item) }
        for match in matched { take(match, readings, unread) }
        for item in new where item.kind == .file { takeNewFile(item, readings) }
        let replaced = Set(new.map(\.path))
        for entry in gone {
            takeMissing(entry, isReplaced: replaced.contains(entry.path), circumstances.nowMilliseconds)
        }
    }

    /// Leaves folders that cannot be listed as they are, with everything in them. Nothing in them counts as missing, also where somebody
    /// moved the folder.
    /// - Returns: the entries in such folders.
    private mutating func takeClosed(_ look: MirrorLook, _ obstacles: DiskObstacles) -> [MirrorEntry] {
        let folders = look.matches.filter { $0.item.kind == .folder && obstacles.isClosed($0.item.path) }
        closed.formUnion(folders.map(\.entry.key))
        let moved = folders.filter { $0.entry.path != $0.item.path }
        return look.missing.compactMap { entry in
            let folder = moved.first { entry.path.isBelow($0.entry.path) }
            let path = folder.map { entry.path.moved(from: $0.entry.path, to: $0.item.path) } ?? entry.path
            guard obstacles.isClosed(path) else { return nil }
            closed.insert(entry.key)
            if path != entry.path {
                var present = entry
                present.path = path
                steps.append(.keep(present))
            }
            return entry
        }
    }

    /// Keeps the version of an ignored file, so that a later edit stands on top of the version. The file may change or go meanwhile: the
    /// stamp is unknown from now on.
    private mutating func suspend(_ entry: MirrorEntry) {
        // The document has a place here under a new name: it is written there.
        if wanted.path(of: entry.key) != nil || entry.kind == .folder { return steps.append(.forget(entry)) }
        closed.insert(entry.key)
        if entry.stamp.isUnknown { return }
        var suspended = entry
        (suspended.stamp, suspended.missingSince) = (.unknown(isExecutable: entry.stamp.isExecutable), nil)
        steps.append(.keep(suspended))
    }

    /// Closes a file without a reading to all changes: for good where the file cannot be read, and otherwise for a moment.
    private mutating func close(_ key: MirrorKey, _ path: DiskPath) {
        if unreadable.contains(path) { closed.insert(key) } else { waiting.insert(key) }
    }

    private func folder(of path: DiskPath) -> IntakeFolder { folders[path.folder] ?? .document(nil) }

    /// The document shown under a name and without a file so far.
    private func present(_ path: DiskPath) -> DocumentID? {
        guard case .document(let around) = folder(of: path) else { return nil }
        return wanted.document(in: around, named: path.name).flatMap { known.contains($0) ? nil : $0 }
    }

    private mutating func takeNewFolder(_ item: DiskItem) {
        let present = present(item.path)
        steps.append(.folder(item, in: folder(of: item.path), present: present))
        folders[item.path] = present.map { .document($0) } ?? .new(item.path)
    }

    private mutating func takeNewFile(_ item: DiskItem, _ readings: [DiskPath: FileReading]) {
        guard let reading = readings[item.path] else {
            // The document with the same name gets no file before this file was read.
            if let present = present(item.path) { close(MirrorKey(document: present), item.path) }
            return
        }
        if let copy = wanted.copy(at: item.path), copy.content == reading.content, !copies.contains(copy.key) {
            return takeCopy(copy, reading)
        }
        steps.append(.file(item.path, reading, in: folder(of: item.path), present: present(item.path)))
    }

    /// The copy of a rival, written by the mirror before the mirror's process died. Somebody may have changed the copy's mode since.
    private mutating func takeCopy(_ copy: WantedItem, _ reading: FileReading) {
        var entry = MirrorEntry(
            path: copy.path, key: copy.key, kind: .file, version: copy.version, content: copy.content,
            stamp: reading.stamp)
        if entry.mode == copy.mode { return steps.append(.keep(entry)) }
        entry.stamp.isExecutable = copy.mode == 1
        steps.append(.edit(entry, reading))
    }

    private mutating func take(
        _ match: MirrorLook.Match, _ readings: [DiskPath: FileReading], _ unread: Set<DiskPath>
    ) {
        var entry = match.entry
        let isMoved = move(match)
        if isMoved, entry.key.rival != nil {
            // A renamed copy becomes a separate document.
            guard let reading = readings[match.item.path] ?? Self.unchanged(match) else {
                return close(entry.key, match.item.path)
            }
            steps.append(.file(match.item.path, reading, in: folder(of: match.item.path), present: nil))
            steps.append(.drop(entry))
            return
        }
        (entry.path, entry.missingSince) = (match.item.path, nil)
        if match.item.kind == .folder { entry.stamp = match.item.stamp }
        guard match.item.kind == .file, unread.contains(match.item.path) else {
            if entry != match.entry { steps.append(.keep(entry)) }
            return
        }
        guard let reading = readings[match.item.path] else {
            close(entry.key, match.item.path)
            if entry != match.entry { steps.append(.keep(entry)) }
            return
        }
        if reading.content == entry.content, reading.bytes.mode == entry.mode {
            entry.stamp = reading.stamp
            steps.append(.keep(entry))
        } else {
            steps.append(.edit(entry, reading))
        }
    }

    private static func unchanged(_ match: MirrorLook.Match) -> FileReading? {
        guard match.item.stamp == match.entry.stamp else { return nil }
        return FileReading(content: match.entry.content, stamp: match.item.stamp)
    }

    /// Says where a moved file or folder is now.
    /// - Returns: true for a new folder or a new name.
    private mutating func move(_ match: MirrorLook.Match) -> Bool {
        let (old, new) = (match.entry.path, match.item.path)
        // The mirror itself puts items aside, or in their right places.
        if old == new || new.isBelow(.work) || old.isBelow(.work) || wanted.path(of: match.entry.key) == new {
            return false
        }
        let former: IntakeFolder = .document(old.folder.isTop ? nil : formerFolders[old.folder])
        let keepsName = old.name.utf8.elementsEqual(new.name.utf8)
        if keepsName, folder(of: new) == former { return false }
        if match.entry.key.rival == nil {
            steps.append(.move(match.entry.key.document, to: folder(of: new), name: keepsName ? nil : new.name))
        }
        return true
    }

    /// - Parameter isReplaced: something of another kind is in the entry's place, so the entry's file or folder will not come back.
    private mutating func takeMissing(_ entry: MirrorEntry, isReplaced: Bool, _ now: Int64) {
        var entry = entry
        // The file went while it was ignored. Nobody knows what that meant, so the document stays.
        if entry.stamp.isUnknown { return steps.append(.forget(entry)) }
        guard let since = entry.missingSince, since <= now else {
            if isReplaced { return steps.append(.drop(entry)) }
            entry.missingSince = now
            waiting.insert(entry.key)
            return steps.append(.keep(entry))
        }
        if isReplaced || now - since >= Self.absenceMilliseconds { return steps.append(.drop(entry)) }
        waiting.insert(entry.key)
    }
}

extension MirrorLook {
    /// Finds missing files among new files with the same bytes.
    /// - Returns: the rest of the missing.
    fileprivate mutating func takeByContent(
        _ readings: [DiskPath: FileReading], _ missing: [MirrorEntry]
    ) -> [MirrorEntry] {
        var byContent: [ContentID: [DiskItem]] = [:]
        for item in new where item.kind == .file {
            guard item.stamp.size > 0, let content = readings[item.path]?.content else { continue }
            byContent[content, default: []].append(item)
        }
        var taken: Set<DiskPath> = []
        let rest = missing.filter { entry in
            guard entry.kind == .file, entry.key.rival == nil, let candidates = byContent[entry.content] else {
                return true
            }
            // The same name in another folder, else another name in the same folder, else the first.
            let name = entry.path.name
            let open = candidates.filter { !taken.contains($0.path) }
            let found =
                open.first { $0.path.name.utf8.elementsEqual(name.utf8) }
                ?? open.first { $0.path.folder == entry.path.folder } ?? open.first
            guard let found else { return true }
            taken.insert(found.path)
            add(Match(entry: entry, item: found))
            return false
        }
        drop(new: taken)
        return rest
    }
}

extension Array {
    /// The elements with a property, and the elements without.
    fileprivate func divided(by isFirst: (Element) -> Bool) -> (first: [Element], rest: [Element]) {
        var (first, rest): ([Element], [Element]) = ([], [])
        for element in self {
            if isFirst(element) { first.append(element) } else { rest.append(element) }
        }
        return (first, rest)
    }
}
