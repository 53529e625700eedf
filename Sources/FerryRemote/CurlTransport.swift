import CFerryCurl
import FerryContainer

/// HTTP by libcurl: kept connections, TLS always verified, ten seconds to connect, thirty without a byte. The first
/// request loads libcurl, so a computer without libcurl runs everything without requests to a server.
///
/// Invariant: a handle is used by one thread at a time, and an unused handle lies in `handles`.
package final class CurlTransport: HTTPTransport {
    private let handles = Locked<[Handle]>([])
    private let authorityFile: String?
    private let interruptions = Locked(0)
    /// Loads libcurl, once for the process. `nil`, or why there is none.
    private static let obstacle: HTTPFailure? = {
        if let reason = ferry_curl_load() { return HTTPFailure(.missingLibrary, String(cString: reason)) }
        guard ferry_curl_global_init(3) == CURLE_OK else {  // CURL_GLOBAL_ALL
            return HTTPFailure(.impossible, "libcurl cannot be used")
        }
        return nil
    }()

    /// `@unchecked Sendable` because only the thread that took a handle out of `handles` uses the handle.
    private struct Handle: @unchecked Sendable {
        let pointer: UnsafeMutableRawPointer

        init?() {
            guard let pointer = ferry_curl_easy_init() else { return nil }
            self.pointer = pointer
        }
    }

    /// - Parameter authorityFile: a file with the certificates of authorities to trust; `nil`: the system's.
    package init(authorityFile: String? = nil) { self.authorityFile = authorityFile }

    deinit {
        for handle in handles.withLock({ $0 }) { ferry_curl_easy_cleanup(handle.pointer) }
    }

    package func perform(_ request: HTTPRequest, maximumBytes: Int) throws(HTTPFailure) -> HTTPResponse {
        if let obstacle = Self.obstacle { throw obstacle }
        guard let handle = handles.withLock({ $0.popLast() }) ?? Handle() else {
            throw HTTPFailure(.impossible, "libcurl cannot be used")
        }
        defer { handles.withLock { $0.append(handle) } }
        ferry_curl_easy_reset(handle.pointer)
        let start = interruptions.withLock { $0 }
        let exchange = Exchange(handle.pointer, maximumBytes) { [interruptions] in
            interruptions.withLock { $0 } != start
        }
        return try exchange.run(request, authorityFile)
    }

    package func interrupt() { interruptions.withLock { $0 += 1 } }
}

/// A single request with the answer. The callbacks of libcurl get the exchange as their context.
private final class Exchange {
    private static let connectMilliseconds = 10_000
    private static let maximumHeaderBytes = 64 * 1024

    private let handle: UnsafeMutableRawPointer
    private let maximumBytes: Int
    private var body: [UInt8] = []
    private var headers: [String: String] = [:]
    private var headerBytes = 0
    private var isTooLong = false
    private let isInterrupted: () -> Bool

    init(_ handle: UnsafeMutableRawPointer, _ maximumBytes: Int, isInterrupted: @escaping () -> Bool) {
        self.handle = handle
        self.maximumBytes = maximumBytes
        self.isInterrupted = isInterrupted
    }

    func run(_ request: HTTPRequest, _ authorityFile: String?) throws(HTTPFailure) -> HTTPResponse {
        var list: UnsafeMutablePointer<curl_slist>?
        defer { ferry_curl_slist_free_all(list) }
        // libcurl would add these headers by itself, unsigned.
        for line in request.headers.map({ "\($0.name): \($0.value)" }) + ["Expect:", "Accept:"] {
            guard let longer = ferry_curl_slist_append(list, line) else {
                throw HTTPFailure(.impossible, "there is no memory")
            }
            list = longer
        }
        set(CURLOPT_NOSIGNAL, 1)
        set(CURLOPT_HTTP_VERSION, Int(CURL_HTTP_VERSION_1_1))
        set(CURLOPT_PATH_AS_IS, 1)
        set(CURLOPT_FOLLOWLOCATION, 0)
        set(CURLOPT_CONNECTTIMEOUT_MS, Self.connectMilliseconds)
        set(CURLOPT_LOW_SPEED_LIMIT, 1)
        set(CURLOPT_LOW_SPEED_TIME, request.silenceSeconds)
        set(CURLOPT_SSL_VERIFYPEER, 1)
        set(CURLOPT_SSL_VERIFYHOST, 2)
        set(CURLOPT_TCP_NODELAY, 1)
        _ = ferry_curl_set_pointer(handle, CURLOPT_HTTPHEADER, list)
        let context = Unmanaged.passUnretained(self).toOpaque()
        _ = ferry_curl_set_data(handle, CURLOPT_WRITEFUNCTION) { bytes, size, count, context in
            Exchange.from(context)?.take(bytes, size * count) ?? 0
        }
        _ = ferry_curl_set_pointer(handle, CURLOPT_WRITEDATA, context)
        _ = ferry_curl_set_data(handle, CURLOPT_HEADERFUNCTION) { bytes, size, count, context in
            Exchange.from(context)?.takeHeader(bytes, size * count) ?? 0
        }
        _ = ferry_curl_set_pointer(handle, CURLOPT_HEADERDATA, context)
        _ = ferry_curl_set_progress(
            handle, { context, _, _, _, _ in context.flatMap(Exchange.from)?.isInterrupted() ?? false ? 1 : 0 }, context
        )
        let result = withExtendedLifetime(self) {
            request.url.withCString { url in
                request.method.withCString { method in
                    (authorityFile ?? "").withCString { authority in
                        _ = ferry_curl_set_pointer(handle, CURLOPT_URL, url)
                        if authorityFile != nil { _ = ferry_curl_set_pointer(handle, CURLOPT_CAINFO, authority) }
                        return send(request.body, method)
                    }
                }
            }
        }
        if isTooLong { throw HTTPFailure(.tooLong, "the answer is longer than \(maximumBytes) bytes") }
        guard result == CURLE_OK else { throw Self.failure(result) }
        var status = 0
        _ = ferry_curl_get_number(handle, CURLINFO_RESPONSE_CODE, &status)
        return HTTPResponse(status: status, headers: headers, body: body)
    }

    private func send(_ body: [UInt8]?, _ method: UnsafePointer<CChar>) -> CURLcode {
        _ = ferry_curl_set_pointer(handle, CURLOPT_CUSTOMREQUEST, method)
        guard let body else {
            return ferry_curl_easy_perform(handle)
        }
        return body.withUnsafeBytes { bytes in
            set(CURLOPT_POST, 1)
            _ = ferry_curl_set_size(handle, CURLOPT_POSTFIELDSIZE_LARGE, curl_off_t(bytes.count))
            guard let base = bytes.baseAddress else {
                // Without an address libcurl would ask a callback for the body, also for a body of no bytes.
                return "".withCString { empty in
                    _ = ferry_curl_set_pointer(handle, CURLOPT_POSTFIELDS, empty)
                    return ferry_curl_easy_perform(handle)
                }
            }
            _ = ferry_curl_set_pointer(handle, CURLOPT_POSTFIELDS, base)
            return ferry_curl_easy_perform(handle)
        }
    }

    private func set(_ option: CURLoption, _ value: Int) { _ = ferry_curl_set_number(handle, option, value) }

    // MARK: Callbacks

    private static func from(_ context: UnsafeMutableRawPointer?) -> Exchange? {
        // libcurl hands back the pointer from `run`, and `run` still holds the exchange.
        context.map { Unmanaged<Exchange>.fromOpaque($0).takeUnretainedValue() }
    }

    /// - Returns: the number of bytes taken; any further number ends the request.
    private func take(_ bytes: UnsafeMutablePointer<CChar>?, _ count: Int) -> Int {
        guard let bytes, count > 0 else { return 0 }
        guard body.count + count <= maximumBytes else {
            isTooLong = true
            return 0
        }
        body.append(contentsOf: UnsafeRawBufferPointer(start: bytes, count: count))
        return count
    }

    private func takeHeader(_ bytes: UnsafeMutablePointer<CChar>?, _ count: Int) -> Int {
        headerBytes += count
        guard let bytes, count > 0, headerBytes <= Self.maximumHeaderBytes else { return 0 }
        let line = String(decoding: UnsafeRawBufferPointer(start: bytes, count: count), as: UTF8.self)
        if line.hasPrefix("HTTP/") {
            // An interim answer's headers are not the answer's.
            headers = [:]
            return count
        }
        guard let colon = line.firstIndex(of: ":") else { return count }
        let value = line[line.index(after: colon)...].drop { $0 == " " || $0 == "\t" }
        let end = value.lastIndex { !$0.isWhitespace && !$0.isNewline }
        headers[line[..<colon].lowercased()] = end.map { String(value[...$0]) } ?? ""
        return count
    }

    private static func failure(_ code: CURLcode) -> HTTPFailure {
        switch code {
        case CURLE_COULDNT_RESOLVE_HOST, CURLE_COULDNT_RESOLVE_PROXY:
            return HTTPFailure(.unreachable, "no address for that name")
        case CURLE_COULDNT_CONNECT: return HTTPFailure(.unreachable, "nobody answers there")
        case CURLE_ABORTED_BY_CALLBACK: return HTTPFailure(.interrupted, "it was ended")
        case CURLE_OPERATION_TIMEDOUT: return HTTPFailure(.silent, "no answer in time")
        case CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_CACERT_BADFILE, CURLE_SSL_ISSUER_ERROR:
            return HTTPFailure(.certificate, String(cString: ferry_curl_easy_strerror(code)))
        case CURLE_URL_MALFORMAT, CURLE_UNSUPPORTED_PROTOCOL, CURLE_OUT_OF_MEMORY:
            return HTTPFailure(.impossible, String(cString: ferry_curl_easy_strerror(code)))
        default: return HTTPFailure(.unreachable, String(cString: ferry_curl_easy_strerror(code)))
        }
    }
}
