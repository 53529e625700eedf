import FerryCore

/// Changes of a single version, for callers with a file of each version.
extension DocumentChange {
    /// Drops a version: a deletion replaces the version and every leaf equal to it. The remaining leaves stay: the
    /// document is deleted only when the last leaf is dropped. A new version on top of the dropped version stays as
    /// well. So does an equal leaf of another file: somebody took the dropped bytes over into that file.
    /// - Parameters:
    ///   - versions: all versions of the document.
    ///   - held: the versions in the other files of the document.
    /// - Returns: `nil` for a version that is no leaf, and for a deletion.
    package static func dropping(
        _ version: VersionID, among versions: [VersionRow], besides held: Set<VersionID> = [],
        by author: VersionAuthor
    ) -> DocumentChange? {
        let leaves = DocumentLeaves(versions)
        guard let dropped = leaves.all.first(where: { $0.id == version }), dropped.content != nil else { return nil }
        var change = DocumentChange()
        change.put(
            author.version(of: dropped.document, nil),
            inPlaceOf: leaves.equals(of: dropped, among: versions, besides: held).map(\.id))
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

    /// Saves bytes over a rival. The new version stays a rival, because it gets the rival's place in time. So a copy of
    /// a rival is still a rival after somebody wrote to the copy.
    /// - Parameters:
    ///   - versions: all versions of the document.
    ///   - held: the versions in the other files of the document. An equal leaf from such a file stays.
    package static func saving(
        _ bytes: VersionBytes, overRival edited: VersionRow, among versions: [VersionRow],
        besides held: Set<VersionID> = [], by author: VersionAuthor
    ) -> DocumentChange {
        var change = saving(bytes, over: edited, among: versions, besides: held, by: author)
        for place in change.versions.indices { change.versions[place].madeMilliseconds = edited.madeMilliseconds }
        return change
    }
}
