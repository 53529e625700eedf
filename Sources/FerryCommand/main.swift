import ArgumentParser
import Ferry
import FerryRemote
import Foundation
import Logging

// The library's log is for apps; here the commands report events, and --verbose shows the rest.
let isVerbose = CommandLine.arguments.contains("--verbose") || CommandLine.arguments.contains("-v")
LoggingSystem.bootstrap { label in
    guard isVerbose else { return SwiftLogNoOpLogHandler() }
    var handler = StreamLogHandler.standardError(label: label)
    handler.logLevel = .debug
    return handler
}

StandardStreams.occupy()

// A pipe without a reader (`ferry log | head`) ends the command quietly, by SIGPIPE's default.

Terminal.widenHelp()
RemoteContainers.enable()
DocumentUpkeep.register()

do {
    try ProcessLimits.prepare()
    let words = try CommandWords(of: RootCommand.self).ordered(Array(CommandLine.arguments.dropFirst()))
    if words == ["--version"] {
        // The parser would print the same.
        try StandardStreams.write(Array((FerryVersion.current + "\n").utf8))
    } else {
        var command = try QuickCommand.parse(words)
        try command.run()
    }
} catch let error as FerryError {
    // The parser did not run yet, so no command has reported the error.
    Console(isJSON: CommandLine.arguments.contains("--json"), isVerbose: isVerbose).fail(error)
    RootCommand.exit(withError: ExitCode(ExitStatus(error.code).rawValue))
} catch {
    RefusedArguments.end(error)
}
