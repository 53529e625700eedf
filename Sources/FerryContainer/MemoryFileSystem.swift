import FerryCore

/// A file system in memory that remembers the durable state, and can be crashed at any step.
///
/// A file's content is durable once synchronized, its name once its directory was; `crash` takes away the rest. Every
/// change is a *step* (`MemoryFileSystem.Mutation`), counted from the beginning. `inject` makes a chosen step fail, or
/// kills the process there. Renames within a directory are atomic. Symbolic links do not exist here; the root directory
/// always does. Paths are absolute.
package final class MemoryFileSystem: FileSystem {
    /// The steps of operations; `write(_:toNewFileAt:)` has three.
    package enum Mutation: String, Hashable, CaseIterable, Sendable {
        case createDirectory
        case createFile
        case writeContent
        case synchronizeFile
        case rename
        case synchronizeDirectory
        case removeFile
        case makeReadOnly
        case link
    }

    /// The event at a step.
    package enum Fault: Hashable, Sendable {
        /// The step throws `FerryError` with code `inputOutput` and has no effect; later steps succeed.
        case failure
        /// The process dies there: this step and every call after it throw `SimulatedCrash`, until `crash` is called.
        /// Content in the middle of its writing is there by half.
        case kill
    }

    /// The loss of unsynchronized data in a crash.
    package enum Loss: Sendable {
        /// Nothing: the process died, the computer did not.
        case nothing
        /// Content: the names reached the disk, and unsynchronized files are cut off in the middle.
        case contents
        /// Everything.
        case everything
        /// Each file's content and, from some point on, each directory's changes, as the random numbers have it.
        case random(any RandomSource)
    }

    let state = Locked(State())

    struct State {
        var root = MemoryDirectory(number: 0)
        var steps: [Mutation: Int] = [:]
        var readCount = 0
        /// The bytes that were read of open files, by the last part of their names.
        var readBytes: [Substring: Int] = [:]
        var listingCount = 0
        var fault: (kind: Fault, stepsBefore: Int)?
        var isKilled = false
        var refusesWrites = false
        var availableBytes: Int?
        var nodeCount: UInt64 = 0
        /// The paths that others may read or change.
        var exposed: Set<String> = []
    }

    /// Makes a file system with an empty root directory.
    package init() {}

    /// Sets the result of `availableBytes(at:)`; nothing runs out of space.
    package func setAvailableBytes(_ count: Int?) { state.withLock { $0.availableBytes = count } }

    /// The number set, for any path.
    package func availableBytes(at path: String) -> Int? { state.withLock { $0.availableBytes } }

    /// Makes the step after the next `steps` steps fail, or kills the process there. Replaces an earlier fault.
    package func inject(_ fault: Fault, afterSteps steps: Int) {
        state.withLock { $0.fault = (fault, steps) }
    }

    /// Forgets an injected fault that has not come about.
    package func removeFault() {
        state.withLock { $0.fault = nil }
    }

    /// Makes every step fail, as on a full or read-only disk, or succeed again.
    package func setRefusesWrites(_ refuses: Bool) {
        state.withLock { $0.refusesWrites = refuses }
    }

    /// True if a step was killed and `crash` has not been called since.
    package var isKilled: Bool { state.withLock { $0.isKilled } }

    /// Takes away everything that is not durable, as a loss of power does. Forgets a fault that did not come about, and
    /// lets a killed process begin again.
    package func crash(losing loss: Loss = .everything) {
        state.withLock { state in
            state.root.crash(losing: loss)
            state.isKilled = false
            state.fault = nil
        }
    }

    /// How many steps of all kinds have begun, failed steps included.
    package var stepCount: Int { state.withLock { $0.steps.values.reduce(0, +) } }
    /// How many steps of a kind have begun, failed steps included.
    package func stepCount(of mutation: Mutation) -> Int { state.withLock { $0.steps[mutation, default: 0] } }
    /// How many files were looked for by `readFile`.
    package var readCount: Int { state.withLock { $0.readCount } }

    /// How many bytes were read by ranges, of files with an ending: `pack`.
    package func readBytes(ofFilesEnding ending: String) -> Int { state.withLock { $0.readBytes[ending[...]] ?? 0 } }
    /// How many directories were looked for by `entryNames`.
    package var listingCount: Int { state.withLock { $0.listingCount } }

    // MARK: Looking

    package func readFile(at path: String, maximumBytes: Int) throws -> [UInt8]? {
        try look { state in
            state.readCount += 1
            switch state.root.node(at: path) {
            case nil: return nil
            case .directory: throw FerryError.wrongKind(path, shouldBe: "regular file")
            case .file(let file):
                guard file.content.count <= maximumBytes else {
                    throw FerryError.tooLarge(path, size: file.content.count, maximumBytes: maximumBytes)
                }
                return file.content
            }
        }
    }

    package func entryNames(ofDirectoryAt path: String, maximumCount: Int) throws -> [String]? {
        try look { state in
            state.listingCount += 1
            switch state.root.node(at: path) {
            case nil: return nil
            case .file: throw FerryError.wrongKind(path, shouldBe: "folder")
            case .directory(let directory):
                guard directory.entries.count <= maximumCount else {
                    throw FerryError.tooManyEntries(path, maximumCount: maximumCount)
                }
                return directory.entries.keys.sorted()
            }
        }
    }

    package func item(at path: String) throws -> FileItem {
        try look { state in
            switch state.root.node(at: path) {
            case nil: .missing
            case .file(let file): .file(size: file.content.count)
            case .directory: .directory
            }
        }
    }

    package func version(at path: String) throws -> FileVersion? {
        try look { state in
            switch state.root.node(at: path) {
            case .file(let file): file.version
            case .directory(let directory): FileVersion(number: directory.number, size: directory.changeCount)
            case nil: nil
            }
        }
    }

    func look<Result>(_ body: (inout State) throws -> Result) throws -> Result {
        try state.withLock { state in
            if state.isKilled { throw SimulatedCrash() }
            return try body(&state)
        }
    }

    // MARK: Changing

    @discardableResult
    package func createDirectory(at path: String) throws -> Bool {
        try state.withLock { state in
            try Self.begin(.createDirectory, path, &state)
            switch state.root.node(at: path) {
            case .directory: return false
            case .file: throw FerryError.wrongKind(path, shouldBe: "folder")
            case nil:
                let (parent, name) = try state.root.parent(of: path)
                state.nodeCount += 1
                parent.change([name: .directory(MemoryDirectory(number: state.nodeCount))])
                return true
            }
        }
    }

    package func write(_ bytes: [UInt8], toNewFileAt path: String) throws {
        try write(bytes, toNewFileAt: path, isPrivate: false)
    }

    func write(_ bytes: [UInt8], toNewFileAt path: String, isPrivate: Bool) throws {
        try state.withLock { state in
            let (file, parent, name) = try Self.create(path, isPrivate: isPrivate, &state)
            do {
                try Self.write(bytes[...], to: file, at: 0, path, &state)
                try Self.begin(.synchronizeFile, path, &state)
                file.synchronize()
            } catch {
                if !state.isKilled { parent.change([name: nil]) }
                throw error
            }
        }
    }

    /// Makes an empty file.
    static func create(
        _ path: String, isPrivate: Bool = false, _ state: inout State
    ) throws -> (file: MemoryFile, parent: MemoryDirectory, name: String) {
        try begin(.createFile, path, &state)
        let (parent, name) = try state.root.parent(of: path)
        guard parent.entries[name] == nil else { throw memoryError(path, "it exists") }
        state.nodeCount += 1
        let file = MemoryFile(number: state.nodeCount, isPrivate: isPrivate)
        parent.change([name: .file(file)])
        return (file, parent, name)
    }

    /// Writes; a process that dies meanwhile has written half.
    static func write(
        _ bytes: ArraySlice<UInt8>, to file: MemoryFile, at offset: Int, _ path: String, _ state: inout State
    ) throws {
        do {
            try begin(.writeContent, path, &state)
        } catch {
            file.write(bytes.prefix(bytes.count / 2), at: offset)
            throw error
        }
        file.write(bytes, at: offset)
    }

    package func rename(_ path: String, to newPath: String) throws {
        try state.withLock { state in
            try Self.begin(.rename, newPath, &state)
            let (source, name) = try state.root.parent(of: path)
            let (destination, newName) = try state.root.parent(of: newPath)
            guard case .file(let file) = source.entries[name] else { throw memoryError(path, "there is no such file") }
            if case .directory = destination.entries[newName] { throw memoryError(newPath, "it is a directory") }
            if source === destination {
                if name == newName { return }
                source.change([name: nil, newName: .file(file)])
            } else {
                destination.change([newName: .file(file)])
                source.change([name: nil])
            }
        }
    }

    package func synchronizeDirectory(at path: String) throws {
        try state.withLock { state in
            try Self.begin(.synchronizeDirectory, path, &state)
            guard case .directory(let directory) = state.root.node(at: path) else {
                throw memoryError(path, "there is no such directory")
            }
            directory.synchronize()
        }
    }

    @discardableResult
    package func removeFile(at path: String) throws -> Bool {
        try state.withLock { state in
            try Self.begin(.removeFile, path, &state)
            switch state.root.node(at: path) {
            case nil: return false
            case .directory: throw memoryError(path, "it is a directory")
            case .file:
                let (parent, name) = try state.root.parent(of: path)
                parent.change([name: nil])
                return true
            }
        }
    }

    @discardableResult
    package func removeEmptyDirectory(at path: String) throws -> Bool {
        try state.withLock { state in
            if state.isKilled { throw SimulatedCrash() }
            guard case .directory(let directory)? = state.root.node(at: path), directory.entries.isEmpty else {
                return false
            }
            try Self.begin(.removeFile, path, &state)
            let (parent, name) = try state.root.parent(of: path)
            parent.change([name: nil])
            return true
        }
    }

    /// Counts a step, and throws if the step must fail or the process die.
    static func begin(_ mutation: Mutation, _ path: String, _ state: inout State) throws {
        if state.isKilled { throw SimulatedCrash() }
        state.steps[mutation, default: 0] += 1
        if state.refusesWrites { throw memoryError(path, "the disk refuses writes") }
        guard let fault = state.fault else { return }
        if fault.stepsBefore > 0 {
            state.fault?.stepsBefore -= 1
            return
        }
        state.fault = nil
        switch fault.kind {
        case .failure: throw memoryError(path, "the \(mutation.rawValue) step was made to fail")
        case .kill:
            state.isKilled = true
            throw SimulatedCrash()
        }
    }
}

/// The error that a killed process would not have seen: thrown by `MemoryFileSystem` from an injected kill until
/// `crash`.
package struct SimulatedCrash: Error {}
