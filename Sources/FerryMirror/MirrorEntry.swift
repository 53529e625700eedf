import FerryCore
import FerryDocuments

/// A file of a mirror: the file for a document's current version, or the copy of a rival version beside that file.
package struct MirrorKey: Hashable, Sendable {
    package var document: DocumentID
    /// `nil` for the file under the document's own name.
    package var rival: VersionID?

    package init(document: DocumentID, rival: VersionID? = nil) {
        self.document = document
        self.rival = rival
    }
}

/// A mirror's knowledge of a file or folder: the version there, and the disk's stamp at the time.
///
/// Invariant: the version's bytes lay at the path when the disk had the stamp. A file with a different stamp was edited on top of the
/// version.
package struct MirrorEntry: Hashable, Sendable {
    package var path: DiskPath
    package var key: MirrorKey
    package var kind: DiskItem.Kind
    package var version: VersionID
    /// The bytes of the version.
    package var content: ContentID
    package var stamp: DiskStamp
    /// Since when nothing is there, in milliseconds since the Unix epoch; `nil` while the file or folder is there.
    package var missingSince: Int64?

    package init(
        path: DiskPath, key: MirrorKey, kind: DiskItem.Kind, version: VersionID, content: ContentID, stamp: DiskStamp,
        missingSince: Int64? = nil
    ) {
        self.path = path
        self.key = key
        self.kind = kind
        self.version = version
        self.content = content
        self.stamp = stamp
        self.missingSince = missingSince
    }

    package var mode: Int64 { stamp.isExecutable ? 1 : 0 }
}
