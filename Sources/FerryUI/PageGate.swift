import FerryCore

/// A secret in the printed address. The token is the permission to read, and to act where acts are allowed.
package struct AccessToken: Equatable, Sendable {
    package let text: String

    /// - Parameter random: the system's random numbers: 256 bits are taken.
    package init(_ random: any RandomSource) {
        text = (0..<4).map { _ in
            let digits = String(random.next(), radix: 16)
            return String(repeating: "0", count: 16 - digits.count) + digits
        }.joined()
    }

    /// Compares without telling by the time how much of a guess is right.
    func matches(_ guess: String) -> Bool {
        let (own, other) = (Array(text.utf8), Array(guess.utf8))
        guard own.count == other.count else { return false }
        return zip(own, other).reduce(0) { $0 | ($1.0 ^ $1.1) } == 0
    }
}

/// Decides whether a request comes from the page in the browser, and from a person with the printed address. A pure
/// function of the request.
///
/// - A page of a foreign site can send requests here, and the browser tells `Origin` and `Sec-Fetch-Site`.
/// - A name of a foreign site can lead to this computer (DNS rebinding), and the browser tells the name in `Host`.
/// - Further users of the computer can send anything, and do not know the token.
package struct PageGate: Sendable {
    /// The longest target, in bytes.
    package static let maximumTarget = 16_384
    /// The longest body, in bytes.
    package static let maximumBody = 65_536

    /// The values of `Host` for this page, in lower case.
    private let hosts: Set<String>
    /// The port, if any IP address of this computer may be named, because the page listens on all.
    private let anyAddressPort: UInt16?
    private let token: AccessToken

    /// - Parameter isEverywhere: true if the page listens on all addresses of the computer.
    package init(names: [String], port: UInt16, isEverywhere: Bool, token: AccessToken) {
        hosts = Set(names.map { "\($0.lowercased()):\(port)" } + (port == 80 ? names.map { $0.lowercased() } : []))
        anyAddressPort = isEverywhere ? port : nil
        self.token = token
    }

    /// The refusal of a request of any kind; `nil` if the request comes from the page.
    package func refusal(_ request: PageRequest) -> PageResponse? {
        if request.target.utf8.count > Self.maximumTarget {
            return .failure(414, .invalidArgument, "The address is too long.")
        }
        if request.has("transfer-encoding") || request.body.count > Self.maximumBody
            || (request.header("content-length").flatMap { Int($0) } ?? 0) > Self.maximumBody
        {
            return .failure(413, .invalidArgument, "The request is too long.")
        }
        guard let host = request.header("host")?.lowercased(), isOwn(host) else {
            return .failure(
                403, .accessDenied,
                "This page answers to its own address only. Open the address that `ferry ui` printed.")
        }
        if request.has("origin"), request.header("origin")?.lowercased() != "http://" + host {
            return .failure(403, .accessDenied, "Another site sent this request.")
        }
        if let site = request.header("sec-fetch-site"), site != "same-origin", site != "none",
            // A link of a foreign site may open the page, and the page shows nothing without the token.
            !(request.header("sec-fetch-mode") == "navigate" && request.method == "GET")
        {
            return .failure(403, .accessDenied, "Another site sent this request.")
        }
        return nil
    }

    /// The refusal of a request for data, or of an act; `nil` for a request with the token.
    package func refusalOfData(_ request: PageRequest) -> PageResponse? {
        let prefix = "Bearer "
        guard let header = request.header("authorization"), header.hasPrefix(prefix),
            token.matches(String(header.dropFirst(prefix.count)))
        else {
            return .failure(
                401, .accessDenied, "The token is missing or wrong. Open the address that `ferry ui` printed last.")
        }
        if request.method != "POST" { return nil }
        // A browser tells the origin of every act.
        guard request.has("origin") else {
            return .failure(403, .accessDenied, "The request does not say where it comes from.")
        }
        guard request.header("content-type")?.lowercased().hasPrefix("application/json") ?? false else {
            return .failure(415, .invalidArgument, "An act is sent as JSON.")
        }
        return nil
    }

    private func isOwn(_ host: String) -> Bool {
        if hosts.contains(host) { return true }
        guard let anyAddressPort, host.hasSuffix(":\(anyAddressPort)") else { return false }
        // No name of a foreign site is an address.
        return ListenAddress(String(host.dropLast("\(anyAddressPort)".count + 1))) != nil
    }
}
