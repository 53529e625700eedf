import FerryCore
import FerryStore

/// A document or a folder as it is shown.
public struct DocumentEntry: Hashable, Sendable, Identifiable {
    /// What an entry is.
    public enum Kind: String, Hashable, Sendable, Codable {
        case file, folder, package, link
    }

    /// Why a document is shown at the top.
    public enum Misplacement: String, Hashable, Sendable, Codable {
        /// Two devices moved folders into each other, and this one was moved last.
        case cycle
        /// The folder's row has not arrived, or is no folder's.
        case noFolder
    }

    public let id: DocumentID
    /// Where the document is shown: `Scores/Trio.pdf`. In the trash: where it was.
    public let path: String
    /// The last part of the path.
    public let name: String
    public let kind: Kind
    /// The version that is shown; of a deleted document the deletion.
    public let version: VersionID?
    public let content: ContentID?
    /// In bytes; `nil` for folders, and for contents whose row has not arrived.
    public let byteCount: Int?
    /// When the file was last written to, in microseconds since the Unix epoch.
    public let modifiedMicroseconds: Int64?
    /// The versions beside that one, the latest first. Not empty: the document has a conflict that somebody should settle.
    public let rivals: [VersionID]
    /// True for a document in the trash.
    public let isDeleted: Bool
    /// True if somebody deleted the document without knowing of the version that is shown.
    public let wasDeletedElsewhere: Bool
    /// Why the document is shown at the top, and not in the folder that it was put into; `nil` where it is in its place.
    public let misplacement: Misplacement?
    public let availability: ContentAvailability
}

/// Where the bytes of a content are.
public enum ContentAvailability: Hashable, Sendable {
    /// On this device.
    case here
    /// In the container. Opening or fetching brings them.
    case inContainer
    /// Not to be had now, because of a file that is still to come or is damaged.
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
    /// 1 for the version that is shown, then the rivals, then the past.
    public let number: Int
    public let id: VersionID
    /// `nil`: a deletion.
    public let content: ContentID?
    public let byteCount: Int?
    /// The name of the device that made the version; `nil` for a merge that every device makes alike.
    public let device: String?
    /// When the version was made, in milliseconds since the Unix epoch.
    public let madeMilliseconds: Int64
    public let modifiedMicroseconds: Int64
    public let isCurrent: Bool
    public let isRival: Bool
    public let availability: ContentAvailability
}
