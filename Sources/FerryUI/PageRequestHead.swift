/// The first lines of a request, as sent (RFC 9112, "Message Format"). Pure and strict: only a plain request is
/// accepted.
package struct PageRequestHead: Equatable, Sendable {
    package var method: String
    package var target: String
    /// Values by name in lower case, in their order.
    package var headers: [String: [String]]

    /// The most bytes of a head. A browser sends 1 to 2 kB beside the target.
    package static let maximumBytes = PageGate.maximumTarget + 16_384
    /// The most headers.
    static let maximumHeaders = 100

    /// Where a head ends in the received bytes: behind the first empty line; `nil` without an empty line so far.
    /// - Parameter start: where to begin; everything before was searched already, but for the last three bytes.
    package static func end(in bytes: [UInt8], from start: Int) -> Int? {
        var place = max(start, 0)
        while place + 3 < bytes.count {
            if bytes[place] == 13, bytes[place + 1] == 10, bytes[place + 2] == 13, bytes[place + 3] == 10 {
                return place + 4
            }
            place += 1
        }
        return nil
    }

    /// Reads a head with the empty line; `nil` for bytes that are no head.
    package init?(_ bytes: some Collection<UInt8>) {
        // Addresses and headers of a browser are ASCII.
        guard bytes.allSatisfy({ $0 == 13 || $0 == 10 || $0 == 9 || 32..<127 ~= $0 }) else { return nil }
        var lines = String(decoding: bytes, as: UTF8.self).split(
            separator: "\r\n", maxSplits: Self.maximumHeaders + 3, omittingEmptySubsequences: false)
        guard lines.count >= 3, lines.count <= Self.maximumHeaders + 3, lines.popLast() == "", lines.popLast() == "",
            !lines.contains(where: { $0.contains(where: \.isNewline) })
        else { return nil }
        let words = lines[0].split(separator: " ", omittingEmptySubsequences: false)
        guard words.count == 3, words[2] == "HTTP/1.1" || words[2] == "HTTP/1.0", !words[0].isEmpty, !words[1].isEmpty,
            words[0].allSatisfy({ $0.isLetter && $0.isUppercase })
        else { return nil }
        (method, target) = (String(words[0]), String(words[1]))
        headers = [:]
        for line in lines.dropFirst() {
            guard let colon = line.firstIndex(of: ":"), colon > line.startIndex else { return nil }
            let name = line[..<colon]
            // A space before the colon, or a continued line, hides a header from some readers.
            guard name.allSatisfy({ $0.isLetter || $0.isNumber || "-_.!#$%&'*+^`|~".contains($0) }) else { return nil }
            let value = line[line.index(after: colon)...].drop { $0 == " " || $0 == "\t" }
            headers[name.lowercased(), default: []].append(String(value.trimmingSuffix { $0 == " " || $0 == "\t" }))
        }
    }

    /// The length of the body, in bytes; 0 without one, and `nil` if the length is not told plainly.
    package var bodyLength: Int? {
        if headers["transfer-encoding"] != nil { return nil }
        guard let values = headers["content-length"] else { return 0 }
        guard values.count == 1, let value = values.first, value.count <= 10,
            value.allSatisfy({ $0.isASCII && $0.isNumber })
        else { return nil }
        return Int(value)
    }
}

extension Substring {
    /// The text without the given characters at the end.
    fileprivate func trimmingSuffix(while isDropped: (Character) -> Bool) -> Substring {
        var end = endIndex
        while end > startIndex, isDropped(self[index(before: end)]) { end = index(before: end) }
        return self[..<end]
    }
}
