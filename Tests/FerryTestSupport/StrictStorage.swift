import Foundation

#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

/// The strict storage of `Tests/Remote/strict_storage.py` as a process on loopback. It ends with its standard input, however the test
/// ends.
public final class StrictStorage {
    public static let bucket = "music-bucket"
    public static let region = "eu-1"
    public static let key = "FERRYTESTKEY"
    public static let secret = "ferry/test+secret"

    public let port: Int
    private let server: ScriptServer

    public struct Problem: Error {
        public var text: String

        public init(text: String) { self.text = text }
    }

    public init(page: Int = 3) throws {
        server = try ScriptServer("strict_storage.py", ["--page", "\(page)"])
        guard let port = Int(String(decoding: server.line, as: UTF8.self)) else {
            throw Problem(text: "the storage does not start")
        }
        self.port = port
    }

    deinit { server.stop() }

    public var endpoint: String { "http://127.0.0.1:\(port)" }

    /// A container's place in the storage.
    public func place(_ prefix: String = "music", _ parameters: String = "") -> String {
        "s3://\(Self.bucket)/\(prefix)?endpoint=\(endpoint)&region=\(Self.region)\(parameters)"
    }

    /// The environment of a process that may use the storage.
    public var environment: [String: String] {
        ["AWS_ACCESS_KEY_ID": Self.key, "AWS_SECRET_ACCESS_KEY": Self.secret]
    }

    /// Changes how the storage behaves; as the script says.
    /// - Returns: the keys of all objects, how many requests there were, and the requests if they were asked for.
    @discardableResult
    public func control(_ order: [String: Any] = [:]) throws -> [String: Any] {
        let body = try JSONSerialization.data(withJSONObject: order)
        let head =
            "POST /_control HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\nContent-Length: \(body.count)\r\n\r\n"
        let answer = try exchange(Data(head.utf8) + body)
        guard let start = answer.range(of: Data("\r\n\r\n".utf8))?.upperBound,
            let object = try JSONSerialization.jsonObject(with: answer[start...]) as? [String: Any]
        else { throw Problem(text: "the storage gives no answer") }
        return object
    }

    public func count() throws -> Int { try control()["count"] as? Int ?? -1 }
    public func keys() throws -> [String] { try control()["keys"] as? [String] ?? [] }

    private func exchange(_ request: Data) throws -> Data {
        #if canImport(Glibc)
        let kind = Int32(SOCK_STREAM.rawValue)
        #else
        let kind = SOCK_STREAM
        #endif
        let descriptor = socket(AF_INET, kind, 0)
        defer { close(descriptor) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(port).bigEndian
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        let connected = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard connected == 0 else { throw Problem(text: "the storage does not listen") }
        let handle = FileHandle(fileDescriptor: descriptor, closeOnDealloc: false)
        try handle.write(contentsOf: request)
        return try handle.readToEnd() ?? Data()
    }
}
