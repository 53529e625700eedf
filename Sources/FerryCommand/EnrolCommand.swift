import ArgumentParser
import Ferry

/// `ferry enrol`.
struct EnrolCommand: DatabaseCommand {
    static let configuration = CommandConfiguration(
        commandName: "enrol",
        abstract: "Make a database a device of its own again, in a sealed container.",
        usage: """
            ferry enrol <database> [--code - | --recovery -] [--no-wait] [<options>]
            """,
        discussion: """
            For a database that belongs to a sealed container and has no key on this computer: it was copied from another \
            computer, its keys were lost, its device was removed, or the container was sealed or founded anew since. It asks to be \
            let in as `join` does. Nothing of its rows is lost, and what nobody has is sent again.

            JSON: {"reason", "formerDevice", "device", "sentAgain"}

            Examples:
              ferry enrol music.sqlite --code -
              ferry enrol music.sqlite --recovery -
            """)

    @OptionGroup var argument: DatabaseArgument
    @OptionGroup var enrolling: EnrolmentOptions
    @OptionGroup var output: OutputOptions

    func perform(_ console: Console) throws {
        let replica = try Replica(path: argument.database)
        let folder = replica.identity.containerPath
        // With the recovery code a member may remove all others.
        if !enrolling.removeOthers { try replica.checkNeedsEnrolment() }
        guard let (enrolment, way) = try enrolling.enrolment(in: folder, console) else {
            throw FerryError(
                .invalidArgument, "The container is open: `ferry sync` is all that the database needs.", path: folder)
        }
        let renewal = try replica.enrol(enrolment)
        try enrolling.finish(replica, way, console)
        if console.isJSON { return try console.emit(renewal) }
        try console.say(
            "\(argument.database) is a device of its own again"
                + (renewal.sentAgain > 0 ? "; \(Wording.count(renewal.sentAgain, "change")) went out again." : "."))
    }
}
