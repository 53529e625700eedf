import FerryCore

/// Names a document on every device.
public typealias DocumentID = UniqueID<DocumentIDKind>
public enum DocumentIDKind {}

/// Names a version of a document.
public typealias VersionID = UniqueID<VersionIDKind>
public enum VersionIDKind {}

extension UniqueID where Kind == DocumentIDKind {
    /// The most documents of the same name and kind in a folder, deleted documents included.
    package static let maximumOrdinal = 1 << 20

    /// Derives the ID of a new document. Two devices with a new document of the same name in the same folder mean the
    /// same document.
    ///
    /// The name counts in composed form, because systems write the same name in different forms. The kind counts,
    /// because a folder and a file of the same name from two devices are two documents.
    /// - Parameters:
    ///   - folder: `nil` at the top.
    ///   - ordinal: distinguishes documents of the same name, made there in succession.
    package static func derived(
        folder: DocumentID?, name: String, kind: DocumentKind, ordinal: Int
    ) -> DocumentID {
        var writer = ByteWriter(reservingCapacity: 64)
        writer.writeCounted("ferry_document")
        writer.write(folder == nil ? 0 : 1)
        if let folder { writer.write(folder) }
        writer.writeCounted(DocumentName.composed(name))
        writer.writeVarint(UInt64(bitPattern: Int64(kind.rawValue)))
        writer.writeVarint(UInt64(ordinal))
        return ContentHash.hash(writer.bytes, in: ContentHash.objectNamespace)
    }

    /// Derives the ID of a new document with the least free ordinal.
    /// - Parameter isTaken: whether a row has an ID, shown or not.
    /// - Throws: `limitExceeded` above `maximumOrdinal`; errors of `isTaken`.
    package static func free(
        folder: DocumentID?, name: String, kind: DocumentKind, isTaken: (DocumentID) throws -> Bool
    ) throws -> DocumentID {
        for ordinal in 0...maximumOrdinal {
            let id = derived(folder: folder, name: name, kind: kind, ordinal: ordinal)
            if try !isTaken(id) { return id }
        }
        throw FerryError(
            .limitExceeded, "A folder has had more than \(maximumOrdinal) documents of one name. Use another name.")
    }
}

extension UniqueID where Kind == VersionIDKind {
    /// Derives the ID of a version merged by a program. All devices with the same merge make the same version.
    /// - Parameter supersedes: the merged versions, in any order.
    package static func merged(
        of document: DocumentID, supersedes: some Sequence<VersionID>, content: ContentID, mode: Int64
    ) -> VersionID {
        var writer = ByteWriter(reservingCapacity: 96)
        writer.writeCounted("ferry_version")
        writer.write(document)
        let parents = Set(supersedes).sorted()
        writer.writeVarint(UInt64(parents.count))
        for parent in parents { writer.write(parent) }
        writer.write(content)
        writer.writeZigzag(mode)
        return ContentHash.hash(writer.bytes, in: ContentHash.objectNamespace)
    }
}
