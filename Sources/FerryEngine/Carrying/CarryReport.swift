/// The result of `Carrier.carry`.
public struct CarryReport: Codable, Equatable, Sendable {
    /// What went one way.
    public struct Way: Codable, Equatable, Sendable {
        public var files = 0
        /// Without `dryRun` alone.
        public var bytes = 0
    }

    /// A file that was not copied, because it is not what its name says, or cannot be read or written now.
    public struct LeftBehind: Codable, Equatable, Sendable {
        /// Its place.
        public var path: String
        /// The error's code, as in `FerryError.Code`.
        public var code: String
        public var reason: String
    }

    /// Where the container was carried from and to.
    public var from: String
    public var to: String
    /// From the first place to the second one, and back.
    public var there = Way()
    public var back = Way()
    /// Files that nobody reads any more, that their author removed from one place and that were removed from the other one, too.
    public var removed = 0
    /// In the order of their names.
    public var leftBehind: [LeftBehind] = []
    /// The devices with files in either place.
    public var devices = 0
    /// True if there was no container in the second place before.
    public var isNew = false
    /// True if nothing was copied, and the numbers say what would be.
    public var isDryRun = false
    public var durationMilliseconds: Int64 = 0

    /// True if anything was copied or removed.
    public var hasNews: Bool { there.files + back.files + removed > 0 }

    private enum CodingKeys: String, CodingKey {
        case from, to, there, back, removed, leftBehind, isNew, durationMilliseconds
        case devices = "deviceCount"
        case isDryRun = "dryRun"
    }

    init(from: String, to: String) {
        self.from = from
        self.to = to
    }
}
