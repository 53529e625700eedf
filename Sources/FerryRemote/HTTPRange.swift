import FerryCore

/// Ranges of bytes over HTTP (RFC 9110, section 14).
enum HTTPRange {
    /// The longest object whose range is taken out of it here, where a server sends the whole, in bytes.
    private static let maximumWholeBytes = ContentLimits.packBytes

    /// The header's value. The range is not empty.
    static func header(_ range: Range<Int>) -> String { "bytes=\(range.lowerBound)-\(range.upperBound - 1)" }

    /// The longest answer.
    static func maximumBytes(_ range: Range<Int>) -> Int { max(range.count, maximumWholeBytes) }

    /// The bytes that an answer gives; `nil` where it is no such answer.
    static func bytes(of response: HTTPResponse, _ range: Range<Int>) -> [UInt8]? {
        switch response.status {
        case 206: Array(response.body.prefix(range.count))
        // The server knows no ranges.
        case 200: Array(response.body[range.clamped(to: 0..<response.body.count)])
        // The object ends before the range.
        case 416: []
        default: nil
        }
    }
}
