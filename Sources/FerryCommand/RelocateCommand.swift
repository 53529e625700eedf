import ArgumentParser
import Ferry

/// `ferry relocate`.
struct RelocateCommand: DatabaseCommand {
    static let configuration = CommandConfiguration(
        commandName: "relocate",
        abstract: "Tell a database that its container lies elsewhere now.",
        usage: "ferry relocate <database> <container> [--anyway] [<options>]",
        discussion: """
            Move or copy the container's folder first, then run this on each device. The database keeps its device and its rows; \
            nothing is copied, and what waits is sent to the new place. A running `ferry watch` goes on there by itself.

            The folder must be the same container. A folder that lacks files which this device published is refused: it is an \
            older copy, or has not been synced yet. With --anyway it is taken, and the next sync publishes what is missing anew. \
            A container that was sealed or founded anew since is the same container: it is taken, and `ferry enrol` comes next.

            JSON: {"path", "formerPath", "missingFiles", "behindDevices": [name], "isFormerThere", "needsEnrolment"}

            Examples:
              mv ~/Sync/music ~/Dropbox/music
              ferry relocate music.sqlite ~/Dropbox/music

            Exit status 69 where there is no folder, no container or another container; 75 for an older copy.
            """)

    @OptionGroup var argument: DatabaseArgument
    @OptionGroup var folder: ContainerArgument

    @Flag(help: "Take a folder that lacks files of this device, too.")
    var anyway = false

    @OptionGroup var output: OutputOptions

    func perform(_ console: Console) throws {
        let replica = try Replica(path: argument.database)
        let report = try replica.relocate(to: folder.container, anyway: anyway)
        if console.isJSON { return try console.emit(report) }
        if equalBytes(report.path, report.formerPath) {
            try console.say("The container of \(argument.database) lies in \(report.path) already.")
        } else {
            try console.say("The container of \(argument.database) lies in \(report.path) now.")
        }
        if report.needsEnrolment {
            console.warn(
                "This database is no member of the container as it is there now: it waits until somebody lets it in. Run "
                    + "`ferry enrol \(Wording.shellWord(argument.database))`.")
        }
        if report.missing > 0 {
            console.warn(
                "\(Wording.count(report.missing, "file of this device's is", "files of this device's are")) not there. "
                    + "The next sync publishes that anew.")
        }
        if !report.behind.isEmpty {
            console.warn(
                "The place has an older copy, or is not synced yet: it lacks changes of \(Wording.list(report.behind)) that are "
                    + "known here.")
        }
        if report.isFormerThere {
            console.hint(
                "\(report.formerPath) holds the container still. Devices that use it hear nothing from here until they are told, too."
            )
        }
        console.detail("Before: \(report.formerPath).")
    }
}
