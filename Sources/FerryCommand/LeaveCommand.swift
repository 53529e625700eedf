import ArgumentParser
import Ferry
import FerryContainer
import FerryDocuments
import FerryMirror

/// `ferry leave`.
struct LeaveCommand: DatabaseCommand {
    static let configuration = CommandConfiguration(
        commandName: "leave",
        abstract: "Stop, and remove Ferry's tables and triggers from the database.",
        usage: """
            ferry leave <database> [--documents <directory> | --discard-documents]
            [<options>]
            """,
        discussion: """
            The app's rows stay as they are; so does, for the others, what this device published. Ferry's tables, its \
            triggers, the conflicts and whatever was hidden go. The key-value store stays in its tables \
            (ferry_kv_…), and the next container gets it. Where triggers or views of the app's ask ferry_replay, that one table stays and says 0. Changes that are \
            not published yet reach nobody any more: run `ferry sync` first if they should. In a sealed container it tells the \
            others, and forgets the keys of the device. Which rows the integer keys mean is written into \
            <database>-ferry-keys, for a later `ferry join`.

            A database with documents or attachments is refused, until you say where their bytes are to be written, or that they \
            may go. What this device has not fetched is fetched for that. The bytes of attachments lie in “Attachments” therein, \
            each in a file that has the content's ID as its name: the one that hex(column) tells. The rows keep these IDs.

            Examples:
              ferry sync music.sqlite && ferry leave music.sqlite
              ferry leave music.sqlite --documents ~/Papers
            """)

    @OptionGroup var argument: DatabaseArgument
    @Option(
        help: "Write documents and attachments into this directory first. It must be empty, or not there.",
        completion: .directory)
    var documents: String?

    @Flag(help: "Documents and attachments may go.") var discardDocuments = false

    @OptionGroup var output: OutputOptions

    func validate() throws {
        if documents != nil && discardDocuments { throw ValidationError("Choose --documents or --discard-documents.") }
    }

    func perform(_ console: Console) throws {
        let replica: Replica
        do {
            replica = try Replica(path: argument.database)
        } catch let error as FerryError where error.code == .storeIncomplete || error.code == .notTracked {
            if try removeRemains(console) { return }
            if error.code == .storeIncomplete { throw error }
            throw FerryError(
                .notTracked, "The database belongs to no container: there is nothing to leave.",
                path: argument.database, cause: error)
        }
        let name = Wording.shellWord(replica.identity.deviceName)
        let attachments = try replica.store.attachedContents().count
        var written: DiskFiles.Written?
        if let documents {
            let found = try DiskFiles.write(DocumentAccess(replica), to: documents)
            try console.say("\(Wording.count(found.documents, "document is", "documents are")) in \(documents).")
            if let rivals = found.rivals {
                try console.say("\(Wording.count(rivals, "rival version lies", "rival versions lie")) beside.")
            }
            if let place = found.attachmentsDirectory {
                try console.say(
                    "\(Wording.count(found.attachments, "attachment is", "attachments are")) in \(place), each under its ID."
                )
            }
            written = found
        }
        let mirrors = try Mirrors(replica).list()
        let report: LeaveReport
        do {
            report = try replica.leave(discardingDocuments: discardDocuments || documents != nil)
        } catch var error as FerryError where error.code == .documentsPresent {
            error.message += " On the command line: --documents DIR, or --discard-documents."
            throw error
        }
        // The files of a mirror stay.
        for mirror in mirrors { Mirrors.removeMarker(of: mirror) }
        if console.isJSON { return try console.emit(LeaveJSON(report: report, written: written)) }
        try console.say(
            "\(argument.database) belongs to no container any more; its rows stay. "
                + "The container in \(report.path) stays for the other devices.")
        if attachments > 0, written == nil {
            console.warn(
                "The bytes of \(Wording.count(attachments, "attachment")) are not on this device any more; the rows keep their IDs."
            )
        }
        try tell(askers: report.askers, console)
        if let rows = report.keyValueRows {
            try console.say(
                "The key-value store stays in ferry_kv_value, ferry_kv_member and ferry_kv_counter "
                    + "(\(Wording.count(rows, "row", "rows"))). The next container gets it; delete the rows if it should not."
            )
        }
        if let keys = report.rememberedKeys {
            try console.say(
                "\(DatabaseFiles(of: argument.database).shownPath(.keys)) says which rows are under integer keys now "
                    + "(\(Wording.grouped(keys))), for a later `ferry join`. Remove the file where nobody joins again.")
        }
        if let failure = report.keysFailure {
            console.warn(
                "Nothing remembers which rows the integer keys mean, for a later `ferry join`. \(failure)"
            )
        }
        if report.unpublished > 0 {
            console.warn(
                Wording.count(report.unpublished, "change was", "changes were")
                    + " not published and will not reach the other devices.")
        }
        if let reason = report.untoldReason {
            console.warn(
                "Nobody was told that this device has left. \(reason) On another device: `ferry devices … remove \(name)`."
            )
        }
        if report.hasOthers {
            console.hint("So that nothing is kept for it: `ferry devices … retire \(name)` on another device.")
        }
    }

    /// Removes the remains after somebody dropped some of Ferry's tables: further tables, or Ferry's triggers. Also what an interrupted
    /// `leave` left beside the database.
    private func removeRemains(_ console: Console) throws -> Bool {
        let remains: (triggers: Int, tables: Int, report: LeaveReport)?
        do {
            remains = try Replica.leaveRemains(path: argument.database, discardingDocuments: discardDocuments)
        } catch var error as FerryError where error.code == .documentsPresent {
            error.message += " On the command line: --discard-documents."
            throw error
        }
        guard let (triggers, tables, report) = remains else { return false }
        if console.isJSON {
            try console.emit(report)
            return true
        }
        if tables == 0 && triggers == 0 {
            try console.say(
                "\(argument.database) belongs to no container. Files of Ferry's beside the database went now.")
            return true
        }
        try console.say(
            "\(tables == 0 ? "Ferry's tables" : "Tables of Ferry's") were gone from \(argument.database) already. "
                + "\(Wording.count(tables, "table", "tables")) and \(Wording.count(triggers, "trigger", "triggers")) of "
                + "Ferry's went now; the app's rows stay.")
        try tell(askers: report.askers, console)
        return true
    }

    private func tell(askers: [String], _ console: Console) throws {
        if askers.isEmpty { return }
        try console.say(
            "The table ferry_replay stays, with a 0 in it, because the app asks it: " + askers.joined(separator: ", ")
                + ".")
    }
}

/// What `leave` did, as the JSON output has it.
private struct LeaveJSON: Encodable {
    let report: LeaveReport
    let written: DiskFiles.Written?

    private enum CodingKeys: String, CodingKey { case writtenDocuments }

    func encode(to encoder: any Encoder) throws {
        try report.encode(to: encoder)
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encodeIfPresent(written, forKey: .writtenDocuments)
    }
}
