import ArgumentParser
import Ferry
import FerryContainer
import Foundation

/// A failure for scripts: `{"error": {"code", "message"}}`, with the file or folder concerned if known.
struct FailureReport: Encodable {
    struct Detail: Encodable {
        var code: String
        var message: String
        var path: String?
    }

    var error: Detail

    init(_ error: FerryError) {
        self.error = Detail(code: error.code.rawValue, message: error.message, path: error.path)
    }
}

extension FerryError {
    /// Wraps any error as a Ferry error: errors of the system's frameworks are about files.
    init(from error: any Error) {
        switch error {
        case let error as FerryError: self = error
        case let error as CocoaError:
            if let path = error.filePath, let failure = SystemCallError(below: error, call: "access") {
                self = failure.ferryError(path: path)
                return
            }
            self.init(
                .inputOutput, "The operating system refuses: \(error.systemWords).", path: error.filePath, cause: error)
        case let error as POSIXError:
            self.init(.inputOutput, "The operating system refuses: \(error.systemWords).", cause: error)
        default:
            self.init(
                .internalInconsistency, "Something unforeseen happened: \(error). Please report it.", cause: error)
        }
    }
}

/// Ends the process after refused arguments, after a request for help, and after a failure already reported by a
/// command.
enum RefusedArguments {
    static func end(_ error: any Error) -> Never {
        let isRefusal = !(error is ExitCode) && RootCommand.exitCode(for: error) != .success
        if !isRefusal, !(error is ExitCode) { answer(RootCommand.fullMessage(for: error)) }
        guard isRefusal, CommandLine.arguments.contains("--json") else { RootCommand.exit(withError: error) }
        let refusal = FerryError(.invalidArgument, RootCommand.message(for: error))
        // Nothing can be told any more where even this cannot be written.
        try? Console(isJSON: true).emit(FailureReport(refusal))
        RootCommand.exit(withError: ExitCode(ExitStatus.usage.rawValue))
    }

    /// Prints help, the version or a completion script. The parser would not notice that its output cannot be written.
    private static func answer(_ text: String) -> Never {
        do {
            if !text.isEmpty { try StandardStreams.write(Array((text + "\n").utf8)) }
        } catch {
            let failure = FerryError(from: error)
            Console(isJSON: false).fail(failure)
            RootCommand.exit(withError: ExitCode(ExitStatus(failure.code).rawValue))
        }
        RootCommand.exit(withError: nil)
    }
}

/// A report and, if something is wrong, the failure behind the exit status.
struct ReportWithError<Report: Encodable>: Encodable {
    let report: Report
    let error: FerryError?

    private enum CodingKeys: String, CodingKey { case error }

    func encode(to encoder: any Encoder) throws {
        try report.encode(to: encoder)
        guard let error else { return }
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(FailureReport(error).error, forKey: .error)
    }
}
