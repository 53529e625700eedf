import FerryCore

/// Makes a `DocumentTree`: leaves, places, visibility and names, in this order.
struct TreeBuilder {
    /// By ascending ID.
    private let documents: [DocumentRow]
    private let versions: [VersionRow]
    private let placeOf: [DocumentID: Int]
    /// As in `DocumentTree.init(documents:versions:outside:size:)`.
    private let outside: [DocumentID: DocumentTree.Entry]

    init(_ documents: [DocumentRow], _ versions: [VersionRow], outside: [DocumentID: DocumentTree.Entry]) {
        self.outside = outside
        self.documents = documents.sorted { $0.id < $1.id }
        self.versions = versions
        placeOf = Dictionary(
            self.documents.enumerated().map { ($0.element.id, $0.offset) }, uniquingKeysWith: { first, _ in first })
    }

    /// The documents, and the places of the shown documents by folder, the top first.
    func build(_ size: (ContentID) -> Int?) -> ([DocumentTree.Entry], Grouping) {
        let (folders, misplacements) = folders()
        var entries = documents.enumerated().map { place, row in
            // The versions of documents outside did not change.
            var entry = outside[row.id] ?? DocumentTree.Entry(id: row.id, kind: row.kind, name: row.name)
            entry.folder = folders[place].map { documents[$0].id }
            (entry.name, entry.isShown) = (row.name, false)
            entry.misplacement = misplacements[place]
            return entry
        }
        decideVersions(&entries, size)
        show(&entries, folders)
        let byFolder = Grouping(
            count: entries.count + 1,
            entries.indices.map { entries[$0].isShown ? (folders[$0] ?? -1) + 1 : nil })
        for group in 0...entries.count { name(&entries, byFolder[group]) }
        return (entries, byFolder)
    }

    /// The versions shown by documents, by rule 1.
    private func decideVersions(_ entries: inout [DocumentTree.Entry], _ size: (ContentID) -> Int?) {
        let byDocument = Grouping(count: documents.count, versions.map { placeOf[$0.document] })
        for place in documents.indices where outside[documents[place].id] == nil {
            let leaves = LeafPlaces(of: byDocument[place], in: versions)
            guard let current = leaves.current.map({ versions[$0] }) else { continue }
            entries[place].version = current.id
            entries[place].content = current.content
            entries[place].isDeleted = current.content == nil
            entries[place].size = current.content.flatMap(size)
            entries[place].modifiedMicroseconds = current.modifiedMicroseconds
            entries[place].rivals = leaves.rivals.map { versions[$0].id }
            entries[place].beatenDeletion = leaves.beatenDeletion.map { versions[$0].id }
        }
    }

    /// Shows documents without a deletion, and all folders around them: rule 2.
    private func show(_ entries: inout [DocumentTree.Entry], _ folders: [Int?]) {
        for place in entries.indices
        where !entries[place].isDeleted || outside[entries[place].id]?.isShown ?? false {
            var next: Int? = place
            while let shown = next, !entries[shown].isShown {
                entries[shown].isShown = true
                next = folders[shown]
            }
        }
    }

    /// The folder of each document, by place, once cycles are cut: rule 3.
    private func folders() -> ([Int?], [DocumentTree.Misplacement?]) {
        var folders = [Int?](repeating: nil, count: documents.count)
        var misplacements = [DocumentTree.Misplacement?](repeating: nil, count: documents.count)
        for (place, row) in documents.enumerated() {
            guard let folder = row.folder else { continue }
            if let found = placeOf[folder] {
                if documents[found].kind == .folder { folders[place] = found } else { misplacements[place] = .noFolder }
            } else if let entry = outside[row.id], entry.folder.map({ placeOf[$0] != nil }) ?? true {
                folders[place] = entry.folder.flatMap { placeOf[$0] }
                misplacements[place] = entry.misplacement
            } else {
                misplacements[place] = .noFolder
            }
        }
        // The first walk over each place. A walk back into itself has found a cycle.
        var walks = [Int](repeating: -1, count: documents.count)
        for start in documents.indices {
            var next: Int? = start
            while let place = next, walks[place] < 0 {
                walks[place] = start
                next = folders[place]
            }
            guard let first = next, walks[first] == start else { continue }
            let last = Self.last(of: first, folders, documents)
            folders[last] = nil
            misplacements[last] = .cycle
        }
        return (folders, misplacements)
    }

    /// The folder of a cycle with the latest move.
    private static func last(of first: Int, _ folders: [Int?], _ documents: [DocumentRow]) -> Int {
        var last = first
        var next = folders[first]
        while let place = next, place != first {
            if DocumentRow.isNamedBefore(documents[last], documents[place]) { last = place }
            next = folders[place]
        }
        return last
    }

    /// Gives the shown documents of a folder their names: rule 4.
    private func name(_ entries: inout [DocumentTree.Entry], _ places: ArraySlice<Int>) {
        for place in places { entries[place].name = DocumentName.shown(entries[place].name) }
        var seen: Set<String> = []
        if places.allSatisfy({ seen.insert(entries[$0].name).inserted }) { return }
        let order = places.sorted { DocumentRow.isNamedBefore(documents[$0], documents[$1]) }
        for (place, name) in zip(order, DocumentName.told(order.map { entries[$0].name })) {
            entries[place].name = name
        }
    }
}
