import FerryCore

#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

/// A file named by a person, on the command line or in a call of an app. Links are followed.
///
/// Among the named leaves with unsafe code: the pointer below is to an array whose length bounds the call.
package struct ArgumentFile {
    /// What is at a path.
    package enum Kind: Hashable, Sendable {
        case missing
        case regular
        case directory
        /// A FIFO, named or not: `<(command)` of a shell.
        case pipe
        /// A terminal, `/dev/null`.
        case characters
        /// A socket, a disk.
        case other
    }

    package let path: String

    package init(_ path: String) { self.path = path }

    /// - Throws: `inputOutput` where the system does not tell.
    package func kind() throws -> Kind {
        var status = stat()
        guard stat(path, &status) == 0 else {
            if errno == ENOENT || errno == ENOTDIR || errno == ELOOP { return .missing }
            throw failure(SystemCallError(call: "stat", number: errno))
        }
        return switch status.st_mode & S_IFMT {
        case S_IFREG: .regular
        case S_IFDIR: .directory
        case S_IFIFO: .pipe
        case S_IFCHR: .characters
        default: .other
        }
    }

    /// Refuses everything but a regular file, before anybody opens it: opening a FIFO would wait for a writer.
    /// - Throws: `inputOutput` for a missing file, and where the system does not tell; `invalidArgument`.
    package func checkRegular() throws {
        switch try kind() {
        case .regular: return
        case .missing: throw missing
        case .directory, .pipe, .characters, .other: throw wrongKind(try kind())
        }
    }

    private var missing: FerryError {
        FerryError(.inputOutput, "There is no file at \(path). Check the path.", path: path)
    }

    private func wrongKind(_ kind: Kind) -> FerryError {
        let remedy = kind == .directory ? "Name a file." : "Name a regular file, such as a copy."
        return FerryError(.invalidArgument, "\(path) is \(Self.words(kind)). \(remedy)", path: path)
    }

    private static func words(_ kind: Kind) -> String {
        switch kind {
        case .directory: "a directory"
        case .pipe: "a pipe"
        case .characters: "a device"
        case .missing, .regular, .other: "no regular file"
        }
    }

    private func failure(_ error: SystemCallError) -> FerryError {
        let remedy = error.isRefusal ? " Check the permissions of the file and of its folder." : " Check the path."
        return FerryError(
            .inputOutput, "The file at \(path) cannot be read: \(error.systemWords).\(remedy)", path: path, cause: error
        )
    }

    /// Reads a short text: of a regular file, a pipe or a terminal, up to the end or to `maximumBytes`.
    /// - Parameter onWait: called once, where nothing has come for a second.
    /// - Throws: `inputOutput` for a missing or unreadable file; `invalidArgument` for a directory, a socket or a disk.
    package func read(maximumBytes: Int, onWait: () -> Void) throws -> [UInt8] {
        switch try kind() {
        case .regular, .pipe, .characters: break
        case .missing: throw missing
        case .directory, .other: throw wrongKind(try kind())
        }
        do throws(SystemCallError) {
            // Without O_NONBLOCK, opening a FIFO waits for a writer.
            let file = try Descriptor(opening: path, O_RDONLY | O_NONBLOCK)
            return try read(file.number, maximumBytes, onWait)
        } catch {
            throw failure(error)
        }
    }

    private func read(
        _ descriptor: Int32, _ maximumBytes: Int, _ onWait: () -> Void
    ) throws(SystemCallError) -> [UInt8] {
        var (bytes, piece, isTold) = ([UInt8](), [UInt8](repeating: 0, count: 4096), false)
        while bytes.count < maximumBytes {
            var place = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
            let ready = try systemCall("poll") { poll(&place, 1, isTold ? -1 : 1000) }
            if ready == 0 {
                onWait()
                isTold = true
                continue
            }
            let wanted = min(piece.count, maximumBytes - bytes.count)
            let count: Int
            do throws(SystemCallError) {
                count = try systemCall("read") { readSome(descriptor, &piece, wanted) }
            } catch  where error.number == EAGAIN {
                // A further reader was faster.
                continue
            }
            if count == 0 { break }
            bytes += piece.prefix(count)
        }
        return bytes
    }
}

/// A function beside the type, because a member of the type has the name of the call.
private func readSome(_ descriptor: Int32, _ bytes: inout [UInt8], _ count: Int) -> Int {
    read(descriptor, &bytes, count)
}
