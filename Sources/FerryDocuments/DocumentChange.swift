import FerryCore

/// The writes for a change of a document, as a plan: rows to insert, and versions to mark. A single transaction has all
/// of it.
///
/// Nothing is ever overwritten: a change puts a version beside or in the place of versions. Nobody's bytes depend on
/// the order of the changes.
package struct DocumentChange: Hashable, Sendable {
    /// Rows to insert. A folder stands before its documents.
    package var documents: [DocumentRow] = []
    /// Rows to insert.
    package var versions: [VersionRow] = []
    /// Versions that get the mark `superseded`.
    package var superseded: Set<VersionID> = []

    package init() {}

    /// Replaces versions by a new version.
    mutating func put(_ version: VersionRow, inPlaceOf others: some Sequence<VersionID>) {
        var version = version
        version.supersedes = Set(others).sorted()
        superseded.formUnion(version.supersedes)
        versions.append(version)
    }
}

/// The author and the time of a change.
package struct VersionAuthor: Sendable {
    package let device: DeviceID
    /// Milliseconds since the Unix epoch.
    package let nowMilliseconds: Int64
    private let random: any RandomSource

    package init(device: DeviceID, nowMilliseconds: Int64, random: any RandomSource) {
        self.device = device
        self.nowMilliseconds = nowMilliseconds
        self.random = random
    }

    /// A version of this author's, with a new ID.
    func version(of document: DocumentID, _ bytes: VersionBytes?, modifiedMicroseconds: Int64 = 0) -> VersionRow {
        VersionRow(
            id: random.makeID(), document: document, content: bytes?.content, madeMilliseconds: nowMilliseconds,
            device: device, modifiedMicroseconds: bytes?.modifiedMicroseconds ?? nowMilliseconds * 1000,
            mode: bytes?.mode ?? 0)
    }
}

/// The bytes of a version: a content, with the file's attributes on disk.
package struct VersionBytes: Hashable, Sendable {
    package var content: ContentID
    /// When the file was last written to, in microseconds since the Unix epoch.
    package var modifiedMicroseconds: Int64
    /// Bit 0: an executable file.
    package var mode: Int64

    package init(content: ContentID, modifiedMicroseconds: Int64, mode: Int64 = 0) {
        self.content = content
        self.modifiedMicroseconds = modifiedMicroseconds
        self.mode = mode
    }

    /// The bytes of a version; `nil` for a deletion.
    package init?(_ version: VersionRow) {
        guard let content = version.content else { return nil }
        self.init(content: content, modifiedMicroseconds: version.modifiedMicroseconds, mode: version.mode)
    }
}

// MARK: - Changes of a single document

extension DocumentChange {
    /// Makes a document.
    package static func making(_ row: DocumentRow, _ bytes: VersionBytes, by author: VersionAuthor) -> DocumentChange {
        var change = DocumentChange()
        change.documents = [row]
        change.put(author.version(of: row.id, bytes), inPlaceOf: [])
        return change
    }

    /// Saves bytes over the edited version, current or not. The remaining leaves stay, as rivals. The new version also
    /// replaces all leaves equal to the edited version, and a deletion beaten by the edited version.
    /// - Parameters:
    ///   - versions: all versions of the document.
    ///   - held: the versions in the other files of the document. An equal leaf from such a file stays.
    package static func saving(
        _ bytes: VersionBytes, over edited: VersionRow, among versions: [VersionRow], besides held: Set<VersionID> = [],
        by author: VersionAuthor
    ) -> DocumentChange {
        let leaves = DocumentLeaves(versions)
        var others = [edited.id]
        let equals = leaves.equals(of: edited, among: versions, besides: held)
        if equals.contains(where: { $0.id == edited.id }) {
            others += equals.map(\.id)
            let isCurrent = leaves.current.map(edited.isEqual(to:)) ?? false
            if isCurrent { others += leaves.all.filter { $0.content == nil }.map(\.id) }
        }
        var change = DocumentChange()
        change.put(author.version(of: edited.document, bytes), inPlaceOf: others)
        return change
    }

    /// Deletes a document with all leaves. To delete a folder, delete everything below it in the same transaction.
    /// - Parameter versions: all versions of the document.
    package static func removing(
        _ document: DocumentID, _ versions: [VersionRow], by author: VersionAuthor
    ) -> DocumentChange {
        var change = DocumentChange()
        change.put(author.version(of: document, nil), inPlaceOf: DocumentLeaves(versions).all.map(\.id))
        return change
    }

    /// Puts a deleted document back, with the bytes from before the deletion.
    /// - Parameter versions: all versions of the document.
    /// - Returns: `nil` for a document not deleted, and for a document without a remaining version with content.
    package static func puttingBack(
        _ document: DocumentID, _ versions: [VersionRow], by author: VersionAuthor
    ) -> DocumentChange? {
        let leaves = DocumentLeaves(versions)
        guard leaves.isDeleted, let bytes = VersionHistory(versions).beforeDeletion.flatMap(VersionBytes.init)
        else { return nil }
        var change = DocumentChange()
        change.put(author.version(of: document, bytes), inPlaceOf: leaves.all.map(\.id))
        return change
    }
}

// MARK: - Settling

/// How a conflict of a document ends.
package enum Settlement: Hashable, Sendable {
    /// The given version replaces all leaves.
    case keep(VersionID)
    /// The current version stands. Each rival becomes a separate document, with these names in the order of the rivals.
    case keepBoth(names: [String])
    /// The app's bytes stand in the place of all leaves.
    case with(VersionBytes)
}

extension DocumentChange {
    /// Settles a conflict.
    /// - Parameters:
    ///   - versions: all versions of the document.
    ///   - isTaken: whether a row has the ID of a new document.
    /// - Throws: `nothingFound` for a document without a conflict, for a missing version, and for a deletion.
    ///   `invalidArgument` if the number of names differs from the number of rivals, and for names forbidden to
    ///   documents.
    package static func settling(
        _ row: DocumentRow, _ versions: [VersionRow], _ how: Settlement, by author: VersionAuthor,
        isTaken: (DocumentID) throws -> Bool
    ) throws -> DocumentChange {
        let leaves = DocumentLeaves(versions)
        guard let current = leaves.current, !leaves.rivals.isEmpty else {
            throw FerryError(.nothingFound, "The document has no conflict. Nothing was changed.")
        }
        var change = DocumentChange()
        let bytes: VersionBytes?
        switch how {
        case .with(let merged): bytes = merged
        case .keep(let id): bytes = versions.first { $0.id == id }.flatMap(VersionBytes.init)
        case .keepBoth(let names):
            bytes = VersionBytes(current)
            try change.makeCopies(of: row, leaves.rivals, names, author, isTaken)
        }
        guard let bytes else {
            throw FerryError(.nothingFound, "The document has no such version with content. Nothing was changed.")
        }
        change.put(author.version(of: row.id, bytes), inPlaceOf: leaves.all.map(\.id))
        return change
    }

    private mutating func makeCopies(
        of row: DocumentRow, _ rivals: [VersionRow], _ names: [String], _ author: VersionAuthor,
        _ isTaken: (DocumentID) throws -> Bool
    ) throws {
        guard names.count == rivals.count else {
            throw FerryError(
                .invalidArgument, "\(rivals.count) versions need \(rivals.count) names. Nothing was changed.")
        }
        for (rival, name) in zip(rivals, names) {
            try DocumentName.check(name)
            guard let bytes = VersionBytes(rival) else { continue }
            let made = Set(documents.map(\.id))
            let id = try DocumentID.free(folder: row.folder, name: name, kind: row.kind) {
                try made.contains($0) || isTaken($0)
            }
            let copy = DocumentChange.making(
                DocumentRow(id: id, folder: row.folder, name: name, kind: row.kind), bytes, by: author)
            documents += copy.documents
            versions += copy.versions
        }
    }

    /// Replaces two leaves by the result of a program's merge. Every device with the same merge makes the same version:
    /// no field depends on the device or on the time.
    /// - Parameter versions: all versions of the document.
    package static func merging(
        _ pair: MergePair, _ content: ContentID, _ versions: [VersionRow]
    ) -> DocumentChange {
        let leaves = DocumentLeaves(versions)
        let others = Set((leaves.equals(of: pair.ours) + leaves.equals(of: pair.theirs)).map(\.id))
        let mode = pair.mode
        let last = VersionRow.isEarlier(pair.ours, pair.theirs) ? pair.theirs : pair.ours
        var change = DocumentChange()
        change.put(
            VersionRow(
                id: .merged(of: last.document, supersedes: others, content: content, mode: mode),
                document: last.document, content: content, madeMilliseconds: last.madeMilliseconds, device: nil,
                modifiedMicroseconds: max(pair.ours.modifiedMicroseconds, pair.theirs.modifiedMicroseconds), mode: mode),
            inPlaceOf: others)
        return change
    }
}
