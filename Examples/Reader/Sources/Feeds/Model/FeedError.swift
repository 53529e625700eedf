/// The one error that this module throws or reports: one line that says what failed and what to do.
public struct FeedError: Error, Sendable, Hashable {
    /// What kind of failure it is. Open: later versions add codes.
    public struct Code: RawRepresentable, Sendable, Hashable {
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }

        // Of the document.

        /// There are no bytes, or nothing but white space.
        public static let empty = Code(rawValue: "empty")
        /// It is neither a feed nor a web page.
        public static let notAFeed = Code(rawValue: "notAFeed")
        /// It is a web page; `alternates` has the feeds that it offers.
        public static let webPage = Code(rawValue: "webPage")
        /// It is not well-formed; what came before the fault was delivered.
        public static let malformed = Code(rawValue: "malformed")
        /// It ends too early; what came before was delivered.
        public static let cutOff = Code(rawValue: "cutOff")
        /// It uses entities of its own, which can be made to attack readers.
        public static let entities = Code(rawValue: "entities")
        /// It is in an encoding that is not known here, or not in the one that it says.
        public static let encoding = Code(rawValue: "encoding")
        /// It, or one article, is larger than the limit.
        public static let tooLarge = Code(rawValue: "tooLarge")

        // Of fetching it.

        /// The address makes no sense, or has a scheme that is not fetched.
        public static let badAddress = Code(rawValue: "badAddress")
        /// There is no computer of that name, or none can be asked.
        public static let unknownHost = Code(rawValue: "unknownHost")
        /// The computer does not answer.
        public static let cannotConnect = Code(rawValue: "cannotConnect")
        /// No encrypted connection that can be trusted.
        public static let insecure = Code(rawValue: "insecure")
        /// The connection ended before the whole feed was there.
        public static let connectionLost = Code(rawValue: "connectionLost")
        /// A time limit was reached.
        public static let timedOut = Code(rawValue: "timedOut")
        /// Redirects in a circle, too many of them, or one to where nothing may be fetched from.
        public static let redirect = Code(rawValue: "redirect")
        /// Nothing is there, for now (404) or any more (410).
        public static let notFound = Code(rawValue: "notFound")
        /// The server wants a password or refuses.
        public static let refused = Code(rawValue: "refused")
        /// The server asks to come back later.
        public static let tooManyRequests = Code(rawValue: "tooManyRequests")
        /// The server has a fault of its own.
        public static let server = Code(rawValue: "server")
        /// A file could not be read or written here.
        public static let file = Code(rawValue: "file")
        /// The task was cancelled.
        public static let cancelled = Code(rawValue: "cancelled")
    }

    public var code: Code
    /// One line without control characters: what failed and what to do.
    public var message: String
    /// The feeds that a web page offers; empty for all other errors.
    public var alternates: [FeedLink]

    public init(_ code: Code, _ message: String, alternates: [FeedLink] = []) {
        self.code = code
        // Parts of it come from outside, and it is shown in a terminal.
        self.message = message.withoutControlCharacters
        self.alternates = alternates
    }

    /// Whether the same may go well later without anybody doing anything.
    public var isTemporary: Bool {
        [.unknownHost, .cannotConnect, .connectionLost, .timedOut, .tooManyRequests, .server, .cancelled]
            .contains(code)
    }
}

extension FeedError: CustomStringConvertible {
    public var description: String { message }
}
