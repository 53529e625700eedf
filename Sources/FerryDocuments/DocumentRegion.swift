import FerryCore

/// The tables of documents, as far as a region of the tree needs them.
package protocol DocumentTables {
    /// A row; `nil` where there is none.
    func document(_ id: DocumentID) throws -> DocumentRow?
    /// All versions of a document.
    func versions(of document: DocumentID) throws -> [VersionRow]
    /// The documents with a given folder in their row; `nil` for the top.
    func documents(in folder: DocumentID?) throws -> [DocumentID]
    /// A document's entry before the change; `nil` for a document not yet there.
    func entry(_ id: DocumentID) throws -> DocumentTree.Entry?
    /// The documents shown in a folder before the change; `nil` for the top.
    func shown(in folder: DocumentID?) throws -> [DocumentID]
}

/// The difference in the tree after a change of some documents, without a scan of all documents.
///
/// The region begins with the changed documents and goes up, by the rows and by the entries before. So the region has
/// every folder that may appear or vanish, and every cycle that begins or ends. The documents in the region's folders
/// belong to the region, because documents of one folder share names. All remaining documents stay as they were. The
/// time depends on the region: with a large folder the time is long.
package enum DocumentRegion {
    /// - Parameters:
    ///   - changed: every document with a changed row or a changed version; new and removed documents, too.
    ///   - size: the bytes of a content, where they are known.
    /// - Returns: the differences from the entries before.
    package static func difference(
        changed: Set<DocumentID>, in tables: some DocumentTables, size: (ContentID) -> Int? = { _ in nil }
    ) throws -> DocumentTree.Difference {
        if changed.isEmpty { return DocumentTree.Difference() }
        let inner = try above(changed, tables)
        var members = inner
        for folder in inner.map(Optional.some) + [nil] {
            members.formUnion(try tables.documents(in: folder))
            members.formUnion(try tables.shown(in: folder))
        }
        var (documents, versions) = ([DocumentRow](), [VersionRow]())
        var former: [DocumentID: DocumentTree.Entry] = [:]
        for id in members {
            former[id] = try tables.entry(id)
            guard let row = try tables.document(id) else { continue }
            documents.append(row)
            if inner.contains(id) || former[id] == nil { versions += try tables.versions(of: id) }
        }
        let tree = DocumentTree(
            documents: documents, versions: versions, outside: former.filter { !inner.contains($0.key) }, size: size)
        var difference = DocumentTree.Difference()
        difference.changed = tree.entries.filter { former[$0.id] != $0 }
        difference.removed = former.keys.filter { tree[$0] == nil }.sorted()
        return difference
    }

    /// Documents with all folders above them, by their rows and by the entries before.
    private static func above(
        _ documents: Set<DocumentID>, _ tables: some DocumentTables
    ) throws -> Set<DocumentID> {
        var found = documents
        var next = Array(documents)
        while let id = next.popLast() {
            let folders = [try tables.document(id)?.folder, try tables.entry(id)?.folder]
            for case let folder? in folders where found.insert(folder).inserted { next.append(folder) }
        }
        return found
    }
}
