import ArgumentParser
import Ferry
import FerryContainer
import Foundation

/// The container's place for a command: a folder, or a location with options.
struct ContainerArgument: ParsableArguments {
    @Argument(
        help: ArgumentHelp(
            "The container: a folder that the devices share, s3://bucket/path in an object storage, or rclone:remote:path.",
            valueName: "container"),
        completion: .directory)
    var place: String

    @OptionGroup var bucket: BucketOptions

    /// The place as a single text, with the options included.
    var container: String {
        (try? bucket.location(of: place).text) ?? place  // `validate` has refused an unreadable place
    }

    func validate() throws {
        if place.isEmpty { throw ValidationError("Name the container after the database.") }
        try bucket.check(place)
    }
}

/// A container's place, as a person types it on another device.
struct PlaceElsewhere {
    /// True for a storage: the same location is right everywhere. A folder has another path on each device.
    let isRemote: Bool
    /// For a shell.
    let word: String

    /// - Parameter location: here.
    init(_ location: String) {
        // A location that cannot be read is a folder's path.
        switch try? ContainerLocation(location) {
        case .folder?, nil: (isRemote, word) = (false, "<path of the folder there>")
        case .s3?, .rclone?: (isRemote, word) = (true, Wording.shellWord(location))
        }
    }
}

/// Options for a place in an object storage, beside the name.
struct BucketOptions: ParsableArguments {
    @Option(help: "Of s3://: the storage's address, as in https://objects.example.net. Without it, Amazon's.")
    var endpoint: String?

    @Option(help: "Of s3://: the region. Without it, what the environment or the profile says.")
    var region: String?

    @Option(help: "Of s3://: the profile in ~/.aws with the credentials. Keys never stand in a location.")
    var profile: String?

    @Option(help: "Of s3://: whether the bucket stands in the host's name (virtual) or in the path (path).")
    var style: String?

    @Option(name: .customLong("ca-file"), help: "Of s3://: a file with the certificates of authorities to trust.")
    var authorityFile: String?

    @Flag(name: .customLong("plain-http"), help: "Of s3://: allow HTTP without TLS beyond a private network.")
    var plainHTTP = false

    /// Refuses an unreadable place, in the words for wrong arguments.
    func check(_ place: String) throws {
        do {
            _ = try location(of: place)
        } catch let error as FerryError {
            throw ValidationError(error.message)
        }
    }

    /// No option was said.
    static var none: BucketOptions {
        // Parsing nothing cannot fail: every option is optional.
        (try? BucketOptions.parse([])) ?? BucketOptions()
    }

    /// True if an option was said.
    var areSaid: Bool { !said.isEmpty }

    private var said: [(name: String, value: String)] {
        let options: [(name: String, value: String?)] = [
            ("endpoint", endpoint), ("region", region), ("profile", profile), ("style", style),
            ("ca-file", authorityFile.map { URL(fileURLWithPath: $0).standardizedFileURL.path }),
            ("plain-http", plainHTTP ? "yes" : nil),
        ]
        return options.compactMap { option in option.value.map { (name: option.name, value: $0) } }
    }

    /// A place with the options included.
    func location(of place: String) throws -> ContainerLocation {
        // An option about a bucket decides whether the text can be read at all, as with plain HTTP.
        guard case .s3(var bucket) = try ContainerLocation(said.isEmpty ? place : Self.withoutParameters(place)) else {
            if let option = said.first { throw ValidationError("--\(option.name) is for s3:// containers.") }
            return try ContainerLocation(place)
        }
        if said.isEmpty { return .s3(bucket) }
        if let query = place.firstIndex(of: "?") {
            for pair in place[place.index(after: query)...].split(separator: "&", omittingEmptySubsequences: false) {
                let parts = pair.split(separator: "=", maxSplits: 1)
                guard parts.count == 2, let value = PercentEncoding.decode(parts[1]) else {
                    throw ValidationError("A parameter of the location is not written as name=value.")
                }
                try bucket.set(String(parts[0]), value)
            }
        }
        if let authorityFile { try ArgumentFile(authorityFile).checkRegular() }
        for option in said { try bucket.set(option.name, option.value) }
        try bucket.check()
        return .s3(bucket)
    }

    private static func withoutParameters(_ text: String) -> String {
        text.lowercased().hasPrefix("s3://") ? String(text.prefix { $0 != "?" }) : text
    }
}
