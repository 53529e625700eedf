import FerryContainer
import FerryCore
import FerryEngine
import FerrySQL
import FerryStore

/// Documents and contents of a database, by blocking calls. `DocumentStore` offers the same to apps, without blocking.
package struct DocumentAccess: Sendable {
    package let replica: Replica
    var store: Store { replica.store }

    package init(_ replica: Replica) { self.replica = replica }

    // MARK: Reading

    /// The shown documents and the documents in the trash.
    package func tree() throws -> DocumentTree {
        guard try store.hasDocumentTables() else { return DocumentTree(documents: [], versions: []) }
        return try store.read(Self.tree)
    }

    static func tree(_ connection: SQLConnection) throws -> DocumentTree {
        let table = DocumentTable(connection)
        let sizes = try table.sizes()
        return DocumentTree(documents: try table.documents(), versions: try table.versions()) { sizes[$0] }
    }

    /// The scope of a listing.
    package enum Selection: Hashable, Sendable {
        /// Everything in a folder, and in the folders below.
        case below(DocumentPath)
        /// Everything in a folder alone.
        case inside(DocumentPath)
        /// The trash.
        case deleted
        /// Documents with rival versions.
        case conflicts
    }

    /// Lists documents by path.
    /// - Throws: `nothingFound` for a missing folder.
    package func list(_ selection: Selection) throws -> [DocumentEntry] {
        try store.updateChunkIndex()
        let tree = try tree()
        let chosen: [DocumentTree.Entry]
        switch selection {
        case .inside(let folder): chosen = tree.shown(in: try Self.folder(folder, tree))
        case .below(let folder): chosen = Self.below(try Self.folder(folder, tree), tree)
        case .deleted: chosen = tree.entries.filter { $0.isDeleted && !$0.isShown }
        case .conflicts: chosen = tree.entries.filter { $0.isShown && !$0.rivals.isEmpty }
        }
        return try entries(chosen, tree)
    }

    /// Finds a document by path.
    /// - Throws: `nothingFound`.
    package func entry(_ path: DocumentPath) throws -> DocumentEntry {
        let tree = try tree()
        let id = try Self.find(path, tree)
        return try entries([tree[id]].compactMap { $0 }, tree)[0]
    }

    /// Finds a document by ID; `nil` for an unknown document.
    package func entry(_ id: DocumentID) throws -> DocumentEntry? { try entries([id]).first }

    /// Finds documents by ID and sorts them by path; unknown documents are left out.
    package func entries(_ ids: [DocumentID]) throws -> [DocumentEntry] {
        let tree = try tree()
        return try entries(ids.compactMap { tree[$0] }, tree)
    }

    /// Finds documents by ID.
    /// - Throws: `nothingFound` if one of them is unknown.
    package func knownEntries(_ ids: [DocumentID]) throws -> [DocumentEntry] {
        let found = try entries(ids)
        if !Set(ids).isSubset(of: found.map(\.id)) { throw Self.unknown }
        return found
    }

    private static func below(_ folder: DocumentID?, _ tree: DocumentTree) -> [DocumentTree.Entry] {
        var (found, next): ([DocumentTree.Entry], [DocumentID?]) = ([], [folder])
        while let folder = next.popLast() {
            let inside = tree.shown(in: folder)
            found += inside
            next += inside.filter { $0.kind == .folder }.map(\.id)
        }
        return found
    }

    /// The ID of a folder; `nil` for the top.
    private static func folder(_ path: DocumentPath, _ tree: DocumentTree) throws -> DocumentID? {
        if path.names.isEmpty { return nil }
        let id = try find(path, tree)
        guard tree[id]?.kind == .folder else {
            throw FerryError(.invalidArgument, "“\(path)” is a document, and no folder.")
        }
        return id
    }

    static func find(_ path: DocumentPath, _ tree: DocumentTree) throws -> DocumentID {
        guard let id = lookUp(path, tree) else {
            let former = tree.entries.count {
                $0.isDeleted && !$0.isShown && formerPath(of: $0, tree) == path.names
            }
            let trash =
                former == 0
                ? "`ferry documents list` shows what is there."
                : "\(former == 1 ? "One" : "\(former)") of that path \(former == 1 ? "is" : "are") in the trash: "
                    + "`ferry documents list --deleted` shows the trash, and `put-back` brings a document back."
            throw FerryError(.nothingFound, "There is no document “\(path)”. \(trash)")
        }
        return id
    }

    /// The document or folder at a path; `nil` for a free path, and for the top.
    static func lookUp(_ path: DocumentPath, _ tree: DocumentTree) -> DocumentID? {
        var found: DocumentID?
        for name in path.names {
            guard let entry = tree.shown(in: found).first(where: { $0.name == name }) else { return nil }
            found = entry.id
        }
        return found
    }

    private func entries(_ chosen: [DocumentTree.Entry], _ tree: DocumentTree) throws -> [DocumentEntry] {
        if chosen.isEmpty { return [] }
        return try store.read { connection in
            let judge = AvailabilityJudge(connection, replica.shelf)
            return try chosen.map { entry in
                let path = tree.path(of: entry.id) ?? Self.formerPath(of: entry, tree)
                return DocumentEntry(
                    id: entry.id, path: path.joined(separator: "/"), name: entry.name, kind: .init(entry.kind),
                    version: entry.version, content: entry.kind == .folder ? nil : entry.content,
                    byteCount: entry.kind == .folder ? nil : entry.size,
                    formerByteCount: entry.isDeleted && entry.kind != .folder
                        ? try Self.formerByteCount(of: entry, connection) : nil,
                    modifiedMicroseconds: entry.modifiedMicroseconds, rivals: entry.rivals,
                    isDeleted: entry.isDeleted, wasDeletedElsewhere: try Self.wasDeleted(entry, connection),
                    misplacement: entry.misplacement.map { $0 == .cycle ? .cycle : .noFolder },
                    availability: entry.kind == .folder ? .none : try judge.availability(of: entry.content))
            }.sorted { ($0.path, $0.id) < ($1.path, $1.id) }
        }
    }

    /// Whether somebody deleted the shown version without knowing of it.
    private static func wasDeleted(_ entry: DocumentTree.Entry, _ connection: SQLConnection) throws -> Bool {
        guard let beaten = entry.beatenDeletion else { return false }
        let versions = try DocumentTable(connection).versions(of: entry.id)
        guard let deletion = versions.first(where: { $0.id == beaten }),
            let shown = versions.first(where: { $0.id == entry.version })
        else { return true }
        return VersionHistory(versions).deletes(deletion, behind: shown)
    }

    /// The length of a deleted document's last version.
    private static func formerByteCount(of entry: DocumentTree.Entry, _ connection: SQLConnection) throws -> Int? {
        let versions = try DocumentTable(connection).versions(of: entry.id).filter { $0.content != nil }
        let last = versions.max { VersionRow.isEarlier($0, $1) }
        return try last?.content.flatMap { try ContentRows(connection).byteCount(of: $0) }
    }

    /// Where a deleted document was.
    private static func formerPath(of entry: DocumentTree.Entry, _ tree: DocumentTree) -> [String] {
        var (names, folder, seen): ([String], DocumentID?, Set<DocumentID>) = ([entry.name], entry.folder, [])
        while let id = folder, seen.insert(id).inserted, let around = tree[id] {
            names.insert(around.name, at: 0)
            folder = around.folder
        }
        return names
    }

    /// The versions of a document: the shown version, then the rivals, then the past from the latest on.
    /// - Throws: `nothingFound` for an unknown document.
    package func versions(of document: DocumentID) throws -> [DocumentVersion] {
        guard try store.hasDocumentTables() else { throw Self.unknown }
        let names = try deviceNames()
        return try store.read { connection in
            let rows = try DocumentTable(connection).versions(of: document)
            if try rows.isEmpty && DocumentTable(connection).document(document) == nil { throw Self.unknown }
            let leaves = DocumentLeaves(rows)
            let first = [leaves.current].compactMap { $0 } + leaves.rivals
            let known = Set(first.map(\.id))
            let past = rows.filter { !known.contains($0.id) }.sorted { VersionRow.isEarlier($1, $0) }
            let judge = AvailabilityJudge(connection, replica.shelf)
            let (contents, rivals) = (ContentRows(connection), Set(leaves.rivals.map(\.id)))
            return try (first + past).enumerated().map { index, row in
                DocumentVersion(
                    number: index + 1, id: row.id, content: row.content,
                    byteCount: try row.content.flatMap { try contents.byteCount(of: $0) },
                    device: row.device.map { names[$0] ?? $0.description }, madeMilliseconds: row.madeMilliseconds,
                    modifiedMicroseconds: row.modifiedMicroseconds, isCurrent: row.id == leaves.current?.id,
                    isRival: rivals.contains(row.id), availability: try judge.availability(of: row.content))
            }
        }
    }

    /// The names of all known devices.
    package func deviceNames() throws -> [DeviceID: String] {
        var names = try store.reading().names
        names[replica.identity.device] = replica.identity.deviceName
        return names
    }
}

extension DocumentEntry.Kind {
    init(_ kind: DocumentKind) {
        switch kind {
        case .file: self = .file
        case .folder: self = .folder
        case .package: self = .package
        case .link: self = .link
        }
    }
}
