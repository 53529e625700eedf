import FerryCore

extension TrackedColumn {
    /// The parent key a value of this column refers to.
    @inlinable package func key(_ value: FieldValue) -> FieldValue {
        if case .integer = value, keyAffinity == .integer { return value }
        return value.taken(by: keyAffinity)
    }

    /// Converts a parent key to the value this column stores.
    @inlinable package func kept(_ key: FieldValue) -> FieldValue {
        if affinity == .integer, case .integer = key { return key }
        return key.taken(by: affinity)
    }
}
