import Foundation

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif
#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

/// A real HTTP server on loopback, in a process of its own, that serves what a test tells it to.
///
/// It needs `python3` and nothing else. It ends with `stop`, with this process, and when the value goes away.
public final class FeedTestServer: @unchecked Sendable {  // because nothing changes after `init`
    /// There is no `python3`: a test says that it was skipped.
    public struct NoPython: Error, CustomStringConvertible {
        public let description = "python3 is not on this computer; the tests of fetching need it for their server"
    }

    public struct Failure: Error, CustomStringConvertible {
        public let description: String
    }

    public let port: Int
    private let process: Process
    private let input: Pipe
    private let session = URLSession(configuration: .ephemeral)

    public init() throws {
        guard let python = Self.python() else { throw NoPython() }
        process = Process()
        process.executableURL = python
        let script = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent("server.py")
        process.arguments = ["-B", script.path]
        input = Pipe()
        let output = Pipe()
        process.standardInput = input
        process.standardOutput = output
        try process.run()
        // The port is the first line; the server prints nothing after it.
        var line = Data()
        while !line.contains(0x0A) {
            let piece = output.fileHandleForReading.availableData
            if piece.isEmpty { break }
            line += piece
        }
        guard let port = Int(String(decoding: line, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines))
        else {
            kill(process.processIdentifier, SIGKILL)
            throw Failure(description: "the server did not print its port")
        }
        self.port = port
    }

    deinit { stop() }

    /// Ends the process and waits for it.
    ///
    /// With a signal that cannot be blocked: a process that a test starts on a thread of Swift's concurrency inherits
    /// that thread's signal mask, and never sees SIGTERM.
    public func stop() {
        guard process.isRunning else { return }
        kill(process.processIdentifier, SIGKILL)
        process.waitUntilExit()
        session.invalidateAndCancel()
    }

    /// - Parameter host: another name of loopback, for tests of what is done per host.
    public func url(_ path: String, host: String = "127.0.0.1") throws -> URL {
        guard let url = URL(string: "http://\(host):\(port)\(path)") else { throw Failure(description: path) }
        return url
    }

    // MARK: Telling it what to serve

    /// Serves these at the path: the first to the first request, and so on; the last to all that follow.
    public func serve(_ path: String, _ routes: Route...) async throws {
        let body = try JSONEncoder().encode(routes)
        _ = try await control("PUT", "/_route", path, body: body)
    }

    /// The requests of the path so far, control requests not among them.
    public func requests(_ path: String) async throws -> [SeenRequest] {
        try JSONDecoder().decode([SeenRequest].self, from: try await control("GET", "/_requests", path))
    }

    /// Waits until so many requests of the path are held.
    public func waitUntilHeld(_ path: String, count: Int = 1) async throws {
        let data = try await control("GET", "/_held", path, more: "&count=\(count)")
        guard String(decoding: data, as: UTF8.self) == "true" else {
            throw Failure(description: "no request of \(path) came within the server's patience")
        }
    }

    /// Lets the held requests of the path go on, and all later ones.
    public func release(_ path: String) async throws { _ = try await control("POST", "/_release", path) }

    /// The most requests that were being answered at the same time: in all, and by the `Host` header.
    public func peak() async throws -> (all: Int, hosts: [String: Int]) {
        struct Peak: Decodable {
            var all: Int
            var hosts: [String: Int]
        }
        let peak = try JSONDecoder().decode(Peak.self, from: try await control("GET", "/_peak", ""))
        return (peak.all, peak.hosts)
    }

    private func control(
        _ method: String, _ command: String, _ path: String, more: String = "", body: Data? = nil
    ) async throws -> Data {
        let escaped = path.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? path
        var request = URLRequest(url: try url("\(command)?path=\(escaped)\(more)"))
        request.httpMethod = method
        request.httpBody = body
        return try await session.data(for: request).0
    }

    private static func python() -> URL? {
        let folders = ProcessInfo.processInfo.environment["PATH"]?.split(separator: ":") ?? []
        return folders.map { URL(fileURLWithPath: String($0)).appendingPathComponent("python3") }
            .first { FileManager.default.isExecutableFile(atPath: $0.path) }
    }
}
