import FerryCore

/// The names of a whole container by directory, with sizes and tags: the storage's last listing, with later writes and
/// announcements. A value without I/O.
///
/// Invariants:
/// - A name is in the directory before the name's last slash. Each directory on the way is a name in the directory
///   above.
/// - A directory's count grows with every name that comes, goes or changes the tag. No count is used twice.
struct CachedListing {
    /// A container with more names is not listed.
    static let maximumNames = 2_000_000

    /// A file in a listing.
    struct File: Equatable {
        /// In bytes; `nil` for an announced file without a listing so far.
        var size: Int?
        /// `nil` as above.
        var tag: String?
    }

    private struct Directory {
        var files: [String: File] = [:]
        var directories: Set<String> = []
        var count: UInt64
    }

    private var directories: [String: Directory] = [:]
    /// The number of the last change.
    private var changes: UInt64 = 0
    private(set) var fileCount = 0

    /// The parts of a name: `devices/x/head` is `head` in `devices/x`.
    static func split(_ name: String) -> (directory: String, file: String) {
        guard let slash = name.lastIndex(of: "/") else { return ("", name) }
        return (String(name[..<slash]), String(name[name.index(after: slash)...]))
    }

    static func join(_ directory: String, _ name: String) -> String {
        directory.isEmpty ? name : directory + "/" + name
    }

    /// True for a plain name of Ferry or a person: no empty part, no `.` or `..`, no control characters.
    static func isPlain(_ name: String) -> Bool {
        !name.isEmpty && name.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7f }
            && name.split(separator: "/", omittingEmptySubsequences: false).allSatisfy {
                !$0.isEmpty && $0 != "." && $0 != ".."
            }
    }

    // MARK: Looking

    func file(_ name: String) -> File? {
        let (directory, file) = Self.split(name)
        return directories[directory]?.files[file]
    }

    /// The names directly in a directory, files and directories, in ascending order.
    func names(in directory: String) -> [String] {
        guard let found = directories[directory] else { return [] }
        return (Array(found.files.keys) + found.directories).sorted()
    }

    func files(in directory: String) -> [String: File] { directories[directory]?.files ?? [:] }

    func isDirectory(_ name: String) -> Bool { directories[name] != nil }

    /// The directory's count. Any change in the directory changes the count. `nil` without such a directory.
    func count(of directory: String) -> UInt64? { directories[directory]?.count }

    // MARK: Changing

    /// Sets a file, and makes the directories on the way.
    mutating func set(_ name: String, _ file: File) {
        let (directory, last) = Self.split(name)
        if directories[directory]?.files[last] == file { return }
        makeDirectory(directory)
        changes += 1
        if directories[directory]?.files.updateValue(file, forKey: last) == nil { fileCount += 1 }
        directories[directory]?.count = changes
    }

    /// Removes a file, if known. The directory stays while it has further names.
    mutating func remove(_ name: String) {
        let (directory, last) = Self.split(name)
        guard directories[directory]?.files.removeValue(forKey: last) != nil else { return }
        changes += 1
        fileCount -= 1
        directories[directory]?.count = changes
        removeIfEmpty(directory)
    }

    /// Replaces all files below a prefix by the files of a listing.
    /// - Parameters:
    ///   - prefix: a directory's name and a slash, or nothing for all files.
    ///   - found: by their whole names.
    mutating func replace(below prefix: String, with found: [String: File]) {
        for (directory, content) in directories where (directory + "/").hasPrefix(prefix) || prefix.isEmpty {
            for file in content.files.keys where found[Self.join(directory, file)] == nil {
                remove(Self.join(directory, file))
            }
        }
        for (name, file) in found { set(name, file) }
    }

    private mutating func makeDirectory(_ name: String) {
        if directories[name] != nil { return }
        changes += 1
        directories[name] = Directory(count: changes)
        if name.isEmpty { return }
        let (parent, last) = Self.split(name)
        makeDirectory(parent)
        changes += 1
        directories[parent]?.directories.insert(last)
        directories[parent]?.count = changes
    }

    private mutating func removeIfEmpty(_ name: String) {
        guard let directory = directories[name], directory.files.isEmpty, directory.directories.isEmpty else { return }
        directories[name] = nil
        if name.isEmpty { return }
        let (parent, last) = Self.split(name)
        changes += 1
        directories[parent]?.directories.remove(last)
        directories[parent]?.count = changes
        removeIfEmpty(parent)
    }
}
