import FerryCore
import FerryDocuments

/// Tables of documents in memory, with what was shown of them.
struct ShownTables: DocumentTables {
    private var documents: [DocumentID: DocumentRow] = [:]
    private var versions: [DocumentID: Set<VersionRow>] = [:]
    var entries: [DocumentID: DocumentTree.Entry] = [:]

    /// Puts other rows in the place of all.
    /// - Returns: the documents of which a row is another one.
    mutating func replace(_ newDocuments: [DocumentRow], _ newVersions: [VersionRow]) -> Set<DocumentID> {
        let (oldDocuments, oldVersions) = (documents, versions)
        documents = Dictionary(uniqueKeysWithValues: newDocuments.map { ($0.id, $0) })
        versions = Dictionary(grouping: newVersions, by: \.document).mapValues(Set.init)
        let all = Set(oldDocuments.keys).union(documents.keys).union(oldVersions.keys).union(versions.keys)
        return all.filter { oldDocuments[$0] != documents[$0] || oldVersions[$0] != versions[$0] }
    }

    func document(_ id: DocumentID) -> DocumentRow? { documents[id] }

    func versions(of document: DocumentID) -> [VersionRow] { Array(versions[document] ?? []) }

    func documents(in folder: DocumentID?) -> [DocumentID] {
        documents.values.filter { $0.folder == folder }.map(\.id)
    }

    func entry(_ id: DocumentID) -> DocumentTree.Entry? { entries[id] }

    func shown(in folder: DocumentID?) -> [DocumentID] {
        entries.values.filter { $0.isShown && $0.folder == folder }.map(\.id)
    }
}
