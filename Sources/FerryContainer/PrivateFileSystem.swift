import FerryCore

/// A file system that keeps files from other accounts of the computer: what a store of secret keys needs beyond `FileSystem`.
package protocol PrivateFileSystem: FileSystem {
    /// Creates a directory that this account alone may list and change; otherwise as `createDirectory(at:)`.
    /// - Returns: true if the directory was created; `false` if there was a directory already, with whatever rights.
    @discardableResult
    func createPrivateDirectory(at path: String) throws -> Bool

    /// Writes a new file that this account alone may read and change; otherwise as `write(_:toNewFileAt:)`.
    func write(_ bytes: [UInt8], toNewPrivateFileAt path: String) throws

    /// True if others than this account may read or change a file, or change which files a directory has. The system's
    /// administrator does not count. `false` if nothing is there.
    /// - Throws: `inputOutput`.
    func isExposed(at path: String) throws -> Bool

    /// The path to which a symbolic link leads; any other path, and a link to nothing, as it is.
    func destination(of path: String) -> String
}
