import ArgumentParser
import Ferry
import FerryDocuments
import Foundation

/// `ferry export`.
struct ExportCommand: DatabaseCommand {
    static let configuration = CommandConfiguration(
        commandName: "export",
        abstract: "Write everything into one file, for a USB stick or a backup.",
        usage: "ferry export <database> <file> [--open] [--without-documents] [<options>]",
        discussion: """
            Syncs first, if the container is there, and then writes a snapshot of the whole state: rows, what is hidden \
            or deleted, and how far each device's changes are in it. `ferry import` merges the file into any database of \
            the container, or makes a database of it. A file that has the name is replaced once the new one is whole.

            The file of a sealed container is sealed: its members can read it, and whoever has the recovery code. Others see its \
            size and its age. With --open it is not sealed; then only a database without a container can be made of it.

            Current documents and attachments come along with their bytes, unless --without-documents. Former versions come along as far as \
            the container has not removed them, and not all of their bytes. An --open file of a sealed container has names of documents alone.

            JSON: {"path", "bytes", "objects", "tableCount", "container": {"id", "name"}, "sealed", "contents", "contentBytes", \
            "durationMilliseconds"}; "sealed" is there where the file is sealed. "objects" are rows, as `status` counts them.

            Examples:
              ferry export music.sqlite /media/stick/music.ferry
              ferry export music.sqlite ~/Backups/music-$(date +%F).ferry
              ferry export music.sqlite plain.ferry --open
            """)

    @OptionGroup var argument: DatabaseArgument

    @Argument(help: "The file to write.", completion: .file())
    var file: String

    @Flag(help: "Do not seal the file of a sealed container; whoever has the file can read it.")
    var open = false

    @Flag(help: "Leave the bytes of documents and attachments out.")
    var withoutDocuments = false

    @OptionGroup var output: OutputOptions

    func validate() throws {
        if file.isEmpty { throw ValidationError("Name the file to write.") }
    }

    func perform(_ console: Console) throws {
        let replica = try Replica(path: argument.database)
        let signals = TerminationSignals { (number: Int32) in
            // The default action is in force again.
            UnfinishedExport.removeAll { kill(getpid(), number) }
        }
        defer { signals.cancel() }
        let report: ExportReport
        do {
            report = try ProgressBar.during(console) {
                try replica.exportSnapshot(to: file, isOpen: open, hasDocuments: !withoutDocuments, progress: $0)
            }
        } catch var error as FerryError where error.code == .contentNotHere {
            error.message += " On the command line: --without-documents."
            throw error
        }
        if console.isJSON { return try console.emit(report) }
        try console.say(
            console.style.green(
                "Wrote \(Wording.count(report.objects, "row")) of \(Wording.count(report.tableCount, "table")) to \(file)."
            )
                + " \(Wording.bytes(report.bytes)) (\(Wording.duration(milliseconds: report.durationMilliseconds)))")
        if let contents = report.contents, let bytes = report.contentBytes {
            try console.say(
                "\(Wording.count(contents, "document or attachment is", "documents and attachments are")) in it with "
                    + "\(Wording.bytes(bytes)).")
        } else if let bytes = try replica.store.contentStatistics()?.packedBytes, bytes > 0 {
            console.warn(
                "The file has the names of documents, and not the bytes of those above 4 kB "
                    + "(\(Wording.bytes(bytes)) in all). The container has the bytes.")
        }
        if report.sealed == true {
            try console.say("It is sealed: members of the container can read it, and whoever has the recovery code.")
        }
    }
}

/// `ferry import`.
struct ImportCommand: DatabaseCommand {
    static let configuration = CommandConfiguration(
        commandName: "import",
        abstract: "Merge a file of `ferry export`, or make a database of it.",
        usage: """
            ferry import <database> <file> [--container <container>]
            [--name <name>]
            [--code - | --code-file <file> | --recovery - [--remove-others]]
            [--no-wait] [--documents <directory> | --discard-documents]
            [<options>]
            """,
        discussion: """
            A database that belongs to the file's container takes up what the file has beyond it; an old file brings \
            nothing back that was changed since. Where there is no database, one is made: with --container it joins that \
            folder as a device of its own and goes on from there, without it is a plain database of which Ferry keeps \
            nothing.

            A sealed file is read by members, also by one that has not synced for long: the file says who the members are and brings \
            the keys. To join a sealed container by it takes a code, the words, or the recovery code, as in `ferry join`. Without \
            --container the file opens on a member's computer, or with the recovery code (--recovery -).

            Bytes of documents that the folder lost come back from the file. A plain database keeps no documents: say where they are to \
            be written (--documents), or that they may go (--discard-documents).

            JSON: {"path", "outcome", "changesets", "conflicts", "tables": [{"name", "identity", "objects"}], "contents", "contentBytes", \
            "durationMilliseconds"}. "outcome" is merged, joined or plain.

            Examples:
              ferry import music.sqlite /media/stick/music.ferry
              ferry import new.sqlite backup.ferry --container ~/Sync/music
              ferry import new.sqlite backup.ferry --container ~/Sync/music --code -
              ferry import look.sqlite backup.ferry
              ferry import look.sqlite backup.ferry --recovery -
              ferry import look.sqlite backup.ferry --documents ~/Papers

            Exit status 77 where a key is missing or a code is wrong, 65 where the file is damaged, is from a device that is no member, \
            or is not sealed and the container is.
            """)

    @OptionGroup var argument: DatabaseArgument

    @Argument(help: "The file that `ferry export` wrote.", completion: .file())
    var file: String

    @Option(
        help: "The container that a new database joins: a folder, s3://bucket/path, or rclone:remote:path.",
        completion: .directory)
    var container: String?

    @OptionGroup var bucket: BucketOptions

    @Option(help: "What to call this device; the computer's name if left out.")
    var name: String?

    @Option(
        help:
            "Write documents and attachments of a plain database into this directory. It must be empty, or not there.",
        completion: .directory)
    var documents: String?

    @Flag(help: "Documents and attachments of a plain database may go.") var discardDocuments = false

    @OptionGroup var enrolling: EnrolmentOptions
    @OptionGroup var output: OutputOptions

    func validate() throws {
        if container == nil, enrolling.isForJoining {
            throw ValidationError("--code, --code-file, --remove-others and --no-wait go with --container.")
        }
        if let container { try bucket.check(container) }
        if container == nil, bucket.areSaid {
            throw ValidationError("--endpoint and the other options of a bucket go with --container.")
        }
        if documents != nil && discardDocuments { throw ValidationError("Choose --documents or --discard-documents.") }
        if documents != nil || discardDocuments, container != nil {
            throw ValidationError(
                "A database that joins keeps its documents. Leave --documents and --discard-documents out.")
        }
    }

    func perform(_ console: Console) throws {
        let report = try isThere ? mergeInto(console) : makeDatabase(console)
        if console.isJSON { return try console.emit(report) }
        try console.say(sentence(report, console.style))
    }

    /// The container's place as a single text, with the options included.
    private var place: String? {
        container.map { (try? bucket.location(of: $0).text) ?? $0 }  // `validate` has refused an unreadable place
    }

    private var isThere: Bool { FileManager.default.fileExists(atPath: argument.database) }

    private func mergeInto(_ console: Console) throws -> ImportReport {
        if let place, documents == nil, !discardDocuments, let replica = try replica(of: place) {
            // An earlier import made the database and was interrupted, or the option says what is so anyway.
            return try finish(replica, console)
        }
        if container != nil || name != nil || enrolling.recovery != nil || documents != nil || discardDocuments {
            throw FerryError(
                .invalidArgument,
                "There is a database at \(argument.database) already, which belongs where it belongs. Leave out --container, --name, "
                    + "--recovery and what is said of documents, or name a database that is not there.")
        }
        return try ProgressBar.during(console) { try presentReplica().importSnapshot(from: file, progress: $0) }
    }

    /// The replica of an existing database, if it belongs to the container at a place.
    private func replica(of container: String) throws -> Replica? {
        do {
            let replica = try Replica(path: argument.database)
            return try replica.isOf(containerPath: container) ? replica : nil
        } catch let error as FerryError where error.code == .notTracked {
            return nil
        }
    }

    /// Merges the file, and does what an interrupted import left to do.
    private func finish(_ replica: Replica, _ console: Console) throws -> ImportReport {
        try ProgressBar.during(console) { progress in
            var report = try replica.importSnapshot(from: file, progress: progress)
            report.conflicts += try replica.sync(progress: progress).conflicts
            return report
        }
    }

    private func makeDatabase(_ console: Console) throws -> ImportReport {
        let enrolment = try place.flatMap { try enrolling.enrolment(in: $0, console) }
        let recovery = try container == nil ? enrolling.recoveryCode() : nil
        let replica: Replica?
        let report: ImportReport
        do {
            (replica, report) = try ProgressBar.during(console) { progress in
                var setup = ReplicaSetup(progress: progress, enrolment: enrolment?.0)
                setup.importedDocuments = choice(console)
                return try setup.importDatabase(
                    at: argument.database, from: file, containerPath: place, name: name, recovery: recovery)
            }
        } catch var error as FerryError where error.code == .documentsPresent {
            error.message += " On the command line: --documents DIR, or --discard-documents."
            throw error
        }
        try enrolling.finish(replica, enrolment?.1, console)
        if report.outcome == .plain { warnOfMissingTables(report, console) }
        return report
    }

    /// A database without a container keeps nothing for a table that an app makes later.
    private func warnOfMissingTables(_ report: ImportReport, _ console: Console) {
        for table in report.tables where !table.isHere {
            console.warn(
                "The table \(Wording.oneLine(table.name)) is not made: the newest schema in the file lacks it. Its rows are only in the "
                    + "file. Sync the device with the newest tables, and export there.")
        }
    }

    /// The choice about the documents of a plain database.
    private func choice(_ console: Console) -> ReplicaSetup.ImportedDocuments {
        if discardDocuments { return .discarded }
        guard let documents else { return .refused }
        return .written {
            let written = try DiskFiles.write(DocumentAccess($0), to: documents, leavingOutMissing: true)
            for path in written.missing.prefix(10) {
                console.warn("\(Wording.oneLine(path)): the file has no bytes of this document, so nothing is written.")
            }
            let more = written.missing.count - 10
            if more > 0 { console.warn("\(Wording.count(more, "more document")) like that.") }
        }
    }

    /// The replica of an existing database.
    private func presentReplica() throws -> Replica {
        do {
            return try Replica(path: argument.database)
        } catch let error as FerryError where error.code == .notTracked {
            throw FerryError(
                .notTracked,
                "There is a database at that path already, and it belongs to no container. To make one of the file, name a "
                    + "path where none is; to merge it, name a database of the file's container.",
                path: argument.database)
        }
    }

    private func sentence(_ report: ImportReport, _ style: Style) -> String {
        let rows = Wording.count(report.tables.reduce(0) { $0 + $1.objects }, "row")
        let database = argument.database
        let time = " (\(Wording.duration(milliseconds: report.durationMilliseconds)))"
        return switch report.outcome {
        case .merged where report.changesets == 0: "Nothing in the file is new here." + time
        case .merged: style.green("Took up \(Wording.changesets(report.changesets)) from \(file).") + time
        case .joined:
            style.green("Made \(database) with \(rows); it belongs to the container.") + time + "\nRun "
                + style.bold("ferry watch \(Wording.shellWord(database))") + " to keep it in step."
        case .plain: style.green("Made \(database) with \(rows); it belongs to no container.") + time
        }
    }
}
