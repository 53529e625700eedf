import FerryCore

/// Names a document on every device.
public typealias DocumentID = UniqueID<DocumentIDKind>
public enum DocumentIDKind {}

/// Names a version of a document.
public typealias VersionID = UniqueID<VersionIDKind>
public enum VersionIDKind {}

extension UniqueID where Kind == DocumentIDKind {
    /// No folder has more documents of one name and kind, deleted ones included.
    package static let maximumOrdinal = 1 << 20

    /// Derives the ID of a new document. Two devices that make a document of one name in one folder mean one document.
    ///
    /// The name counts in composed form, because systems write the same name in different forms. The kind counts, because a folder
    /// and a file that two devices make under one name are two documents.
    /// - Parameters:
    ///   - folder: `nil` at the top.
    ///   - ordinal: tells documents apart that were made there one after another.
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

    /// Derives the ID of a new document with the least ordinal that no row has.
    /// - Parameter isTaken: whether a row has an ID, shown or not.
    /// - Throws: `limitExceeded` above `maximumOrdinal`; what `isTaken` throws.
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
    /// Derives the ID of a version that a program merged, so that all devices that merge alike make one version.
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
