import FerryCore

/// A place in an S3-compatible object storage: a bucket, the beginning of all names in the bucket, and the way to reach
/// the bucket.
///
/// Invariants: `bucket` has 3 to 63 characters of a bucket's name; `prefix` has neither empty parts nor `.` or `..`,
/// and no slash at the ends; a parameter is never a secret.
package struct S3Location: Hashable, Sendable {
    /// How a request names the bucket.
    package enum Style: String, Hashable, Sendable {
        /// In the host: `bucket.s3.example.net`.
        case virtual
        /// In the path: `s3.example.net/bucket`.
        case path
    }

    package var bucket: String
    /// The beginning of all names, without slashes at the ends; empty for the whole bucket.
    package var prefix: String
    /// The service's address; `nil` for AWS.
    package var endpoint: ServiceAddress?
    /// `nil`: as the environment or the profile says.
    package var region: String?
    /// The profile with the credentials, by name; `nil`: the environment's or the default profile.
    package var profile: String?
    /// `nil`: by the address.
    package var style: Style?
    /// A file with certificates of authorities trusted instead of the system's.
    package var authorityFile: String?
    /// Whether HTTP without TLS is allowed beyond this computer and the private network.
    package var allowsPlainHTTP = false

    /// The longest beginning of names, in bytes: a key has 1,024 at most, and Ferry's own names need some 110.
    package static let maximumPrefixBytes = 512

    /// Names a place without parameters.
    package init(bucket: String, prefix: String = "", endpoint: ServiceAddress? = nil) {
        self.bucket = bucket
        self.prefix = prefix
        self.endpoint = endpoint
    }

    /// Reads the text behind `s3://`.
    init(_ text: Substring) throws(FerryError) {
        let (place, query) = Self.split(text, at: "?")
        let (bucket, path) = Self.split(place, at: "/")
        // Before any part is repeated in a message: the text before an @ is a key and a secret.
        if bucket.contains("@") { throw Self.holdsKeys }
        guard Self.isBucket(bucket) else {
            throw ContainerLocation.refused(
                "s3:// is followed by a bucket's name: 3 to 63 letters, digits, dots and hyphens, as in s3://my-bucket/music."
            )
        }
        self.bucket = String(bucket)
        prefix = try Self.prefix(path ?? "")
        if let query { try read(query) }
        try check()
    }

    // MARK: Text

    /// `s3://bucket/prefix`, without parameters.
    package var place: String { "s3://" + bucket + (prefix.isEmpty ? "" : "/" + prefix) }

    /// The whole location; parameters in the order of their names.
    package var text: String {
        let pairs: [(String, String?)] = [
            ("ca-file", authorityFile), ("endpoint", endpoint?.text),
            ("plain-http", allowsPlainHTTP ? "yes" : nil), ("profile", profile), ("region", region),
            ("style", style?.rawValue),
        ]
        let written = pairs.compactMap { name, value in value.map { name + "=" + PercentEncoding.encode($0) } }
        return place + (written.isEmpty ? "" : "?" + written.joined(separator: "&"))
    }

    /// The service's name for people: `objects.example.net`, `Amazon S3`.
    package var serviceName: String { endpoint?.host ?? "Amazon S3" }

    // MARK: Reading

    private static let keyNames = ["key", "secret", "token", "password", "credential", "signature"]

    private static var holdsKeys: FerryError {
        ContainerLocation.refused(
            "A location holds no keys. Put them into a profile (`aws configure --profile music`) or into the environment, and "
                + "name the profile: s3://bucket/music?profile=music")
    }

    private static func split(_ text: Substring, at separator: Character) -> (Substring, Substring?) {
        guard let place = text.firstIndex(of: separator) else { return (text, nil) }
        return (text[..<place], text[text.index(after: place)...])
    }

    private static func isBucket(_ name: Substring) -> Bool {
        let bytes = Array(name.utf8)
        guard (3...63).contains(bytes.count), let first = bytes.first, let last = bytes.last else { return false }
        func isWord(_ byte: UInt8) -> Bool {
            (0x30...0x39).contains(byte) || (0x41...0x5a).contains(byte) || (0x61...0x7a).contains(byte)
        }
        return isWord(first) && isWord(last) && !name.contains("..")
            && bytes.allSatisfy { isWord($0) || $0 == 0x2d || $0 == 0x2e || $0 == 0x5f }
    }

    private static func prefix(_ path: Substring) throws(FerryError) -> String {
        var path = path
        while path.last == "/" { path.removeLast() }
        if path.isEmpty { return "" }
        guard path.utf8.count <= maximumPrefixBytes else {
            throw ContainerLocation.refused("The path in the bucket is longer than \(maximumPrefixBytes) bytes.")
        }
        let parts = path.split(separator: "/", omittingEmptySubsequences: false)
        guard !parts.contains(where: { $0.isEmpty || $0 == "." || $0 == ".." }) else {
            throw ContainerLocation.refused(
                "The path in the bucket has an empty part, or one that is . or .., which storages treat differently.")
        }
        return String(path)
    }

    private mutating func read(_ query: Substring) throws(FerryError) {
        var seen: Set<String> = []
        for pair in query.split(separator: "&", omittingEmptySubsequences: false) {
            let (name, encoded) = Self.split(pair, at: "=")
            guard let encoded, let value = PercentEncoding.decode(encoded), !value.isEmpty else {
                throw ContainerLocation.refused("A parameter of the location is not written as name=value.")
            }
            let lower = name.lowercased()
            if Self.keyNames.contains(where: { lower.contains($0) }) { throw Self.holdsKeys }
            guard seen.insert(String(name)).inserted else {
                throw ContainerLocation.refused("The location says \(name) twice.")
            }
            try set(String(name), value)
        }
    }

    /// Sets a parameter by name, like an option of the command.
    /// - Throws: `invalidArgument` for an unknown name or an impossible value.
    package mutating func set(_ name: String, _ value: String) throws(FerryError) {
        switch name {
        case "endpoint": endpoint = try ServiceAddress(value)
        case "region":
            guard Self.isWord(value, "-") else { throw ContainerLocation.refused("The region is no region's name.") }
            region = value
        case "profile":
            guard value.utf8.count <= 128, !value.contains(where: { "[]\n".contains($0) }) else {
                throw ContainerLocation.refused("The profile's name cannot stand in a profile file.")
            }
            profile = value
        case "style":
            guard let style = Style(rawValue: value) else {
                throw ContainerLocation.refused("style is virtual (the bucket in the host's name) or path.")
            }
            self.style = style
        case "ca-file":
            guard value.hasPrefix("/") else {
                throw ContainerLocation.refused(
                    "ca-file needs a path from the root: each device keeps the location as it is.")
            }
            authorityFile = value
        case "plain-http":
            guard value == "yes" else { throw ContainerLocation.refused("plain-http is said with yes, or left out.") }
            allowsPlainHTTP = true
        default:
            throw ContainerLocation.refused(
                "The location has an unknown parameter. There are ca-file, endpoint, plain-http, profile, region and style."
            )
        }
    }

    private static func isWord(_ text: String, _ others: String) -> Bool {
        (1...64).contains(text.utf8.count)
            && text.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || others.contains($0)) }
    }

    /// Checks the parameters against each other. Options are set one by one, and checked at the end.
    /// - Throws: `invalidArgument` for plain HTTP into the open.
    package func check() throws(FerryError) {
        guard let endpoint, !endpoint.isSecure, !endpoint.isPrivate, !allowsPlainHTTP else { return }
        throw ContainerLocation.refused(
            "\(endpoint.host) would be reached by HTTP without TLS: everybody on the way could read the requests. Use https, "
                + "or say --plain-http.")
    }
}
