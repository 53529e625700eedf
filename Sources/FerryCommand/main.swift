import ArgumentParser
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

// A pipe whose reader has gone (`ferry log | head`) ends the command quietly, by SIGPIPE's default.

RemoteContainers.enable()

do {
    var command = try RootCommand.parseAsRoot()
    try command.run()
} catch {
    RefusedArguments.end(error)
}
