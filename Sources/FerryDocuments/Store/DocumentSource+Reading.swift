import FerryCore

#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

extension DocumentSource {
    /// Reads a file for a new document, with the file's time and mode on disk.
    /// - Throws: `nothingFound`.
    package init(reading file: String, at path: DocumentPath) throws {
        var status = stat()
        guard lstat(file, &status) == 0 else {
            throw FerryError(.nothingFound, "There is no file at \(file). Check the path.", path: file)
        }
        guard status.st_mode & S_IFMT == S_IFREG else {
            let isDirectory = status.st_mode & S_IFMT == S_IFDIR
            throw FerryError(
                .invalidArgument,
                isDirectory
                    ? "\(file) is a directory. Name a file in it, or add the whole directory: `ferry documents … add`."
                    : "\(file) is no regular file. Name the file to which it leads, or a copy.", path: file)
        }
        #if canImport(Darwin)
        let time = status.st_mtimespec
        #else
        let time = status.st_mtim
        #endif
        self.init(
            file: file, path: path,
            modifiedMicroseconds: Int64(time.tv_sec) * 1_000_000 + Int64(time.tv_nsec) / 1000,
            isExecutable: status.st_mode & S_IXUSR != 0)
    }
}
