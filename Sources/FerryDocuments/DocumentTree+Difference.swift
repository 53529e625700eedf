import FerryCore

/// The difference between two trees: the rows to write for the visible documents, and the news for watchers.
extension DocumentTree {
    package struct Difference: Hashable, Sendable {
        /// New and changed entries, by ascending ID.
        package var changed: [Entry] = []
        /// Documents gone altogether, by ascending ID.
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
