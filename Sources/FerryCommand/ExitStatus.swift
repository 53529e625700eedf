import Ferry
import Foundation

/// The command's exit statuses, as in sysexits(3): a script can tell "try again" from "call a person".
enum ExitStatus: Int32 {
    case success = 0
    /// Asked for a key, a row or a conflict, and there is none.
    case nothingFound = 1
    case usage = 64
    case badData = 65
    case noInput = 66
    case unavailable = 69
    case bug = 70
    case existsAlready = 73
    case inputOutput = 74
    case tryAgain = 75
    case noPermission = 77
    case configuration = 78

    /// The exit status of each kind of failure. An unlisted code is of a later engine: `bug`.
    static let byCode: [FerryError.Code: ExitStatus] = [
        .invalidArgument: .usage,

        .notADatabase: .badData,
        .databaseCorrupt: .badData,
        .database: .badData,
        .notTracked: .badData,
        .unsupportedTable: .badData,
        .incompatibleSchema: .badData,
        .unknownPolicy: .badData,
        .missingFunction: .badData,
        .storeTooNew: .badData,
        .storeTooOld: .badData,
        .storeIncomplete: .badData,
        .containerTooNew: .badData,
        .formatTooNew: .badData,
        .damagedFile: .badData,
        .foreignFile: .badData,
        .notSealed: .badData,
        .deviceForked: .badData,
        .limitExceeded: .badData,
        .clockAhead: .badData,
        .restoreRefused: .badData,
        .replayHookFailed: .badData,
        .verificationFailed: .badData,

        .databaseMissing: .noInput,
        .databaseReplaced: .noInput,

        .containerMissing: .unavailable,
        .containerEmpty: .unavailable,
        .containerMismatch: .unavailable,
        .notAllVerified: .unavailable,

        .containerExists: .existsAlready,
        .alreadyTracked: .existsAlready,

        .inputOutput: .inputOutput,
        .busy: .tryAgain,
        .fileNotThereYet: .tryAgain,
        .logCollected: .tryAgain,
        .olderState: .tryAgain,
        .keyMissing: .noPermission,
        .keyExposed: .noPermission,
        .codeRefused: .noPermission,
        .notMember: .noPermission,
        .removalRefused: .noPermission,
        .enrolmentPending: .tryAgain,
        .accessDenied: .noPermission,
        .credentialsMissing: .configuration,
        .membersDiffer: .badData,
        .internalInconsistency: .bug,
        .contentNotHere: .tryAgain,
        .contentLost: .badData,
        .nameTaken: .existsAlready,
        .documentsPresent: .badData,
        .mirrorMissing: .unavailable,
        .deletionsHeld: .badData,

        .nothingFound: .nothingFound,
    ]

    init(_ code: FerryError.Code) { self = Self.byCode[code] ?? .bug }
}
