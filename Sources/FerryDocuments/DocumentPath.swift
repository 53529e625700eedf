import FerryCore

/// The place of a document: the names of the folders from the top, and the document's name.
///
/// Names are as somebody wrote them. Paths are equal where their names' composed forms are.
package struct DocumentPath: Hashable, Sendable {
    /// The most names of a path.
    package static let maximumNames = 1 << 10

    /// No name is empty, `.` or `..`, has a slash or a NUL, or is longer than 255 bytes.
    package let names: [String]

    /// The top, without a name.
    package static let top = DocumentPath(unchecked: [])

    private init(unchecked names: [String]) { self.names = names }

    /// Reads a path such as `Scores/Trio.pdf`. Slashes at the beginning, at the end, or in a row mean nothing more, and
    /// `/` is the top.
    /// - Throws: `invalidArgument` for a text without a name, and for a name forbidden to documents. `limitExceeded`
    ///   for more than `maximumNames` names.
    package init(_ text: String) throws(FerryError) {
        guard !text.isEmpty else {
            throw FerryError(.invalidArgument, "The path of a document is empty. The top is “/”.")
        }
        // By bytes: a slash with an accent is a separate character in Swift, and still parts names on a disk.
        let parts = text.utf8.split(separator: UInt8(ascii: "/")).map { String(Substring($0)) }
        try self.init(names: parts)
    }

    /// - Throws: as `init(_:)`.
    package init(names: [String]) throws(FerryError) {
        guard names.count <= Self.maximumNames else {
            throw FerryError(
                .limitExceeded, "A path has more than \(Self.maximumNames) names. Ferry keeps none so deep.")
        }
        for name in names { try DocumentName.check(name) }
        self.init(unchecked: names)
    }

    /// The document's own name; `nil` at the top.
    package var name: String? { names.last }

    /// The path of the folder around; `nil` at the top.
    package var folder: DocumentPath? { names.isEmpty ? nil : DocumentPath(unchecked: names.dropLast()) }

    /// The path of a document in this folder.
    /// - Throws: as `init(_:)`.
    package func appending(_ name: String) throws(FerryError) -> DocumentPath {
        try DocumentPath(names: names + [name])
    }
}

extension DocumentPath: CustomStringConvertible {
    package var description: String { names.isEmpty ? "/" : names.joined(separator: "/") }
}
