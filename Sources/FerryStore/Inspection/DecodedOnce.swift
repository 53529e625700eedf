import Foundation
import Synchronization

/// A text of JSON that is decoded at most once. A reading of a store lives as long as nothing changes, and each look asks for the same value.
package final class DecodedOnce: Sendable {
    package let text: String?
    private let known = Mutex<(any Sendable)?>(nil)

    init(_ text: String?) { self.text = text }

    /// The value; `nil` without a text, or for a text of another type.
    package func value<Value: Decodable & Sendable>(_ type: Value.Type) -> Value? {
        guard let text else { return nil }
        return known.withLock { known in
            if let value = known as? Value { return value }
            let value = try? JSONDecoder().decode(type, from: Data(text.utf8))  // the caller begins anew
            known = value
            return value
        }
    }
}
