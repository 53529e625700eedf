import ArgumentParser
import Ferry

/// A command that works on a database and reports its result. Failures of all commands are reported here.
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

/// The argument that comes first everywhere.
struct DatabaseArgument: ParsableArguments {
    @Argument(help: "The SQLite database.", completion: .file())
    var database: String

    func validate() throws {
        if database.isEmpty { throw ValidationError("Name the database first.") }
    }
}
