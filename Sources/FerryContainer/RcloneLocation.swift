import FerryCore

/// A place that rclone reaches: a remote of the person's own `rclone.conf`, and a path in the remote.
package struct RcloneLocation: Hashable, Sendable {
    /// The remote's name in `rclone.conf`.
    package var remote: String
    /// The path in the remote, without a slash at its end; empty for the remote's root.
    package var path: String

    package init(remote: String, path: String) {
        self.remote = remote
        self.path = path
    }

    /// Reads what follows `rclone:`.
    init(_ text: Substring) throws(FerryError) {
        guard let colon = text.firstIndex(of: ":") else {
            throw ContainerLocation.refused("rclone: is followed by a remote and a path, as in rclone:drive:music")
        }
        let name = text[..<colon]
        // A remote that is written out (":s3,secret_access_key=…:") would hold its password.
        guard !name.isEmpty, !name.contains(where: { ",='\"".contains($0) }) else {
            throw ContainerLocation.refused(
                "A location holds no keys. Name a remote of rclone's own configuration (`rclone config`): rclone:drive:music"
            )
        }
        guard name.first != "-", name.first != " ", name.last != " ",
            name.allSatisfy({ $0.isLetter || $0.isNumber || "_-.+@ ".contains($0) })
        else { throw ContainerLocation.refused("The remote's name cannot be one of rclone's.") }
        remote = String(name)
        var path = text[text.index(after: colon)...]
        while path.count > 1, path.last == "/" { path.removeLast() }
        guard !path.contains(where: { "[]".contains($0) }) else {
            throw ContainerLocation.refused("The path has a bracket, which cannot be said to rclone. Name another one.")
        }
        let below = path.drop { $0 == "/" }
        let parts = below.isEmpty ? [] : below.split(separator: "/", omittingEmptySubsequences: false)
        guard !parts.contains(where: { $0.isEmpty || $0 == "." || $0 == ".." }) else {
            throw ContainerLocation.refused("The path has an empty part, or one that is . or ..")
        }
        self.path = String(path)
    }

    /// The remote and the path as rclone itself writes them: `drive:music`.
    package var filesystem: String { remote + ":" + path }

    /// The location as one text that reads as the same location.
    package var text: String { "rclone:" + filesystem }
}
