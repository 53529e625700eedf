import FerryCore

/// A request over HTTP. Headers are sent as they are.
package struct HTTPRequest: Sendable {
    package var method: String
    /// Scheme, host, path and query, encoded.
    package var url: String
    package var headers: [(name: String, value: String)] = []
    /// `nil`: without a body.
    package var body: [UInt8]?
    /// The longest silence of a server before the request is given up, in seconds.
    package var silenceSeconds = 30

    package init(_ method: String, _ url: String, headers: [(name: String, value: String)] = [], body: [UInt8]? = nil) {
        self.method = method
        self.url = url
        self.headers = headers
        self.body = body
    }
}

/// The answer to a request.
package struct HTTPResponse: Sendable {
    package var status: Int
    /// By names in lower case; of several headers with the same name the last.
    package var headers: [String: String] = [:]
    package var body: [UInt8] = []

    package init(status: Int, headers: [String: String] = [:], body: [UInt8] = []) {
        self.status = status
        self.headers = headers
        self.body = body
    }
}

/// Why there is no answer.
package struct HTTPFailure: Error, Hashable, Sendable {
    package enum Kind: Hashable, Sendable {
        /// No such host, no connection, or a broken connection.
        case unreachable
        /// No answer within the time: of a server that takes connections, or of an address that takes none.
        case silent
        /// The server's certificate is not trusted.
        case certificate
        /// The answer is longer than the caller takes.
        case tooLong
        /// The request cannot be made.
        case impossible
        /// This computer lacks the library for requests.
        case missingLibrary
        /// `interrupt` ended the request.
        case interrupted
    }

    package var kind: Kind
    /// The cause, in a few words and without the request's address: "no address for that name".
    package var reason: String

    package init(_ kind: Kind, _ reason: String) {
        self.kind = kind
        self.reason = reason
    }
}

/// Sends requests over HTTP. Calls block, and may come from several threads.
package protocol HTTPTransport: Sendable {
    /// Sends a request and reads the answer. Redirects are not followed.
    /// - Parameter maximumBytes: the longest body of an answer.
    func perform(_ request: HTTPRequest, maximumBytes: Int) throws(HTTPFailure) -> HTTPResponse

    /// Ends the running requests, within a second. From any thread. Later requests are as before.
    func interrupt()
}

extension HTTPTransport {
    /// Nothing, where no request takes long.
    package func interrupt() {}
}
