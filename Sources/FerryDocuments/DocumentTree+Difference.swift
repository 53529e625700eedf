import FerryCore

/// What is different between two trees: which rows of what is shown have to be written, and of what whoever watches is told.
extension DocumentTree {
    package struct Difference: Hashable, Sendable {
        /// Entries that are new or not as they were, by ascending ID.
        package var changed: [Entry] = []
        /// Documents that are gone altogether, by ascending ID.
        package var removed: [DocumentID] = []

        package init() {}
    }

    /// Compares with an earlier tree, in O(n).
    package func difference(from earlier: DocumentTree) -> Difference {
        var difference = Difference()
        var former = earlier.entries[...]
        for entry in entries {
            while let before = former.first, before.id < entry.id {
                difference.removed.append(before.id)
                former = former.dropFirst()
            }
            guard let before = former.first, before.id == entry.id else {
                difference.changed.append(entry)
                continue
            }
            if before != entry { difference.changed.append(entry) }
            former = former.dropFirst()
        }
        difference.removed += former.map(\.id)
        return difference
    }
}
