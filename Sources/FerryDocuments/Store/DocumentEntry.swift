import FerryCore
import FerryStore

/// A document or a folder as shown.
public struct DocumentEntry: Hashable, Sendable, Identifiable {
    /// The kind of an entry.
    public enum Kind: String, Hashable, Sendable, Codable {
        case file, folder, package, link
    }

    /// Why a document is shown at the top.
    public enum Misplacement: String, Hashable, Sendable, Codable {
        /// Two devices moved folders into each other, and this folder was moved last.
        case cycle
        /// The folder's row has not arrived, or is no folder's.
        case noFolder
    }

    public let id: DocumentID
    /// The path of the shown document: `Scores/Trio.pdf`. In the trash: the former path.
    public let path: String
    /// The last part of the path.
    public let name: String
    public let kind: Kind
    /// The shown version; of a deleted document the deletion.
    public let version: VersionID?
    public let content: ContentID?
    /// In bytes; `nil` for folders, and for contents before the arrival of their row.
    public let byteCount: Int?
    /// Of a file in the trash: the length of its last version, in bytes; `nil` before the arrival of the content's row.
    package let formerByteCount: Int?
    /// When the file was last written to, in microseconds since the Unix epoch. In the trash: when the document was deleted.
    public let modifiedMicroseconds: Int64?
    /// The versions beside the shown version, the latest first. Not empty: the document has a conflict for somebody to
    /// settle.
    public let rivals: [VersionID]
    /// True for a document in the trash.
    public let isDeleted: Bool
    /// True if somebody deleted the document without knowing of the shown version.
    public let wasDeletedElsewhere: Bool
    /// The reason for showing the document at the top instead of the document's own folder; `nil` for a document in
    /// place.
    public let misplacement: Misplacement?
    public let availability: ContentAvailability
}

/// Where the bytes of a content are.
public enum ContentAvailability: Hashable, Sendable {
    /// On this device.
    case here
    /// In the container. Opening or fetching brings them.
    case inContainer
    /// Unavailable now, because a file is still to come or is damaged.
    case waiting(reason: String, code: FerryError.Code, file: String?, sinceMilliseconds: Int64?)
    /// No pack in the container has them, and this device has not either.
    case lost(sinceMilliseconds: Int64)
    /// The entry is a folder, or a deletion.
    case none

    /// The word of the JSON output.
    public var word: String {
        switch self {
        case .here: "here"
        case .inContainer: "inContainer"
        case .waiting: "waiting"
        case .lost: "lost"
        case .none: "none"
        }
    }
}

/// A version of a document.
public struct DocumentVersion: Hashable, Sendable, Identifiable {
    /// 1 for the shown version, then the rivals, then the past.
    public let number: Int
    public let id: VersionID
    /// `nil`: a deletion.
    public let content: ContentID?
    public let byteCount: Int?
    /// The name of the author device; `nil` for a merge made alike by every device.
    public let device: String?
    /// When the version was made, in milliseconds since the Unix epoch.
    public let madeMilliseconds: Int64
    public let modifiedMicroseconds: Int64
    public let isCurrent: Bool
    public let isRival: Bool
    public let availability: ContentAvailability
}
