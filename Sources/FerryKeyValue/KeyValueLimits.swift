import FerryCore

/// How much a `KeyValueStore` takes. Going beyond a limit is `limitExceeded`, names the limit and changes nothing.
///
/// Limits are checked on writing; other devices' values under larger limits are kept all the same.
public struct KeyValueLimits: Hashable, Sendable {
    /// The bytes of a key, of a set's name and of a counter's name, in UTF-8.
    public var keyBytes = 1024
    /// The bytes of a value. A file or a table of its own suits larger content better.
    public var valueBytes = 1 << 20
    /// The number of keys with values.
    public var keys = 100_000
    /// The bytes of a set's member, in UTF-8.
    public var memberBytes = 1024
    /// The number of members of a set.
    public var members = 1_000_000

    public init() {}

    func check(name: String) throws {
        if name.isEmpty { throw FerryError(.invalidArgument, "The name is empty. Give it at least one character.") }
        if name.utf8.count > keyBytes {
            throw exceeded("The name has \(name.utf8.count) bytes", "keyBytes", keyBytes, "Shorten it.")
        }
    }

    func check(value: FieldValue) throws {
        if value.byteCount > valueBytes {
            throw exceeded(
                "The value has \(value.byteCount) bytes", "valueBytes", valueBytes, "Keep it in a table of its own.")
        }
    }

    func check(member: String) throws {
        if member.utf8.count > memberBytes {
            throw exceeded("The member has \(member.utf8.count) bytes", "memberBytes", memberBytes, "Shorten it.")
        }
    }

    func check(keyCount: Int) throws {
        if keyCount > keys { throw exceeded("There would be \(keyCount) keys", "keys", keys, "Remove some first.") }
    }

    func check(memberCount: Int) throws {
        if memberCount > members {
            throw exceeded("The set would have \(memberCount) members", "members", members, "Discard some first.")
        }
    }

    private func exceeded(_ what: String, _ name: String, _ limit: Int, _ advice: String) -> FerryError {
        FerryError(.limitExceeded, "\(what); the limit \(name) is \(limit). \(advice)")
    }
}
