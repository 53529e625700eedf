#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

/// An IP address for the page's server to listen on.
package struct ListenAddress: Equatable, Sendable {
    package enum Kind: Sendable {
        case ip4
        case ip6
    }

    package let text: String
    package let kind: Kind

    /// `127.0.0.1`.
    package static let loopback = ListenAddress(text: "127.0.0.1", kind: .ip4)

    private init(text: String, kind: Kind) {
        self.text = text
        self.kind = kind
    }

    /// Reads a numeric address, of version 6 with or without brackets; `nil` for any further text.
    package init?(_ text: String) {
        let bare = text.hasPrefix("[") && text.hasSuffix("]") ? String(text.dropFirst().dropLast()) : text
        var four = in_addr()
        var six = in6_addr()
        if bare == text, inet_pton(AF_INET, bare, &four) == 1 {
            self.init(text: bare, kind: .ip4)
        } else if inet_pton(AF_INET6, bare, &six) == 1 {
            self.init(text: bare.lowercased(), kind: .ip6)
        } else {
            return nil
        }
    }

    /// True if nobody but this computer reaches the address.
    package var isLoopback: Bool { kind == .ip4 ? text.hasPrefix("127.") : text == "::1" }

    /// True for all addresses of the computer.
    package var isEverywhere: Bool { text == "0.0.0.0" || text == "::" }

    /// The address in the form for a URL.
    package var host: String { kind == .ip4 ? text : "[\(text)]" }
}
