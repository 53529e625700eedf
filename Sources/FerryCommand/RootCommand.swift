import ArgumentParser
import Ferry

/// `ferry`: the commands, and the lessons in the help.
struct RootCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "ferry",
        abstract: "Keep one SQLite database in step on several devices, through any folder they share.",
        discussion: """
            The app's database stays as it is: any program may go on writing to it. Ferry notes every committed change \
            and carries it through a shared folder (Syncthing, Dropbox, iCloud Drive, NFS, a USB stick) to the others.

            On the first device:
              ferry init music.sqlite ~/Sync/music    make the container, publish
              ferry invite music.sqlite               a code that lets a device in
              ferry watch music.sqlite                keep in step until Ctrl-C

            On every other device, once the folder has arrived there:
              ferry join music.sqlite ~/Sync/music --code -
              ferry watch music.sqlite

            Look around with `ferry status music.sqlite` and `ferry log music.sqlite`.

            Exit status: 0 done; 1 nothing under that key or number; 64 wrong usage; 65 bad data; 66 no database there; \
            69 container not reachable; 70 a bug in Ferry; 73 exists already; 74 reading or writing failed; \
            75 busy, or not let in yet: try again; 77 no permission: a key or code is missing, or a device was removed; 78 no credentials for an object storage. \
            With --json, errors are {"error": {"code", "message"}} on standard output.

            Shell completions: ferry --generate-completion-script bash|zsh|fish
            """,
        version: FerryVersion.current,
        groupedSubcommands: [
            CommandGroup(
                name: "Begin and end",
                subcommands: [InitCommand.self, JoinCommand.self, RelocateCommand.self, LeaveCommand.self]),
            CommandGroup(
                name: "Keep in step",
                subcommands: [
                    SyncCommand.self, WatchCommand.self, ServiceCommand.self, CompactCommand.self, DevicesCommand.self,
                ]),
            CommandGroup(
                name: "Let in and lock out",
                subcommands: [
                    InviteCommand.self, ApproveCommand.self, EnrolCommand.self, KeysCommand.self, SealCommand.self,
                ]),
            CommandGroup(
                name: "Carry and keep", subcommands: [CarryCommand.self, ExportCommand.self, ImportCommand.self]),
            CommandGroup(
                name: "Look around",
                subcommands: [
                    StatusCommand.self, UICommand.self, LogCommand.self, HistoryCommand.self, VerifyCommand.self,
                    DoctorCommand.self,
                ]),
            CommandGroup(name: "Bring back", subcommands: [ConflictsCommand.self, RestoreCommand.self]),
            CommandGroup(name: "Decide how to merge", subcommands: [PolicyCommand.self]),
            CommandGroup(name: "Change the schema", subcommands: [AlterCommand.self]),
            CommandGroup(name: "Beside the tables", subcommands: [DocumentsCommand.self, KeyValueCommand.self]),
            CommandGroup(name: "This program", subcommands: [VersionCommand.self]),
        ])
}
