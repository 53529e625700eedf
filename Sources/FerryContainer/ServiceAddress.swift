import FerryCore

/// The address of an HTTP service: scheme, host and port, and nothing else.
package struct ServiceAddress: Hashable, Sendable {
    /// True for HTTPS.
    package let isSecure: Bool
    /// The host in lower case; an address of version 6 in brackets.
    package let host: String
    /// `nil` for the scheme's own port.
    package let port: Int?

    package init(isSecure: Bool, host: String, port: Int? = nil) {
        self.isSecure = isSecure
        self.host = host
        self.port = port
    }

    /// Reads `https://objects.example.net:9000`. A slash at the end is allowed.
    /// - Throws: `invalidArgument`, without repeating the text: it may hold a password.
    package init(_ text: String) throws(FerryError) {
        let lower = text.lowercased()
        let rest: Substring
        if lower.hasPrefix("https://") {
            isSecure = true
            rest = lower.dropFirst(8)
        } else if lower.hasPrefix("http://") {
            isSecure = false
            rest = lower.dropFirst(7)
        } else {
            throw Self.refused
        }
        var authority = rest
        if authority.last == "/" { authority.removeLast() }
        guard !authority.contains("@") else {
            throw ContainerLocation.refused(
                "An endpoint holds no password. Name the host alone: https://objects.example.net")
        }
        var host = authority
        var port: Int?
        let isBracketed = authority.first == "["
        if let colon = authority.lastIndex(of: ":"), !isBracketed || authority[..<colon].last == "]" {
            let digits = authority[authority.index(after: colon)...]
            guard digits.first?.isNumber ?? false, let number = Int(digits), (1...65_535).contains(number) else {
                throw Self.refused
            }
            (host, port) = (authority[..<colon], number)
        }
        guard Self.isHost(host) else { throw Self.refused }
        self.host = String(host)
        self.port = port == (isSecure ? 443 : 80) ? nil : port
    }

    private static var refused: FerryError {
        ContainerLocation.refused("An endpoint is an address such as https://objects.example.net:9000, without a path.")
    }

    private static func isHost(_ host: Substring) -> Bool {
        if host.first == "[" {
            return host.last == "]" && host.count > 3
                && host.dropFirst().dropLast().allSatisfy { $0.isASCII && ($0.isHexDigit || ":.".contains($0)) }
        }
        let labels = host.split(separator: ".", omittingEmptySubsequences: false)
        return (1...253).contains(host.utf8.count)
            && labels.allSatisfy { label in
                (1...63).contains(label.utf8.count) && label.first != "-" && label.last != "-"
                    && label.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || "-_".contains($0)) }
            }
    }

    /// Host and port as a request names them.
    package var authority: String { port.map { "\(host):\($0)" } ?? host }

    /// The address as one text that reads as the same address.
    package var text: String { (isSecure ? "https://" : "http://") + authority }

    /// True for this computer, and for addresses of private networks: nobody else is on the way.
    package var isPrivate: Bool {
        if host == "localhost" || host.hasSuffix(".localhost") { return true }
        if host.first == "[" {
            let address = host.dropFirst().dropLast()
            return address == "::1" || ["fc", "fd", "fe8", "fe9", "fea", "feb"].contains { address.hasPrefix($0) }
        }
        let parts = host.split(separator: ".", omittingEmptySubsequences: false).map { Int($0) }
        guard parts.count == 4, case let numbers = parts.compactMap({ $0 }), numbers.count == 4,
            numbers.allSatisfy({ (0...255).contains($0) })
        else { return false }
        switch (numbers[0], numbers[1]) {
        case (127, _), (10, _), (192, 168), (169, 254), (172, 16...31): return true
        default: return false
        }
    }
}
