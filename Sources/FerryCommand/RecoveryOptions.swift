import ArgumentParser
import Ferry
import FerryContainer
import FerrySeal
import Foundation

#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

/// Decides about the recovery code of a sealed container.
struct RecoveryOptions: ParsableArguments {
    @Option(help: ArgumentHelp("Write the recovery code into a new file that only you can read.", valueName: "file"))
    var recoveryTo: String?

    @Flag(help: "Make no recovery code: where all devices are lost, nobody joins any more.")
    var noRecovery = false

    func validate() throws {
        if recoveryTo != nil && noRecovery {
            throw ValidationError("--recovery-to and --no-recovery contradict each other. Choose one.")
        }
    }

    /// Whether an option says anything.
    var isSaid: Bool { recoveryTo != nil || noRecovery }

    /// The report's word for the code: `shown`, `file` or `none`.
    var word: String { noRecovery ? "none" : recoveryTo == nil ? "shown" : "file" }

    /// Makes sure there is a place for the code, before anything is made.
    /// - Parameters:
    ///   - database: gives the proposed name of the code's file.
    ///   - container: the path of the shared folder, or the place of a remote container.
    ///   - command: the person's command, for the proposal.
    ///   - canBeOpen: whether `--open` is a second way out.
    /// - Throws: `invalidArgument` if nobody would see the code, and for an existing file; `keyExposed` for a file in the folder.
    func check(
        _ console: Console, for database: String, in container: String, command: String, canBeOpen: Bool
    ) throws {
        if noRecovery { return }
        if let recoveryTo {
            guard !FileManager.default.fileExists(atPath: recoveryTo) else {
                throw FerryError(
                    .invalidArgument, "There is a file at \(recoveryTo) already. Choose another one for the code.",
                    path: recoveryTo)
            }
            try Replica.refuseRecoveryCode(at: recoveryTo, inside: container)
            let folder = (realPath(recoveryTo) as NSString).deletingLastPathComponent
            guard FileManager.default.fileExists(atPath: folder) else {
                throw FerryError(
                    .inputOutput, "There is no folder \(folder) for the code. Make the folder, or mount its disk.",
                    path: folder)
            }
            return
        }
        guard !console.isJSON, isatty(STDOUT_FILENO) != 0 else {
            let name = ((database as NSString).lastPathComponent as NSString).deletingPathExtension + ".recovery"
            throw FerryError(
                .invalidArgument,
                "The recovery code is shown on a terminal only, and not with --json. Write it into a new file: "
                    + "`\(command) --recovery-to \(Wording.shellWord(name))`. Or make no code: --no-recovery."
                    + (canBeOpen ? " Or let everybody who has the folder read and write the container: --open." : ""))
        }
    }

    /// Keeps the code; `nil`: no code is wanted.
    func keeper(_ console: Console) -> RecoveryCodeKeeper? {
        if noRecovery { return nil }
        return { try keep($0, console) }
    }

    /// Shows the code, or writes the code into a file.
    private func keep(_ code: SecretCode, _ console: Console) throws {
        if let recoveryTo { return try write(code, to: recoveryTo) }
        try console.answer(
            "Write these nine words down, and keep them away from this computer. With them a new device joins when all others "
                + "are lost, and any device is removed. They are shown once:")
        try console.answer("    " + console.style.bold(code.words))
    }

    private func write(_ code: SecretCode, to path: String) throws {
        let descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else {
            throw FerryError(
                .inputOutput, "The file for the recovery code cannot be made: \(String(cString: strerror(errno))).",
                path: path)
        }
        let handle = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        try handle.write(contentsOf: Data((code.words + "\n").utf8))
        try handle.synchronize()
        try handle.close()
    }
}
