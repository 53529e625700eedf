import Foundation

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// A request with all the redirects that it leads to.
struct HTTPExchange {
    /// The last answer of the chain.
    struct Reply {
        var url: URL
        var response: HTTPURLResponse
        var byteCount: Int
        /// Where the first permanent redirects lead. A temporary one among them ends the run: what follows it may lead
        /// elsewhere tomorrow.
        var movedTo: URL?
    }

    let client: HTTPClient
    let limits: FetchLimits
    let userAgent: String

    /// Fetches `start` into `file`.
    /// - Throws: `FeedError`.
    func get(_ start: URL, validators: FeedValidators?, into file: URL, maximumBytes: Int) async throws -> Reply {
        var url = start
        var visited: Set<String> = [start.absoluteString]
        var movedTo: URL?
        var isPermanent = true
        for _ in 0...limits.maximumRedirects {
            let answer = try await client.send(
                request(url, validators), to: url, into: file, limits: limits, maximumBytes: maximumBytes)
            let status = answer.response.statusCode
            guard [301, 302, 303, 307, 308].contains(status) else {
                return Reply(url: url, response: answer.response, byteCount: answer.byteCount, movedTo: movedTo)
            }
            url = try target(of: answer.response, from: url)
            isPermanent = isPermanent && (status == 301 || status == 308)
            if isPermanent { movedTo = url }
            guard visited.insert(url.absoluteString).inserted else {
                throw FeedError(
                    .redirect, "\(start.host() ?? "the server") redirects in a circle; look for the feed's new address")
            }
        }
        throw FeedError(
            .redirect,
            "\(start.host() ?? "the server") redirects more than \(limits.maximumRedirects) times; "
                + "look for the feed's new address")
    }

    private func request(_ url: URL, _ validators: FeedValidators?) -> URLRequest {
        var request = URLRequest(url: url)
        request.httpShouldHandleCookies = false
        request.setValue(userAgent, forHTTPHeaderField: "User-Agent")
        request.setValue(
            "application/atom+xml, application/rss+xml, application/feed+json, application/rdf+xml, "
                + "application/xml;q=0.9, text/xml;q=0.9, */*;q=0.5", forHTTPHeaderField: "Accept")
        if let etag = validators?.etag { request.setValue(etag, forHTTPHeaderField: "If-None-Match") }
        if let date = validators?.lastModified { request.setValue(date, forHTTPHeaderField: "If-Modified-Since") }
        return request
    }

    /// Only the web: a server must not send a reader to the files of this computer.
    private func target(of response: HTTPURLResponse, from url: URL) throws -> URL {
        let location = response.value(forHTTPHeaderField: "Location")?.trimmedOrNil
        guard let location, let target = URL(string: location, relativeTo: url)?.absoluteURL else {
            throw FeedError(
                .redirect, "\(url.host() ?? "the server") redirects to nowhere; it is not tried again by itself")
        }
        guard target.isWeb else {
            throw FeedError(
                .redirect,
                "\(url.host() ?? "the server") redirects to “\(location.prefix(100))”, which is not on the web")
        }
        return target
    }
}

extension URL {
    /// Whether it has a host and is fetched by HTTP.
    var isWeb: Bool {
        (scheme?.lowercased() == "http" || scheme?.lowercased() == "https") && host()?.isEmpty == false
    }
}

/// What the head of an answer says besides.
struct ResponseAdvice {
    /// The longest wait that is believed.
    static let maximumWaitSeconds = 7 * 86400.0

    let notBefore: Date?
    let validators: FeedValidators?
    let charset: String?
    /// The `rel="next"` of a Link header, absolute.
    let nextPage: URL?

    init(_ response: HTTPURLResponse, url: URL, now: Date) {
        notBefore = Self.notBefore(response, now)
        let etag = response.value(forHTTPHeaderField: "ETag")?.trimmedOrNil
        let lastModified = response.value(forHTTPHeaderField: "Last-Modified")?.trimmedOrNil
        validators = etag == nil && lastModified == nil ? nil : FeedValidators(etag: etag, lastModified: lastModified)
        let type = response.value(forHTTPHeaderField: "Content-Type") ?? ""
        charset = Self.parameter("charset", of: type)
        nextPage = Self.nextLink(response.value(forHTTPHeaderField: "Link") ?? "", url)
    }

    private static func notBefore(_ response: HTTPURLResponse, _ now: Date) -> Date? {
        var seconds: [Double] = []
        if let text = response.value(forHTTPHeaderField: "Retry-After")?.trimmed {
            if let number = Double(text) {
                seconds.append(number)
            } else if let date = FeedDate.parse(text) {
                seconds.append(date.timeIntervalSince(now))
            }
        }
        let directives = (response.value(forHTTPHeaderField: "Cache-Control") ?? "").lowercased().split(separator: ",")
            .map(\.trimmed)
        if !directives.contains("no-cache"), !directives.contains("no-store"),
            let age = directives.first(where: { $0.hasPrefix("max-age=") }), let number = Double(age.dropFirst(8))
        {
            seconds.append(number - (response.value(forHTTPHeaderField: "Age").flatMap { Double($0.trimmed) } ?? 0))
        }
        guard let longest = seconds.max(), longest > 0 else { return nil }
        return now.addingTimeInterval(min(longest, maximumWaitSeconds))
    }

    private static func parameter(_ name: String, of header: String) -> String? {
        for part in header.split(separator: ";").dropFirst() {
            let pair = part.split(separator: "=", maxSplits: 1).map(\.trimmed)
            if pair.count == 2, pair[0].lowercased() == name {
                return pair[1].filter { $0 != "\"" && $0 != "'" }.trimmedOrNil
            }
        }
        return nil
    }

    /// RFC 8288, as far as it takes to find one relation.
    private static func nextLink(_ header: String, _ url: URL) -> URL? {
        for part in header.split(separator: "<").dropFirst() {
            let pieces = part.split(separator: ">", maxSplits: 1)
            guard pieces.count == 2, let relation = parameter("rel", of: "link" + pieces[1].replacing(",", with: ""))
            else {
                continue
            }
            if relation.lowercased().split(separator: " ").contains("next") {
                return URL(string: String(pieces[0]), relativeTo: url)?.absoluteURL
            }
        }
        return nil
    }
}
