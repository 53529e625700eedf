import Foundation
import Synchronization

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// `URLSession` as a function: a request and a file in, an answer out.
///
/// No cookies, no cache of its own, no redirects: those are followed where they can be counted and reported. Limits of
/// time are watched here, because what `URLSession` makes of them differs between systems.
final class HTTPClient: Sendable {
    private let session: URLSession
    private let transfers: Transfers

    init(maximumConnectionsPerHost: Int) {
        let configuration = URLSessionConfiguration.ephemeral
        configuration.urlCache = nil
        configuration.httpCookieStorage = nil
        configuration.httpShouldSetCookies = false
        configuration.requestCachePolicy = .reloadIgnoringLocalCacheData
        configuration.httpMaximumConnectionsPerHost = maximumConnectionsPerHost
        // The watch in `send` comes first.
        configuration.timeoutIntervalForRequest = 86400
        transfers = Transfers()
        session = URLSession(configuration: configuration, delegate: transfers, delegateQueue: nil)
    }

    deinit { session.invalidateAndCancel() }

    /// Sends a request and writes the body of a good answer to `file`.
    /// - Throws: `FeedError` and nothing else; `cancelled` if the task was.
    func send(
        _ request: URLRequest, to url: URL, into file: URL, limits: FetchLimits, maximumBytes: Int
    ) async throws -> HTTPTransfer.Answer {
        let transfer = HTTPTransfer(url: url, file: file, limits: limits, maximumBytes: maximumBytes)
        let task = session.dataTask(with: request)
        transfers.add(transfer, for: task)
        defer { transfers.remove(task) }
        let watch = Task {
            var left = transfer.checkTime()
            while left > .zero {
                // Once the answer begins, a nearer limit may be in force than when the sleep began.
                try await Task.sleep(for: min(left, .seconds(limits.idleSeconds)))
                left = transfer.checkTime()
            }
        }
        defer { watch.cancel() }
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { transfer.begin(task, $0) }
        } onCancel: {
            transfer.fail(.fetchCancelled)
        }
    }
}

/// Hands the session's events to the transfers that they are of.
private final class Transfers: NSObject, URLSessionDataDelegate, Sendable {
    private let byTask = Mutex<[Int: HTTPTransfer]>([:])

    func add(_ transfer: HTTPTransfer, for task: URLSessionTask) {
        byTask.withLock { $0[task.taskIdentifier] = transfer }
    }

    func remove(_ task: URLSessionTask) { byTask.withLock { $0[task.taskIdentifier] = nil } }

    private func transfer(_ task: URLSessionTask) -> HTTPTransfer? { byTask.withLock { $0[task.taskIdentifier] } }

    func urlSession(
        _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest request: URLRequest, completionHandler: @escaping (URLRequest?) -> Void
    ) { completionHandler(nil) }

    func urlSession(
        _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
        completionHandler: @escaping (URLSession.ResponseDisposition) -> Void
    ) {
        if let response = response as? HTTPURLResponse { transfer(dataTask)?.received(response) }
        completionHandler(.allow)
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        transfer(dataTask)?.received(data)
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        transfer(task)?.end(error)
    }
}

extension FeedError {
    static let fetchCancelled = FeedError(.cancelled, "fetching was cancelled; nothing was changed")

    /// What an error of `URLSession` means for a person.
    init(url: URL, error: any Error, hasAnswer: Bool, byteCount: Int) {
        let host = url.host() ?? "the server"
        let code =
            (error as NSError).domain == NSURLErrorDomain ? URLError.Code(rawValue: (error as NSError).code) : nil
        switch code {
        case .cannotFindHost?, .dnsLookupFailed?:
            self.init(.unknownHost, "\(host) cannot be found; check the address and the network")
        case .notConnectedToInternet?, .dataNotAllowed?, .internationalRoamingOff?:
            self.init(.unknownHost, "this computer is not connected to the network; \(host) is tried again later")
        case .secureConnectionFailed?, .serverCertificateHasBadDate?, .serverCertificateUntrusted?,
            .serverCertificateHasUnknownRoot?, .serverCertificateNotYetValid?, .clientCertificateRejected?,
            .clientCertificateRequired?, .appTransportSecurityRequiresSecureConnection?:
            self.init(.insecure, "\(host) offers no encrypted connection that can be trusted; check the address")
        case .cancelled?: self = .fetchCancelled
        case .timedOut?: self.init(.timedOut, "\(host) did not answer in time; it is tried again later")
        case .unsupportedURL?, .badURL?: self.init(.badAddress, "the address cannot be fetched; check it")
        case .cannotDecodeContentData?, .cannotDecodeRawData?:
            self.init(.server, "\(host) sent a body that cannot be decompressed; it is tried again later")
        case _ where hasAnswer:
            self.init(
                .connectionLost,
                "the connection to \(host) broke after \(byteCount.asByteCount) of the feed; it is tried again later")
        default: self.init(.cannotConnect, "\(host) does not answer at the address's port; it is tried again later")
        }
    }
}
