/// The result of `Carrier.carry`.
public struct CarryReport: Codable, Equatable, Sendable {
    /// The files carried in one direction.
    public struct Way: Codable, Equatable, Sendable {
        public var files = 0
        /// Without `dryRun` alone.
        public var bytes = 0
    }

    /// A file left without a copy, because the file does not match the name, or cannot be read or written now.
    public struct LeftBehind: Codable, Equatable, Sendable {
        /// The file's path.
        public var path: String
        /// The error's code, as in `FerryError.Code`.
        public var code: String
        public var reason: String
    }

    /// Where the container was carried from and to.
    public var from: String
    public var to: String
    /// From the first place to the second place, and back.
    public var there = Way()
    public var back = Way()
    /// Files without readers. Their author removed them from one place, and the carrier removed them from the other
    /// place, too.
    public var removed = 0
    /// In the order of their names.
    public var leftBehind: [LeftBehind] = []
    /// Files from the time before the container was sealed, which were looked at and stay where they are; `nil` without any.
    public var openTimeFiles: Int?
    /// The devices with files in either place.
    public var devices = 0
    /// True if there was no container in the second place before.
    public var isNew = false
    /// True if nothing was copied, and the numbers only announce the work.
    public var isDryRun = false
    public var durationMilliseconds: Int64 = 0

    /// True if anything was copied or removed.
    public var hasNews: Bool { there.files + back.files + removed > 0 }

    private enum CodingKeys: String, CodingKey {
        case from, to, there, back, removed, leftBehind, openTimeFiles, isNew, durationMilliseconds
        case devices = "deviceCount"
        case isDryRun = "dryRun"
    }

    init(from: String, to: String) {
        self.from = from
        self.to = to
    }
}
