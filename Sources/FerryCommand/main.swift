import ArgumentParser
import Foundation

// A pipe whose reader has gone (`ferry log | head`) ends the command quietly, by SIGPIPE's default.

do {
    var command = try RootCommand.parseAsRoot()
    try command.run()
} catch {
    RefusedArguments.end(error)
}
