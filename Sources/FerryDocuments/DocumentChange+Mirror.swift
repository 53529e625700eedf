import FerryCore

/// Changes of a single version, as somebody makes them who has a file of each.
extension DocumentChange {
    /// Drops one version: a deletion stands in its place, and in that of leaves that nobody can tell from the version. Other leaves
    /// stay: the document is deleted once its last leaf was dropped. A new version that somebody made on top meanwhile stays as well.
    /// - Parameter versions: all versions of the document.
    /// - Returns: `nil` for a version that is no leaf, or is a deletion.
    package static func dropping(
        _ version: VersionID, among versions: [VersionRow], by author: VersionAuthor
    ) -> DocumentChange? {
        let leaves = DocumentLeaves(versions)
        guard let dropped = leaves.all.first(where: { $0.id == version }), dropped.content != nil else { return nil }
        var change = DocumentChange()
        change.put(author.version(of: dropped.document, nil), inPlaceOf: leaves.equals(of: dropped).map(\.id))
        return change
    }

    /// Puts bytes beside all versions of a document: somebody made them without knowing of any.
    package static func joining(
        _ bytes: VersionBytes, to document: DocumentID, by author: VersionAuthor
    ) -> DocumentChange {
        var change = DocumentChange()
        change.put(author.version(of: document, bytes), inPlaceOf: [])
        return change
    }

    /// Saves bytes over a rival, which stays a rival: the new version takes its place in time. So a copy of a rival is still one
    /// after somebody wrote to it.
    /// - Parameter versions: all versions of the document.
    package static func saving(
        _ bytes: VersionBytes, overRival edited: VersionRow, among versions: [VersionRow], by author: VersionAuthor
    ) -> DocumentChange {
        var change = saving(bytes, over: edited, among: versions, by: author)
        for place in change.versions.indices { change.versions[place].madeMilliseconds = edited.madeMilliseconds }
        return change
    }
}
