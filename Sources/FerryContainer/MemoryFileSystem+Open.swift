import FerryCore

/// Files that are open. A file stays what it is after its name went to another one, or to none.
extension MemoryFileSystem {
    package func openFile(at path: String) throws -> (any ReadableFile)? {
        try look { state in
            state.readCount += 1
            return try Self.file(at: path, state).map { MemoryOpenFile($0, path, in: self) }
        }
    }

    package func createFile(at path: String) throws -> any WritableFile {
        try state.withLock { state in MemoryOpenFile(try Self.create(path, &state).file, path, in: self) }
    }

    package func continueFile(at path: String) throws -> (any WritableFile)? {
        try look { state in
            guard let file = try Self.file(at: path, state) else { return nil }
            if file.isReadOnly { throw memoryError(path, "it is read-only") }
            return MemoryOpenFile(file, path, in: self)
        }
    }

    package func makeReadOnly(at path: String) throws {
        try state.withLock { state in
            try Self.begin(.makeReadOnly, path, &state)
            guard let file = try Self.file(at: path, state) else { throw memoryError(path, "there is no such file") }
            file.isReadOnly = true
        }
    }

    package func link(_ path: String, to newPath: String) throws -> Bool {
        try state.withLock { state in
            try Self.begin(.link, newPath, &state)
            guard let file = try Self.file(at: path, state) else { throw memoryError(path, "there is no such file") }
            let (parent, name) = try state.root.parent(of: newPath)
            guard parent.entries[name] == nil else { throw memoryError(newPath, "it exists") }
            parent.change([name: .file(file)])
            return true
        }
    }

    private static func file(at path: String, _ state: State) throws -> MemoryFile? {
        switch state.root.node(at: path) {
        case nil: nil
        case .directory: throw FerryError.wrongKind(path, shouldBe: "regular file")
        case .file(let file): file
        }
    }
}

/// An open file of `MemoryFileSystem`.
///
/// `@unchecked Sendable` because the file is touched under the file system's lock alone.
private final class MemoryOpenFile: WritableFile, @unchecked Sendable {
    private let file: MemoryFile
    private let path: String
    private let ending: Substring
    private let files: MemoryFileSystem

    init(_ file: MemoryFile, _ path: String, in files: MemoryFileSystem) {
        self.file = file
        self.path = path
        ending = path.lastIndex(of: ".").map { path[path.index(after: $0)...] } ?? ""
        self.files = files
    }

    func byteCount() throws -> Int { try files.look { _ in file.content.count } }

    func version() throws -> FileVersion { try files.look { _ in file.version } }

    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int) throws -> Int {
        try files.look { state in
            guard offset < file.content.count else { return 0 }
            let part = file.content[offset..<min(file.content.count, offset + buffer.count)]
            buffer.copyBytes(from: part)
            state.readBytes[ending, default: 0] += part.count
            return part.count
        }
    }

    func write(_ bytes: ArraySlice<UInt8>, at offset: Int) throws {
        try files.state.withLock { state in
            try MemoryFileSystem.write(bytes, to: file, at: offset, path, &state)
        }
    }

    func synchronize() throws {
        try files.state.withLock { state in
            try MemoryFileSystem.begin(.synchronizeFile, path, &state)
            file.synchronize()
        }
    }
}
