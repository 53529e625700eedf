import ArgumentParser

/// `reader`: the commands, and what its help teaches.
struct RootCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "reader",
        abstract: "Read feeds in the terminal, on several devices.",
        discussion: """
            Subscriptions, what you have read and starred, and settings follow you from device to device, through a \
            folder that something carries between them (Syncthing, Dropbox, iCloud Drive, NFS, a USB stick).

            On the first device:
              reader init ~/Sync/reader
              reader add https://example.org/feed.xml
              reader invite
              reader

            On every other device, once the folder has arrived there:
              reader join ~/Sync/reader       type the words of `reader invite`
              reader refresh
              reader

            The database is ~/.reader.sqlite, unless --database or READER_DATABASE names another one. Articles have \
            numbers, which differ from device to device; `reader list` shows them.

            Exit status: 0 done; 1 no such feed, article or setting; 64 wrong usage; 65 bad data; 69 something is not \
            reachable; 70 a bug; 73 exists already; 74 reading or writing failed; 75 busy, try again. With --json, errors \
            are {"error": {"code", "message"}} on standard output.
            """,
        version: "1.0.0",
        groupedSubcommands: [
            CommandGroup(name: "Begin", subcommands: [InitCommand.self, InviteCommand.self, JoinCommand.self]),
            CommandGroup(
                name: "Subscriptions",
                subcommands: [
                    AddCommand.self, FeedsCommand.self, RemoveCommand.self, ImportCommand.self, ExportCommand.self,
                ]),
            CommandGroup(
                name: "Read",
                subcommands: [
                    RefreshCommand.self, ListCommand.self, ShowCommand.self, ReadCommand.self, UnreadCommand.self,
                    StarCommand.self, UnstarCommand.self, KeepCommand.self, FilesCommand.self, ScreenCommand.self,
                ]),
            CommandGroup(
                name: "Follow from device to device", subcommands: [SyncCommand.self, SetCommand.self, GetCommand.self]),
        ], defaultSubcommand: ScreenCommand.self)
}
