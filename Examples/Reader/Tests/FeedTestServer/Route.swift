import Foundation

/// What the server answers to a request of a path. All members may be left out.
public struct Route: Sendable, Encodable {
    public enum Hold: String, Sendable, Encodable {
        /// Nothing is sent until the test releases the path.
        case beforeHead
        /// Half of the body is sent, the rest when the test releases the path.
        case inBody
    }

    /// An RSS feed that the server makes while it sends it, in chunks and without a length.
    public struct Generated: Sendable, Encodable {
        public var articles: Int
        /// Bytes of text in each article.
        public var fill: Int

        public init(articles: Int, fill: Int = 1000) {
            self.articles = articles
            self.fill = fill
        }
    }

    public var status = 200
    public var headers: [String: String] = [:]
    /// Sent, and compared with If-None-Match: a request that has it gets 304.
    public var etag: String?
    /// Likewise, with If-Modified-Since where there is no If-None-Match.
    public var lastModified: String?
    public var body = ""
    /// Bytes instead of `body`.
    public var base64: Data?
    /// That many bytes of zero instead of `body`.
    public var zeros: Int?
    public var generate: Generated?
    /// `gzip` or `deflate`.
    public var encoding: String?
    /// A length to claim instead of the true one; the connection is closed after the body.
    public var contentLength: Int?
    /// The connection is closed after that many bytes of the body.
    public var cutAfter: Int?
    /// The connection is closed without an answer.
    public var hangUp: Bool?
    public var hold: Hold?

    public init(_ body: String = "", status: Int = 200, headers: [String: String] = [:]) {
        self.body = body
        self.status = status
        self.headers = headers
    }

    /// The same with other members.
    public func with(_ change: (inout Route) -> Void) -> Route {
        var route = self
        change(&route)
        return route
    }
}

/// A request as the server saw it.
public struct SeenRequest: Sendable, Decodable {
    public var method: String
    public var headers: [String: String]
    /// What it was answered with.
    public var status: Int

    public func header(_ name: String) -> String? {
        headers.first { $0.key.lowercased() == name.lowercased() }?.value
    }
}
