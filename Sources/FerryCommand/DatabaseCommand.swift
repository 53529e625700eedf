import ArgumentParser
import Ferry

/// A command with a database and a report of the result. Failures of all commands are reported here.
protocol DatabaseCommand: ParsableCommand {
    var output: OutputOptions { get }

    func perform(_ console: Console) throws
}

extension DatabaseCommand {
    func run() throws {
        let console = output.console
        do {
            try perform(console)
        } catch let code as ExitCode {
            throw code
        } catch {
            let failure = FerryError(from: error)
            console.fail(failure)
            throw ExitCode(ExitStatus(failure.code).rawValue)
        }
    }
}

/// The first argument of every command.
struct DatabaseArgument: ParsableArguments {
    @Argument(help: "The SQLite database.", completion: .file())
    var database: String

    func validate() throws {
        if database.isEmpty { throw ValidationError("Name the database first.") }
    }
}
