import ArgumentParser
import Feeds
import Ferry
import Foundation
import GRDB
import ReaderStore

/// The command's exit statuses: those of sysexits(3).
enum ExitStatus: Int32 {
    case nothingFound = 1
    case usage = 64
    case badData = 65
    case noInput = 66
    case unavailable = 69
    case bug = 70
    case existsAlready = 73
    case inputOutput = 74
    case tryAgain = 75
}

/// Any error as the command tells it: one line, a code for scripts and an exit status.
struct Failure: Error {
    var code: String
    var message: String
    var status: ExitStatus

    init(_ error: any Error) {
        switch error {
        case let error as ReaderError: self.init(error.code.rawValue, error.message, Self.status(error.code))
        case let error as FerryError: self.init(error.code.rawValue, error.description, Self.status(error.code))
        case let error as FeedError: self.init(error.code.rawValue, error.message, .unavailable)
        case let error as DatabaseError: self.init(error)
        case let error as CocoaError: self.init("inputOutput", error.localizedDescription, .inputOutput)
        case is CancellationError: self.init("cancelled", "stopped; what was done so far stays", .tryAgain)
        default: self.init("internalInconsistency", "something unforeseen happened: \(error). Please report it.", .bug)
        }
    }

    private init(_ code: String, _ message: String, _ status: ExitStatus) {
        self.code = code
        self.message = message
        self.status = status
    }

    private init(_ error: DatabaseError) {
        let reason = error.message ?? "SQLite error \(error.resultCode.rawValue)"
        switch error.resultCode {
        case .SQLITE_BUSY, .SQLITE_LOCKED:
            self.init("busy", "another program is writing to the database (\(reason)); try again", .tryAgain)
        case .SQLITE_CANTOPEN, .SQLITE_IOERR, .SQLITE_FULL, .SQLITE_READONLY, .SQLITE_PERM:
            self.init(
                "inputOutput", "the database cannot be used: \(reason); check path, rights and disk", .inputOutput)
        case .SQLITE_NOTADB:
            self.init("notADatabase", "the file is no database: \(reason); name another one by --database", .badData)
        default: self.init("database", "the database cannot be used: \(reason)", .badData)
        }
    }

    private static func status(_ code: ReaderError.Code) -> ExitStatus {
        switch code {
        case .usage: .usage
        case .nothingFound: .nothingFound
        case .notSetUp, .badData: .badData
        case .existsAlready: .existsAlready
        case .unavailable: .unavailable
        case .inputOutput: .inputOutput
        }
    }

    private static func status(_ code: FerryError.Code) -> ExitStatus {
        switch code {
        case .invalidArgument: .usage
        case .databaseMissing: .noInput
        case .containerMissing, .containerEmpty, .containerMismatch: .unavailable
        case .containerExists, .alreadyTracked: .existsAlready
        case .inputOutput: .inputOutput
        case .busy, .fileNotThereYet, .contentNotHere, .logCollected, .olderState, .enrolmentPending: .tryAgain
        case .internalInconsistency: .bug
        default: .badData
        }
    }
}

/// Ends the process when the arguments were refused, help was asked for, or a command has told its failure already.
enum RefusedArguments {
    static func end(_ error: any Error) -> Never {
        let isRefusal = !(error is ExitCode) && RootCommand.exitCode(for: error) != .success
        if isRefusal, CommandLine.arguments.contains("--json") {
            Output(isJSON: true).fail(Failure(ReaderError(.usage, RootCommand.message(for: error))))
            RootCommand.exit(withError: ExitCode(ExitStatus.usage.rawValue))
        }
        RootCommand.exit(withError: error)
    }
}
