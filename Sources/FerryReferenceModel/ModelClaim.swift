import FerryCore

/// A UNIQUE value, or a key, that an object wants for its row.
package struct ModelClaim: Hashable {
    package var table: Int
    /// The UNIQUE index's position; -1 is the key, and -2 a unification that is given.
    package var index: Int
    package var terms: [FieldValue]

    package init(table: Int, index: Int, terms: [FieldValue]) {
        self.table = table
        self.index = index
        self.terms = terms
    }
}

/// The claims that a computation of rows met. Not thread-safe.
package final class ClaimList {
    package private(set) var claims: Set<ModelClaim> = []

    package init() {}

    func add(_ claims: [ModelClaim]) { self.claims.formUnion(claims) }
}
