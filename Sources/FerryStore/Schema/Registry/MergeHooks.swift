import FerryCore
import FerryMerge
import Synchronization

/// A function of the app's that makes one value of two: of an older write and of a newer one that did not know of it.
public typealias MergeHook = MergeFunction

/// The functions that an app has registered, by the names under which policies (`hook:NAME`) mean them.
final class MergeHooks: Sendable {
    private let functions = Mutex<[String: MergeHook]>([:])

    subscript(name: String) -> MergeHook? { functions.withLock { $0[name] } }

    var isEmpty: Bool { functions.withLock { $0.isEmpty } }

    func register(_ name: String, _ function: @escaping MergeHook) { functions.withLock { $0[name] = function } }

    /// The function that a policy needs; `nil` where it needs none, or has none.
    func function(for policy: ColumnPolicy) -> MergeHook? {
        if case .hook(let name) = policy { self[name] } else { nil }
    }
}
