import Foundation

/// An access key, the secret, and the time until both may be used.
///
/// Nothing prints a secret: neither a description, nor a dump, nor an error.
public struct S3Credentials: Hashable, Sendable {
    /// The key's ID: no secret, but not shown either.
    let accessKey: String
    let secretKey: String
    /// The token of a session.
    let token: String?
    /// When the service ends them, in milliseconds since the Unix epoch; `nil`: nobody knows.
    let endMilliseconds: Int64?

    public init(accessKey: String, secretKey: String, token: String? = nil, endMilliseconds: Int64? = nil) {
        self.accessKey = accessKey
        self.secretKey = secretKey
        self.token = token
        self.endMilliseconds = endMilliseconds
    }

    /// Credentials are asked for anew so long before their end, in milliseconds.
    static let marginMilliseconds: Int64 = 300_000

    func isUsable(at now: Int64) -> Bool { endMilliseconds.map { now < $0 - Self.marginMilliseconds } ?? true }
}

extension S3Credentials: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    public var description: String { "credentials" }
    public var debugDescription: String { "credentials" }
    public var customMirror: Mirror { Mirror(self, children: [:]) }
}
