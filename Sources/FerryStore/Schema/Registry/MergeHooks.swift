import FerryCore
import FerryMerge
import Synchronization

/// An app's function that merges an older write and a newer concurrent write into a single value.
public typealias MergeHook = @Sendable (_ older: FieldValue, _ newer: FieldValue) -> FieldValue

/// The app's registered functions, by the names used in policies (`hook:NAME`).
final class MergeHooks: Sendable {
    private let functions = Mutex<[String: MergeHook]>([:])

    subscript(name: String) -> MergeHook? { functions.withLock { $0[name] } }

    var isEmpty: Bool { functions.withLock { $0.isEmpty } }

    func register(_ name: String, _ function: @escaping MergeHook) { functions.withLock { $0[name] = function } }

    /// The function needed by a policy; `nil` if the policy needs none, or none is registered.
    func function(for policy: ColumnPolicy) -> MergeHook? {
        if case .hook(let name) = policy { self[name] } else { nil }
    }
}
