import ArgumentParser
import Ferry
import Foundation
import ReaderStore

/// `reader init`.
struct InitCommand: ReaderCommand {
    static let configuration = CommandConfiguration(
        commandName: "init",
        abstract: "Make the folder that your devices share; this is the first device.",
        discussion: """
            The folder's parent must exist. Without --articles each device fetches articles for itself, and only \
            subscriptions, what was read and starred, and settings travel. That is decided once, for all devices.

            Only your devices can read the folder. `reader invite` lets one in. The recovery code, with which one gets in when all \
            others are lost, is shown once on a terminal; --recovery-to writes it into a new file. With --open whoever has the \
            folder can read it.

            Exit status 73 where the folder is taken or the database has one already, 69 where the parent is not there.
            """)

    @Argument(help: "The folder, inside of one that your syncer carries.", completion: .directory)
    var folder: String

    @Option(help: "What this device is called on the others. Without it, the computer's name.")
    var name: String?

    @Flag(help: "Articles travel too: what one device fetched the others have, though a feed shows it no more.")
    var articles = false

    @Option(help: ArgumentHelp("Write the recovery code into a new file that only you can read.", valueName: "file"))
    var recoveryTo: String?

    @Flag(help: "Let everybody who has the folder read and write it.")
    var open = false

    @OptionGroup var common: CommonOptions

    func validate() throws {
        if open && recoveryTo != nil { throw ValidationError("An --open folder has no recovery code.") }
    }

    func perform(_ library: Library, _ output: Output) async throws {
        let isSeen = !output.isJSON && isatty(STDOUT_FILENO) != 0
        guard open || recoveryTo != nil || isSeen else {
            throw ReaderError(
                .usage,
                "the recovery code is shown on a terminal only; write it into a new file by --recovery-to FILE, or make a folder "
                    + "for everybody who has it by --open")
        }
        func keep(_ code: SecretCode) throws {
            if let recoveryTo { return try RecoveryFile.write(code.words, to: recoveryTo) }
            try output.say(
                "Write these nine words down. With them a device gets in when all others are lost:\n    \(code.words)")
        }
        let report = try library.create(
            folder: folder, name: name, sharesArticles: articles, sealing: open ? .open : .sealed(recovery: keep))
        if output.isJSON { return try output.emit(report) }
        try output.say(
            """
            Made the folder \(report.path). This device is called \(report.device.name).
            Add feeds with `reader add ADDRESS`. On each other device, once the folder has arrived there:
              reader join <path of the folder there>\(open ? "" : "      (with a code of `reader invite`)")
            """)
    }
}

/// A file for a code, which nobody else can read.
private enum RecoveryFile {
    static func write(_ words: String, to path: String) throws {
        let descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else {
            throw ReaderError(.inputOutput, "the file \(path) cannot be made; name one that is not there yet")
        }
        let handle = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        try handle.write(contentsOf: Data((words + "\n").utf8))
        try handle.synchronize()
        try handle.close()
    }
}

/// `reader invite`.
struct InviteCommand: ReaderCommand {
    static let configuration = CommandConfiguration(
        commandName: "invite",
        abstract: "Show nine words that let another device in, once.",
        discussion: """
            Type them into `reader join` there within a day. This device lets the other one in with its next sync: leave `reader` \
            open here, or run `reader sync`.

            JSON: {"words"}
            """)

    @OptionGroup var common: CommonOptions

    private struct Report: Encodable { var words: String }

    func perform(_ library: Library, _ output: Output) async throws {
        let words = try library.invite()
        if output.isJSON { return try output.emit(Report(words: words)) }
        try output.say("Type these words into `reader join` on the other device. They work once:\n    \(words)")
    }
}

/// `reader join`.
struct JoinCommand: ReaderCommand {
    static let configuration = CommandConfiguration(
        commandName: "join",
        abstract: "Join the folder that another device made.",
        discussion: """
            Subscriptions that this database has already merge with those of the others.

            It reads the nine words of `reader invite` from standard input, and waits until the device that showed them lets this \
            one in. An interrupted join goes on when it is run again.

            Exit status 69 where the folder is not there or holds nothing yet, 73 where the database has a folder already.
            """)

    @Argument(help: "The folder, as it arrived here.", completion: .directory)
    var folder: String

    @Option(help: "What this device is called on the others. Without it, the computer's name.")
    var name: String?

    @OptionGroup var common: CommonOptions

    func perform(_ library: Library, _ output: Output) async throws {
        let enrolment = try library.enrolment(folder: folder) {
            if isatty(STDIN_FILENO) != 0 { output.ask("The nine words of `reader invite`: ") }
            return readLine() ?? ""
        }
        if let enrolment {
            try output.say("Waiting for the device that showed the words.")
            try await enrolment.waitUntilAdmitted()
        }
        let report = try library.join(folder: folder, name: name, enrolment: enrolment)
        if output.isJSON { return try output.emit(report) }
        let feeds = try library.feeds().count
        try output.say(
            """
            Joined \(report.path). This device is called \(report.device.name).
            \(feeds == 1 ? "1 feed" : "\(feeds) feeds"). Fetch articles with `reader refresh`, and read with `reader`.
            """)
        for device in report.waiting { output.warn("\(device.device): \(device.reason)") }
    }
}

/// `reader sync`.
struct SyncCommand: ReaderCommand {
    static let configuration = CommandConfiguration(
        commandName: "sync",
        abstract: "Send what is new here and take up what is new elsewhere, once.",
        discussion: """
            The full-screen mode does this by itself all the time. Nothing is lost where the folder is away: it goes out \
            later. Exit status 69 then.
            """)

    @OptionGroup var common: CommonOptions

    func perform(_ library: Library, _ output: Output) async throws {
        let report = try await library.engine().sync()
        if output.isJSON { return try output.emit(report) }
        try output.say(SyncWording.line(report))
        for device in report.waiting { output.warn("\(device.device): \(device.reason)") }
    }
}

enum SyncWording {
    static func line(_ report: SyncReport) -> String {
        report.hasNews
            ? "Sent \(report.published.changes), received \(report.replayed.changes)." : "Nothing new."
    }
}
