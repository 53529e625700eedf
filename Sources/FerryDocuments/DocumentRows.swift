import FerryCore

/// The kind of a document. The numbers are those of `ferry_document.kind`.
package enum DocumentKind: Int, Hashable, Sendable, CaseIterable {
    case file = 0
    case folder = 1
    /// A directory that counts as a single document.
    case package = 2
    /// A symbolic link; the content is the target's path.
    case link = 3
}

/// A row of `ferry_document`.
package struct DocumentRow: Hashable, Sendable {
    package var id: DocumentID
    /// `nil` at the top.
    package var folder: DocumentID?
    /// As written by the author.
    package var name: String
    package var kind: DocumentKind
    /// When the document was last renamed or moved, in milliseconds since the Unix epoch; `nil` if never.
    package var namedMilliseconds: Int64?

    package init(
        id: DocumentID, folder: DocumentID? = nil, name: String, kind: DocumentKind, namedMilliseconds: Int64? = nil
    ) {
        self.id = id
        self.folder = folder
        self.name = name
        self.kind = kind
        self.namedMilliseconds = namedMilliseconds
    }

    /// The order in which documents take places and names: documents never renamed come first.
    static func isNamedBefore(_ left: DocumentRow, _ right: DocumentRow) -> Bool {
        switch (left.namedMilliseconds, right.namedMilliseconds) {
        case (nil, nil): left.id < right.id
        case (nil, _): true
        case (_, nil): false
        case (let one?, let other?): one != other ? one < other : left.id < right.id
        }
    }
}

/// A row of `ferry_version`. A deletion is a version without a content, and putting back is a version with a content.
package struct VersionRow: Hashable, Sendable {
    package var id: VersionID
    package var document: DocumentID
    /// `nil`: the document is deleted by this version. A folder's versions have the empty content.
    package var content: ContentID?
    /// The versions replaced by this version, ascending. The column has their bytes in a row.
    package var supersedes: [VersionID]
    /// True once a version has replaced this version. Never becomes false again.
    package var isSuperseded: Bool
    /// When the version was made, in milliseconds since the Unix epoch.
    package var madeMilliseconds: Int64
    /// The author device; `nil` for a merge made alike by every device.
    package var device: DeviceID?
    /// When the file was last written to, in microseconds since the Unix epoch.
    package var modifiedMicroseconds: Int64
    /// Bit 0: an executable file.
    package var mode: Int64

    package init(
        id: VersionID, document: DocumentID, content: ContentID?, supersedes: [VersionID] = [],
        isSuperseded: Bool = false, madeMilliseconds: Int64, device: DeviceID?, modifiedMicroseconds: Int64 = 0,
        mode: Int64 = 0
    ) {
        self.id = id
        self.document = document
        self.content = content
        self.supersedes = supersedes
        self.isSuperseded = isSuperseded
        self.madeMilliseconds = madeMilliseconds
        self.device = device
        self.modifiedMicroseconds = modifiedMicroseconds
        self.mode = mode
    }

    /// True for indistinguishable versions of a document: two deletions, or the same content with the same mode.
    func isEqual(to other: VersionRow) -> Bool {
        content == other.content && (content == nil || mode == other.mode)
    }

    /// The order of versions: by time, then by device, then by ID. The last version is current.
    static func isEarlier(_ left: VersionRow, _ right: VersionRow) -> Bool {
        if left.madeMilliseconds != right.madeMilliseconds { return left.madeMilliseconds < right.madeMilliseconds }
        switch (left.device, right.device) {
        case (nil, .some): return true
        case (.some, nil): return false
        case (let one?, let other?) where one != other: return one < other
        default: return left.id < right.id
        }
    }
}
