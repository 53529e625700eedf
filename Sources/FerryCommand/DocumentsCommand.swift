import ArgumentParser
import Ferry
import FerryDocuments

/// `ferry documents`.
struct DocumentsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "documents",
        abstract: "Files of any size that travel with the database: documents, and attachments of rows.",
        usage: "ferry documents <database> [<verb> ...] [<options>]",
        discussion: """
            Documents have names, folders, versions and a trash. Who edits the same document on two devices gets both \
            versions; `settle` ends the conflict. Bytes go through the container in packs, with the next `ferry sync` or \
            `ferry watch`.

            Examples:
              ferry documents music.sqlite add Trio.pdf --to Scores/
              ferry documents music.sqlite list
              ferry documents music.sqlite get Scores/Trio.pdf -o trio.pdf
              ferry documents music.sqlite put trio.pdf Scores/Trio.pdf
              ferry documents music.sqlite versions Scores/Trio.pdf
            """,
        groupedSubcommands: [
            CommandGroup(
                name: "Look",
                subcommands: [
                    DocumentsList.self, DocumentsVersions.self, DocumentsConflicts.self, DocumentsGet.self,
                    DocumentsVerify.self,
                ]),
            CommandGroup(
                name: "Change",
                subcommands: [
                    DocumentsAdd.self, DocumentsPut.self, DocumentsFolder.self, DocumentsMove.self,
                    DocumentsRemove.self, DocumentsPutBack.self, DocumentsSettle.self,
                    DocumentsRetention.self,
                ]),
            CommandGroup(
                name: "Room on this device",
                subcommands: [
                    DocumentsFetch.self, DocumentsEvict.self, DocumentsPin.self, DocumentsUnpin.self,
                    DocumentsKeep.self,
                ]),
            CommandGroup(name: "A plain directory", subcommands: [DocumentsMirror.self]),
            CommandGroup(name: "Rows of the app", subcommands: [DocumentsAttachments.self]),
        ], defaultSubcommand: DocumentsList.self)
}

extension DatabaseArgument {
    /// The documents of the database.
    func documents() throws -> DocumentAccess { DocumentAccess(try Replica(path: database)) }
}

/// A path of a document on the command line.
struct DocumentArgument: ParsableArguments {
    @Argument(help: "The document's path, such as Scores/Trio.pdf.") var path: String

    func parsed() throws -> DocumentPath { try DocumentPath(path) }
}

/// A document in the JSON output.
struct DocumentJSON: Encodable {
    var id: String
    var path: String
    var kind: String
    var bytes: Int?
    var modifiedMilliseconds: Int64?
    /// `here`, `inContainer`, `waiting`, `lost` or `none`.
    var state: String
    var version: String?
    var content: String?
    /// The number of versions beside the shown version.
    var rivals: Int
    var isDeleted: Bool
    var isDeletedElsewhere: Bool
    var reason: String?
    var sinceMilliseconds: Int64?
    var file: String?

    init(_ entry: DocumentEntry) {
        id = entry.id.hex
        path = entry.path
        kind = entry.kind.rawValue
        bytes = entry.byteCount ?? entry.formerByteCount
        modifiedMilliseconds = entry.modifiedMicroseconds.map { $0 / 1000 }
        state = entry.availability.word
        version = entry.version?.hex
        content = entry.content?.hex
        rivals = entry.rivals.count
        isDeleted = entry.isDeleted
        isDeletedElsewhere = entry.wasDeletedElsewhere
        switch entry.availability {
        case .waiting(let reason, _, let file, let since):
            (self.reason, self.file, sinceMilliseconds) = (reason, file, since)
        case .lost(let since):
            (reason, sinceMilliseconds) = ("no pack has it, and this device has not either", since)
        case .here, .inContainer, .none: break
        }
    }
}

/// The result of a change of documents, in the JSON output.
struct DocumentChangeJSON: Encodable {
    struct Document: Encodable {
        var path: String
        var id: String
        /// The new version; absent if nothing had to change.
        var version: String?
        var bytes: Int
    }

    var documents: [Document]
    /// The additional bytes in the container.
    var newBytes: Int

    init(_ outcomes: [DocumentOutcome], newBytes: Int) {
        self.newBytes = newBytes
        documents = outcomes.map {
            Document(
                path: $0.path.description, id: $0.document.hex, version: $0.version?.hex, bytes: $0.byteCount)
        }
    }
}
