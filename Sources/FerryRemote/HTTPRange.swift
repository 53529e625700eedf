import FerryCore

/// Ranges of bytes over HTTP (RFC 9110, section 14).
enum HTTPRange {
    /// The longest object, in bytes, for a range cut out here, if a server sends the whole object.
    private static let maximumWholeBytes = ContentLimits.packBytes

    /// The header's value. The range is not empty.
    static func header(_ range: Range<Int>) -> String { "bytes=\(range.lowerBound)-\(range.upperBound - 1)" }

    /// The longest answer.
    static func maximumBytes(_ range: Range<Int>) -> Int { max(range.count, maximumWholeBytes) }

    /// The bytes in an answer; `nil` for an answer of a different kind.
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
