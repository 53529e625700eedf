import FerryCore
import FerryDocuments

/// The rows read and written by an intake, in a single transaction.
package protocol MirrorRows {
    var author: VersionAuthor { get }
    /// The content without bytes, for versions of folders. The content's rows are there.
    func emptyContent() throws -> ContentID

    func document(_ id: DocumentID) throws -> DocumentRow?
    func versions(of document: DocumentID) throws -> [VersionRow]
    func isTaken(_ id: DocumentID) throws -> Bool
    /// Carries a change out. The rows of the change's contents are written along.
    func apply(_ change: DocumentChange) throws
    func place(_ id: DocumentID, in folder: DocumentID?, as name: String, atMilliseconds now: Int64) throws

    func put(_ entry: MirrorEntry) throws
    func removeEntry(of key: MirrorKey) throws
}

/// Carries out the changes of a disk, in a transaction: documents, versions, and the mirror's knowledge.
///
/// Rows may have changed since the intake was made. Each step looks again at the rows behind the step.
package struct IntakeWriter {
    /// The treatment of a file and a document with the same path, where neither comes from the mirror.
    package enum Preference: String, Hashable, Sendable {
        /// Both are versions.
        case both
        case disk
        case documents
    }

    /// The work done, for people.
    package struct Counts: Hashable, Sendable {
        package var added = 0
        package var saved = 0
        package var moved = 0
        package var dropped = 0

        package init() {}
    }

    private let rows: any MirrorRows
    private let preference: Preference
    /// The versions in the files of documents with several files, from before the steps.
    private let held: [DocumentID: [MirrorKey: VersionID]]
    private var made: [DiskPath: DocumentID] = [:]
    package private(set) var counts = Counts()

    /// - Parameter entries: the mirror's knowledge of the directory from before the steps.
    package init(_ rows: any MirrorRows, _ entries: [MirrorEntry], preferring preference: Preference = .both) {
        self.rows = rows
        self.preference = preference
        let disputed = Set(entries.lazy.filter { $0.key.rival != nil }.map(\.key.document))
        var held: [DocumentID: [MirrorKey: VersionID]] = [:]
        for entry in entries where disputed.contains(entry.key.document) {
            held[entry.key.document, default: [:]][entry.key] = entry.version
        }
        self.held = held
    }

    /// - Parameter entries: the mirror's knowledge of the directory from before the steps.
    /// - Returns: the work done.
    package static func apply(
        _ steps: [IntakeStep], of entries: [MirrorEntry], to rows: any MirrorRows,
        preferring preference: Preference = .both
    ) throws -> Counts {
        var writer = IntakeWriter(rows, entries, preferring: preference)
        // Moves go before edits of the moved files.
        for step in steps { try writer.apply(step) }
        return writer.counts
    }

    private mutating func apply(_ step: IntakeStep) throws {
        switch step {
        case .keep(let entry): try rows.put(entry)
        case .forget(let entry): try rows.removeEntry(of: entry.key)
        case .folder(let item, let around, let present): try takeFolder(item, around, present)
        case .file(let path, let reading, let around, let present): try takeFile(path, reading, around, present)
        case .edit(let entry, let reading): try edit(entry, reading)
        case .move(let document, let folder, let name): try move(document, folder, name)
        case .drop(let entry): try drop(entry)
        }
    }

    private func id(_ folder: IntakeFolder) -> DocumentID? {
        switch folder {
        case .document(let id): id
        case .new(let path): made[path]
        }
    }

    // MARK: New things

    private mutating func takeFolder(_ item: DiskItem, _ around: IntakeFolder, _ present: DocumentID?) throws {
        if let present, try rows.document(present)?.kind == .folder {
            let leaves = DocumentLeaves(try rows.versions(of: present))
            if let version = leaves.current {
                made[item.path] = present
                return try putFolder(item, present, version.id)
            }
        }
        let bytes = VersionBytes(
            content: try rows.emptyContent(), modifiedMicroseconds: rows.author.nowMilliseconds * 1000)
        let (document, version) = try make(item.path.name, .folder, around, bytes)
        made[item.path] = document
        try putFolder(item, document, version)
    }

    private func putFolder(_ item: DiskItem, _ document: DocumentID, _ version: VersionID) throws {
        try rows.put(
            MirrorEntry(
                path: item.path, key: MirrorKey(document: document), kind: .folder, version: version, content: .zero,
                stamp: item.stamp))
    }

    private mutating func takeFile(
        _ path: DiskPath, _ reading: FileReading, _ around: IntakeFolder, _ present: DocumentID?
    ) throws {
        if let present, try rows.document(present)?.kind == .file {
            return try meet(path, reading, present)
        }
        let (document, version) = try make(path.name, .file, around, reading.bytes)
        try put(path, reading, MirrorKey(document: document), version)
    }

    /// A file and a document met by their names.
    private mutating func meet(_ path: DiskPath, _ reading: FileReading, _ document: DocumentID) throws {
        let versions = try rows.versions(of: document)
        let leaves = DocumentLeaves(versions)
        guard let current = leaves.current, current.content != nil else {
            let change = DocumentChange.joining(reading.bytes, to: document, by: rows.author)
            return try save(change, path, reading, MirrorKey(document: document))
        }
        if current.content == reading.content, current.mode & 1 == reading.bytes.mode {
            return try put(path, reading, MirrorKey(document: document), current.id)
        }
        if let rival = leaves.rivals.first(where: { $0.content == reading.content }) {
            // The outflow puts the current version in the rival's place.
            return try put(path, reading, MirrorKey(document: document), rival.id)
        }
        switch preference {
        case .disk:
            try save(
                .saving(reading.bytes, over: current, among: versions, by: rows.author), path, reading,
                MirrorKey(document: document))
        case .both:
            try save(
                .joining(reading.bytes, to: document, by: rows.author), path, reading, MirrorKey(document: document))
        case .documents:
            let joining = DocumentChange.joining(reading.bytes, to: document, by: rows.author)
            try save(joining, path, reading, MirrorKey(document: document))
            guard let bytes = VersionBytes(current) else { return }
            try rows.apply(
                .saving(bytes, over: joining.versions[0], among: versions + joining.versions, by: rows.author))
        }
    }

    private mutating func make(
        _ name: String, _ kind: DocumentKind, _ around: IntakeFolder, _ bytes: VersionBytes
    ) throws -> (document: DocumentID, version: VersionID) {
        let folder = id(around)
        let document = try DocumentID.free(folder: folder, name: name, kind: kind, isTaken: rows.isTaken)
        let change = DocumentChange.making(
            DocumentRow(id: document, folder: folder, name: name, kind: kind), bytes, by: rows.author)
        try rows.apply(change)
        counts.added += 1
        return (document, change.versions[0].id)
    }

    private mutating func save(
        _ change: DocumentChange, _ path: DiskPath, _ reading: FileReading, _ key: MirrorKey
    ) throws {
        try rows.apply(change)
        counts.saved += 1
        guard let version = change.versions.first else { return }
        try put(path, reading, key, version.id)
    }

    private func put(_ path: DiskPath, _ reading: FileReading, _ key: MirrorKey, _ version: VersionID) throws {
        try rows.put(
            MirrorEntry(
                path: path, key: key, kind: .file, version: version, content: reading.content, stamp: reading.stamp))
    }

    // MARK: Known things

    /// The versions in the other files of an entry's document.
    private func held(besides entry: MirrorEntry) -> Set<VersionID> {
        Set((held[entry.key.document] ?? [:]).lazy.filter { $0.key != entry.key }.map(\.value))
    }

    private mutating func edit(_ entry: MirrorEntry, _ reading: FileReading) throws {
        let versions = try rows.versions(of: entry.key.document)
        let leaves = DocumentLeaves(versions)
        var key = entry.key
        try rows.removeEntry(of: entry.key)
        let isLeaf = leaves.all.contains { $0.id == entry.version }
        if !isLeaf, let current = leaves.current, current.content == reading.content,
            current.mode & 1 == reading.bytes.mode, key.rival == nil
        {
            // The current version is there already.
            return try put(entry.path, reading, key, current.id)
        }
        guard let edited = versions.first(where: { $0.id == entry.version }) else {
            // The edited version was too old to be kept: nobody can say from which version the file was made.
            return try save(
                .joining(reading.bytes, to: key.document, by: rows.author), entry.path, reading,
                MirrorKey(document: key.document))
        }
        let change =
            key.rival == nil
            ? DocumentChange.saving(
                reading.bytes, over: edited, among: versions, besides: held(besides: entry), by: rows.author)
            : .saving(
                reading.bytes, overRival: edited, among: versions, besides: held(besides: entry), by: rows.author)
        if key.rival != nil { key.rival = change.versions.first?.id }
        try save(change, entry.path, reading, key)
    }

    private mutating func move(_ document: DocumentID, _ folder: IntakeFolder, _ name: String?) throws {
        guard let row = try rows.document(document) else { return }
        let target = id(folder)
        let name = name ?? row.name
        if row.folder == target, row.name.utf8.elementsEqual(name.utf8) { return }
        try rows.place(document, in: target, as: name, atMilliseconds: rows.author.nowMilliseconds)
        counts.moved += 1
    }

    private mutating func drop(_ entry: MirrorEntry) throws {
        try rows.removeEntry(of: entry.key)
        let versions = try rows.versions(of: entry.key.document)
        guard
            let change = DocumentChange.dropping(
                entry.version, among: versions, besides: held(besides: entry), by: rows.author)
        else { return }
        try rows.apply(change)
        counts.dropped += 1
    }
}
