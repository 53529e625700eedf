import FerryCore
import FerryDocuments

/// Which file of a mirror is meant: the one that shows a document, or the copy of a rival version beside it.
package struct MirrorKey: Hashable, Sendable {
    package var document: DocumentID
    /// `nil` for the file under the document's own name.
    package var rival: VersionID?

    package init(document: DocumentID, rival: VersionID? = nil) {
        self.document = document
        self.rival = rival
    }
}

/// What a mirror knows of a file or folder that it keeps: which version lies there, and how the disk looked then.
///
/// Invariant: the version's bytes lay at the path when the disk looked so. What looks otherwise was edited on top of that version.
package struct MirrorEntry: Hashable, Sendable {
    package var path: DiskPath
    package var key: MirrorKey
    package var kind: DiskItem.Kind
    package var version: VersionID
    /// What the bytes are.
    package var content: ContentID
    package var stamp: DiskStamp
    /// Since when nothing is there, in milliseconds since the Unix epoch; `nil` for what is there.
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
