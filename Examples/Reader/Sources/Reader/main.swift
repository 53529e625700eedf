import ArgumentParser

@MainActor
func runCommand() async {
    do {
        var command = try RootCommand.parseAsRoot()
        if var asynchronous = command as? any AsyncParsableCommand {
            try await asynchronous.run()
        } else {
            try command.run()
        }
    } catch {
        RefusedArguments.end(error)
    }
}

await runCommand()
