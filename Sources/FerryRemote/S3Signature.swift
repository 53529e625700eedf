import Crypto
import FerryContainer
import Foundation

/// The signature of a request to an S3-compatible storage: AWS Signature Version 4, in a header, over the whole body.
/// Source: "Authenticating Requests: Using the Authorization Header" in the Amazon S3 API reference.
struct S3Signature {
    let credentials: S3Credentials
    let region: String
    /// `20130524T000000Z`.
    let timestamp: String

    init(_ credentials: S3Credentials, region: String, milliseconds: Int64) {
        self.credentials = credentials
        self.region = region
        timestamp = Self.timestamp(milliseconds)
    }

    /// The content of a signature.
    struct Signed {
        var method: String
        /// Encoded once.
        var path: String
        /// Not encoded, in any order.
        var query: [(name: String, value: String)] = []
        /// Names in lower case, in any order. `host` must be among them.
        var headers: [(name: String, value: String)]
        /// The SHA-256 of the body in hexadecimal digits.
        var bodyHash: String
    }

    private static let service = "s3"
    private static let algorithm = "AWS4-HMAC-SHA256"

    private var day: String { String(timestamp.prefix(8)) }
    private var scope: String { "\(day)/\(region)/\(Self.service)/aws4_request" }

    /// The value of the header `Authorization`.
    func authorization(_ signed: Signed) -> String {
        let headers = signed.headers.sorted { $0.name < $1.name }
        let names = headers.map(\.name).joined(separator: ";")
        let request = [
            signed.method, signed.path, Self.canonicalQuery(signed.query),
            headers.map { "\($0.name):\(Self.trimmed($0.value))\n" }.joined(), names, signed.bodyHash,
        ].joined(separator: "\n")
        let text = [Self.algorithm, timestamp, scope, Self.hash(Array(request.utf8))].joined(separator: "\n")
        var key = SymmetricKey(data: Array("AWS4\(credentials.secretKey)".utf8))
        for part in [day, region, Self.service, "aws4_request"] {
            key = SymmetricKey(data: HMAC<SHA256>.authenticationCode(for: Array(part.utf8), using: key))
        }
        let signature = HMAC<SHA256>.authenticationCode(for: Array(text.utf8), using: key)
        return "\(Self.algorithm) Credential=\(credentials.accessKey)/\(scope),SignedHeaders=\(names),Signature="
            + Self.hex(signature)
    }

    /// The query as signed and sent: encoded, and in the order of encoded names.
    static func canonicalQuery(_ query: [(name: String, value: String)]) -> String {
        query.map { (PercentEncoding.encode($0.name), PercentEncoding.encode($0.value)) }
            .sorted { ($0.0, $0.1) < ($1.0, $1.1) }.map { "\($0.0)=\($0.1)" }.joined(separator: "&")
    }

    static func hash(_ bytes: [UInt8]) -> String { hex(SHA256.hash(data: bytes)) }

    private static func hex(_ bytes: some Sequence<UInt8>) -> String {
        let digits = Array("0123456789abcdef".utf8)
        return String(decoding: bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
    }

    /// The text without white space at the ends, and with a single space for several.
    private static func trimmed(_ value: String) -> String {
        value.split(separator: " ").joined(separator: " ")
    }

    /// A time in the form for signatures, in UTC.
    static func timestamp(_ milliseconds: Int64) -> String {
        let date = HTTPDate.parts(milliseconds)
        func two(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
        return "\(date.year)\(two(date.month))\(two(date.day))T\(two(date.hour))\(two(date.minute))\(two(date.second))Z"
    }
}
