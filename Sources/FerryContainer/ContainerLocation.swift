import FerryCore

/// The place of a container: a folder, a place in an S3-compatible object storage, or a place within rclone's reach
/// (Docs/Stores.md).
///
/// A location is a line of text, and a pure value: nothing is asked of a disk or a network. A location never holds a
/// secret, and a message about a location never repeats a possible secret.
package enum ContainerLocation: Hashable, Sendable {
    /// A folder by path, as written.
    case folder(String)
    case s3(S3Location)
    case rclone(RcloneLocation)

    /// The longest location, in bytes of UTF-8.
    package static let maximumBytes = 4096

    /// Reads a location. Text without a scheme is a folder's path, with any content: `./s3://x` is a folder.
    /// - Throws: `invalidArgument`, with the fault and the right form. A possibly secret part is not repeated.
    package init(_ text: String) throws(FerryError) {
        guard !text.isEmpty else { throw Self.refused("Name the container: a folder, s3://… or rclone:…") }
        guard text.utf8.count <= Self.maximumBytes else {
            throw Self.refused("The location is longer than \(Self.maximumBytes) bytes.")
        }
        guard !text.unicodeScalars.contains(where: { $0.value < 0x20 || $0.value == 0x7f }) else {
            throw Self.refused("The location holds control characters.")
        }
        if let rest = Self.rest(of: text, after: "s3://") {
            self = .s3(try S3Location(rest))
        } else if let rest = Self.rest(of: text, after: "rclone:") {
            self = .rclone(try RcloneLocation(rest))
        } else if let scheme = Self.scheme(of: text) {
            throw Self.refused(
                "\(scheme):// is no place that Ferry knows. Name a folder, s3://bucket/path, or rclone:remote:path for "
                    + "everything that rclone reaches.")
        } else {
            self = .folder(text)
        }
    }

    /// The location as a single text with the same meaning: a remote location with the parameters in order.
    package var text: String {
        switch self {
        case .folder(let path): path
        case .s3(let location): location.text
        case .rclone(let location): location.text
        }
    }

    /// The kind of the place, in JSON: `folder`, `s3` or `rclone`.
    package var kind: String {
        switch self {
        case .folder: "folder"
        case .s3: "s3"
        case .rclone: "rclone"
        }
    }

    /// The folder's path; `nil` for a remote place.
    package var folderPath: String? { if case .folder(let path) = self { path } else { nil } }

    /// A location for people, without parameters.
    package var shortText: String {
        switch self {
        case .folder(let path): path
        case .s3(let location): location.place
        case .rclone(let location): location.text
        }
    }

    // MARK: Parts of the text

    private static func rest(of text: String, after prefix: String) -> Substring? {
        text.utf8.count >= prefix.utf8.count && text.prefix(prefix.count).lowercased() == prefix
            ? text.dropFirst(prefix.count) : nil
    }

    /// The scheme of a text like `https://…`; `nil` for a path.
    private static func scheme(of text: String) -> String? {
        guard let end = text.firstRange(of: "://") else { return nil }
        let scheme = text[..<end.lowerBound]
        guard let first = scheme.first, first.isASCII, first.isLetter, scheme.utf8.count <= 20,
            scheme.allSatisfy({ $0.isASCII && ($0.isLetter || $0.isNumber || "+-.".contains($0)) })
        else { return nil }
        return scheme.lowercased()
    }

    static func refused(_ message: String) -> FerryError { FerryError(.invalidArgument, message) }
}

extension ContainerLocation: CustomStringConvertible {
    package var description: String { text }
}
