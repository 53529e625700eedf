import FerryCore

/// A file is private where it was written so. `setExposed` takes that away, from a directory too.
extension MemoryFileSystem: PrivateFileSystem {
    /// Lets others read or change what is at a path, or takes their rights away again.
    package func setExposed(_ path: String, _ isExposed: Bool = true) {
        state.withLock { state in
            if isExposed { state.exposed.insert(path) } else { state.exposed.remove(path) }
        }
    }

    @discardableResult
    package func createPrivateDirectory(at path: String) throws -> Bool { try createDirectory(at: path) }

    package func write(_ bytes: [UInt8], toNewPrivateFileAt path: String) throws {
        try write(bytes, toNewFileAt: path, isPrivate: true)
    }

    package func isExposed(at path: String) throws -> Bool {
        try look { state in
            switch state.root.node(at: path) {
            case nil: false
            case .directory: state.exposed.contains(path)
            case .file(let file): state.exposed.contains(path) || !file.isPrivate
            }
        }
    }

    /// There are no links in memory.
    package func destination(of path: String) -> String { path }
}
