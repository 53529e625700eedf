import FerryCore
import FerryMerge
import Synchronization

/// An app's function that merges an older write and a newer concurrent write into a single value.
public typealias MergeHook = @Sendable (_ older: FieldValue, _ newer: FieldValue) -> FieldValue

/// The app's registered functions, by the names used in policies (`hook:NAME`).
package final class MergeHooks: Sendable {
    package init() {}

    private let functions = Mutex<[String: MergeHook]>([:])

    package subscript(name: String) -> MergeHook? { functions.withLock { $0[name] } }

    package var isEmpty: Bool { functions.withLock { $0.isEmpty } }

    package func register(_ name: String, _ function: @escaping MergeHook) {
        functions.withLock { $0[name] = function }
    }

    /// The function needed by a policy; `nil` if the policy needs none, or none is registered.
    package func function(for policy: ColumnPolicy) -> MergeHook? {
        if case .hook(let name) = policy { self[name] } else { nil }
    }
}
