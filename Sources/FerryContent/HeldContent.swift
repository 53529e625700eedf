import FerryContainer

/// Keeps the file of a whole content while somebody in this process reads the file by its path. Nobody in this process evicts it meanwhile.
package final class HeldContent: Sendable {
    package let path: String
    /// How many hold each file.
    private static let holders = Locked<[String: Int]>([:])

    package init(path: String) {
        self.path = path
        Self.holders.withLock { $0[path, default: 0] += 1 }
    }

    deinit {
        Self.holders.withLock { [path] holders in
            let count = (holders[path] ?? 1) - 1
            holders[path] = count > 0 ? count : nil
        }
    }

    package static func isHeld(_ path: String) -> Bool { holders.withLock { $0[path] != nil } }

    /// Runs `body`, which removes a file, unless somebody holds the file. Whoever holds it later finds it gone.
    /// - Returns: false if somebody holds the file.
    static func unlessHeld(_ path: String, _ body: () throws -> Bool) rethrows -> Bool {
        try holders.withLock { try $0[path] == nil && body() }
    }
}
