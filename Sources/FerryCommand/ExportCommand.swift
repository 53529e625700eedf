import ArgumentParser
import Ferry
import Foundation

/// `ferry export`.
struct ExportCommand: DatabaseCommand {
    static let configuration = CommandConfiguration(
        commandName: "export",
        abstract: "Write everything into one file, for a USB stick or a backup.",
        discussion: """
            Syncs first, if the container is there, and then writes a snapshot of the whole state: rows, what is hidden \
            or deleted, and how far each device's changes are in it. `ferry import` merges the file into any database of \
            the container, or makes a database of it. A file that has the name is replaced once the new one is whole. The \
            file is not sealed: of a sealed container it is written with --open alone.

            JSON: {"path", "bytes", "objects", "tables", "container": {"id", "name"}, "seconds"}

            Examples:
              ferry export music.sqlite /media/stick/music.ferry
              ferry export music.sqlite ~/Backups/music-$(date +%F).ferry
            """)

    @OptionGroup var argument: DatabaseArgument

    @Argument(help: "The file to write.", completion: .file())
    var file: String

    @Flag(help: "Write the file though the container is sealed; whoever has the file can read it.")
    var open = false

    @OptionGroup var output: OutputOptions

    func perform(_ console: Console) throws {
        let replica = try Replica(path: argument.database)
        let report = try ProgressBar.during(console) {
            try replica.exportSnapshot(to: file, isOpen: open, progress: $0)
        }
        if console.isJSON { return try console.emit(report) }
        try console.say(
            console.style.green("Wrote \(Wording.count(report.objects, "row")) to \(file).")
                + " \(Wording.bytes(report.bytes)) (\(Wording.duration(report.seconds)))")
    }
}

/// `ferry import`.
struct ImportCommand: DatabaseCommand {
    static let configuration = CommandConfiguration(
        commandName: "import",
        abstract: "Merge a file of `ferry export`, or make a database of it.",
        usage: """
            ferry import <database> <file> [--container <container>]
            [--name <name>] [<options>]
            """,
        discussion: """
            A database that belongs to the file's container takes up what the file has beyond it; an old file brings \
            nothing back that was changed since. Where there is no database, one is made: with --container it joins that \
            folder as a device of its own and goes on from there, without it is a plain database of which Ferry keeps \
            nothing.

            JSON: {"path", "outcome", "changesets", "conflicts", "tables": [{"name", "identity", "objects"}], "seconds"}. \
            "outcome" is merged, joined or plain.

            Examples:
              ferry import music.sqlite /media/stick/music.ferry
              ferry import new.sqlite backup.ferry --container ~/Sync/music
              ferry import look.sqlite backup.ferry
            """)

    @OptionGroup var argument: DatabaseArgument

    @Argument(help: "The file that `ferry export` wrote.", completion: .file())
    var file: String

    @Option(help: "The container's folder, which a new database joins.", completion: .directory)
    var container: String?

    @Option(help: "What to call this device; the computer's name if left out.")
    var name: String?

    @OptionGroup var output: OutputOptions

    func perform(_ console: Console) throws {
        let report = try ProgressBar.during(console) { progress in
            if FileManager.default.fileExists(atPath: argument.database) {
                if container != nil || name != nil {
                    throw FerryError(
                        .invalidArgument,
                        "There is a database at \(argument.database) already, which belongs where it belongs. Leave out "
                            + "--container and --name, or name a database that is not there.")
                }
                return try presentReplica().importSnapshot(from: file, progress: progress)
            }
            return try ReplicaSetup(progress: progress).importDatabase(
                at: argument.database, from: file, containerPath: container, name: name
            ).report
        }
        if console.isJSON { return try console.emit(report) }
        try console.say(sentence(report, console.style))
    }

    /// The replica of a database that is there already.
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
        let time = " (\(Wording.duration(report.seconds)))"
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
