import FerryTestSupport
import Foundation

/// Ceph's gateway on loopback with an empty bucket, as `make remote` starts one. The gateway ends with its standard input.
///
/// The credentials are in this process's environment, where Ferry looks for them.
final class GatewayProcess {
    private struct Address: Decodable {
        var endpoint, slowEndpoint, bucket, region, key, secret: String
    }

    private static let programs = ["radosgw", "ceph-mon", "ceph-osd"]
    private let server: ScriptServer
    private let address: Address

    /// The programs of a gateway that are not on this computer.
    static var missing: [String] {
        let folders = (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":")
        return programs.filter { program in
            !folders.contains { FileManager.default.isExecutableFile(atPath: "\($0)/\(program)") }
        }
    }

    init() throws {
        server = try ScriptServer("gateway.py")
        guard let address = try? JSONDecoder().decode(Address.self, from: Data(server.line)) else {
            throw BenchmarkError("the gateway does not start")  // the program says why
        }
        self.address = address
        setenv("AWS_ACCESS_KEY_ID", address.key, 1)
        setenv("AWS_SECRET_ACCESS_KEY", address.secret, 1)
    }

    /// The location of a container.
    /// - Parameter isSlow: over a line of 100 Mbit/s.
    func place(_ prefix: String, isSlow: Bool = false) -> String {
        let endpoint = isSlow ? address.slowEndpoint : address.endpoint
        return "s3://\(address.bucket)/\(prefix)?endpoint=\(endpoint)&region=\(address.region)"
    }

    func stop() { server.stop() }
}
