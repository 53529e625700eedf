import Foundation

/// How many links in a row a path follows where a link leads to nothing, as in the Linux kernel.
private let maximumLinks = 40

/// An absolute path without `.`, `..` and symbolic links. What does not exist yet stays as it is named, below the real path of the folder
/// in which it would be.
package func realPath(_ path: String) -> String {
    // Every pass asks, and the rest takes ten times as long.
    if path.hasPrefix("/"), let resolved = resolvedPath(path) { return resolved }
    let expanded = (path as NSString).expandingTildeInPath
    let absolute = expanded.hasPrefix("/") ? expanded : FileManager.default.currentDirectoryPath + "/" + expanded
    return realPath(absolute, following: maximumLinks)
}

private func realPath(_ absolute: String, following links: Int) -> String {
    if let resolved = resolvedPath(absolute) { return resolved }
    let path = URL(fileURLWithPath: absolute).standardizedFileURL.path
    let (folder, name) = ((path as NSString).deletingLastPathComponent, (path as NSString).lastPathComponent)
    if path == "/" || folder == path { return path }
    // A link to a file that does not exist yet: whoever makes the file makes the link's target.
    if links > 0, let target = try? FileManager.default.destinationOfSymbolicLink(atPath: path) {  // mostly no link
        return realPath(target.hasPrefix("/") ? target : folder + "/" + target, following: links - 1)
    }
    let real = realPath(folder, following: links)
    return real.hasSuffix("/") ? real + name : real + "/" + name
}

/// The real path of something that exists; else `nil`.
private func resolvedPath(_ path: String) -> String? {
    #if os(Linux)
    guard let resolved = realpath(path, nil) else { return nil }
    defer { free(resolved) }
    return String(cString: resolved)
    #else
    // Without the `/private` that realpath(3) puts before some paths: databases have noted their containers without it.
    guard FileManager.default.fileExists(atPath: path) else { return nil }
    return URL(fileURLWithPath: path).standardizedFileURL.resolvingSymlinksInPath().path
    #endif
}
