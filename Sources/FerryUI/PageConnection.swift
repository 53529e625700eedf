import FerryCore
import FlyingSocks
import Foundation

#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

/// A connection of a browser: a request, an answer, and the end. Every read has a limit and a deadline.
struct PageConnection: Sendable {
    /// How long a request may take to arrive.
    private static let requestTime = Duration.seconds(10)
    /// How long a browser may take to accept an answer.
    private static let answerTime = Duration.seconds(60)
    /// The time and the bytes for reading after an answer, so the answer reaches a browser in the middle of sending.
    private static let lingerTime = Duration.seconds(1)
    private static let lingerBytes = 1 << 20

    private let socket: AsyncSocket

    init(_ socket: AsyncSocket) { self.socket = socket }

    /// Serves the request, and closes the connection.
    func serve(_ site: PageSite) async {
        do {
            switch try await Self.within(Self.requestTime, { try await request() }) {
            case .request(let request): try await send(site.respond(to: request))
            case .refusal(let answer): try await send(answer)
            }
            await linger()
        } catch {
            // The browser has gone, or sent no whole request in time. Nobody is there for an answer.
        }
        try? socket.close()  // nothing is left to send
    }

    // MARK: Requests

    private enum Received {
        case request(PageRequest)
        case refusal(PageResponse)
    }

    private func request() async throws -> Received {
        var bytes: [UInt8] = []
        var end: Int?
        while end == nil {
            let searched = bytes.count - 3
            bytes += try await socket.read(atMost: 4096)
            end = PageRequestHead.end(in: bytes, from: searched)
            if end == nil, bytes.count > PageRequestHead.maximumBytes {
                return .refusal(.failure(414, .invalidArgument, "The address is too long."))
            }
        }
        guard let end, let head = PageRequestHead(bytes[..<end]) else {
            return .refusal(.failure(400, .invalidArgument, "That is no request."))
        }
        guard let length = head.bodyLength, length <= PageGate.maximumBody else {
            return .refusal(.failure(413, .invalidArgument, "The request is too long, or does not say how long it is."))
        }
        var body = bytes[end...].prefix(length)
        while body.count < length { body += try await socket.read(atMost: min(length - body.count, 4096)) }
        return .request(
            PageRequest(method: head.method, target: head.target, headers: head.headers, body: Data(body)))
    }

    // MARK: Answers

    private func send(_ answer: PageResponse) async throws {
        var lines = ["HTTP/1.1 \(answer.status) \(Self.phrases[answer.status] ?? "Refused")"]
        lines += (PageResponse.protection + answer.headers).map { "\($0.name): \($0.value)" }
        lines += ["Content-Type: \(answer.contentType)", "Connection: close"]
        switch answer.body {
        case .data(let data):
            lines.append("Content-Length: \(data.count)")
            let head = Data((lines.joined(separator: "\r\n") + "\r\n\r\n").utf8)
            try await Self.within(Self.answerTime) { try await socket.write(head + data) }
        case .events(let events):
            // The end of the connection is the end of the events.
            let head = Data((lines.joined(separator: "\r\n") + "\r\n\r\n").utf8)
            try await Self.within(Self.answerTime) { try await socket.write(head) }
            for await event in events {
                try await Self.within(Self.answerTime) { try await socket.write(Data(event)) }
            }
        }
    }

    /// Ends the sending side, and reads the rest of the browser's bytes.
    private func linger() async {
        shutdown(socket.socket.file.rawValue, Int32(SHUT_WR))
        // The browser has the answer by now, whatever happens.
        try? await Self.within(Self.lingerTime) {
            var count = 0
            while count < Self.lingerBytes { count += try await socket.read(atMost: 4096).count }
        }
    }

    private static let phrases: [Int: String] = [
        200: "OK", 400: "Bad Request", 401: "Unauthorized", 403: "Forbidden", 404: "Not Found",
        405: "Method Not Allowed", 409: "Conflict", 410: "Gone", 413: "Content Too Large", 414: "URI Too Long",
        415: "Unsupported Media Type", 500: "Internal Server Error", 503: "Service Unavailable",
    ]

    // MARK: Deadlines

    private struct TooLate: Error {}

    /// Runs `body`, and cancels `body` at the end of the time.
    private static func within<Value: Sendable>(
        _ time: Duration, _ body: @escaping @Sendable () async throws -> Value
    ) async throws -> Value {
        try await withThrowingTaskGroup(of: Value?.self) { group in
            group.addTask { try await body() }
            group.addTask {
                try await Task.sleep(for: time)
                return nil
            }
            defer { group.cancelAll() }
            guard let value = try await group.next() ?? nil else { throw TooLate() }
            return value
        }
    }
}
