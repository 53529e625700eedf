import FerryCore

/// What is shown: a pure function of the tables (Docs/DocumentRules.md). It takes O(n log n) for n rows, and does not depend on their order.
///
/// Invariants:
/// - Every document that has a leaf with content is shown, and so are all folders around it.
/// - Two shown documents of one folder have names that differ in composed form, and every shown name may stand in a path.
/// - Folders never lie below themselves.
package struct DocumentTree: Sendable {
    /// Why a document is shown at the top, and not where its row says.
    package enum Misplacement: Hashable, Sendable {
        /// Folders were moved below each other, and this one was moved last.
        case cycle
        /// The folder's row is missing, or is no folder's.
        case noFolder
    }

    /// A document as it is shown, or as it lies in the trash.
    package struct Entry: Hashable, Sendable {
        package let id: DocumentID
        package let kind: DocumentKind
        /// The folder in which the document is shown; `nil` at the top.
        package internal(set) var folder: DocumentID?
        /// The name under which the document is shown. In the trash: the row's name.
        package internal(set) var name: String
        /// False for what lies in the trash. A deleted folder is shown as long as something below it is.
        package internal(set) var isShown = false
        /// True if all leaves are deletions, or there is no leaf.
        package internal(set) var isDeleted = true
        /// The version that is shown; of a deleted document, the deletion. `nil` without a leaf.
        package internal(set) var version: VersionID?
        /// The content of that version.
        package internal(set) var content: ContentID?
        /// The bytes of that content, where its size is known.
        package internal(set) var size: Int?
        package internal(set) var modifiedMicroseconds: Int64?
        /// The versions beside that one, the latest first. Not empty: the document has a conflict.
        package internal(set) var rivals: [VersionID] = []
        /// A deletion by somebody who did not know of the version that is shown.
        package internal(set) var beatenDeletion: VersionID?
        package internal(set) var misplacement: Misplacement?
    }

    /// All documents, by ascending ID.
    package let entries: [Entry]
    /// Places in `entries` by folder: those of the top, then those of each folder in the order of `entries`.
    private let byFolder: Grouping

    /// - Parameters:
    ///   - documents: all rows of `ferry_document`, in any order; no ID stands twice.
    ///   - versions: all rows of `ferry_version`, in any order. Versions of unknown documents count for nothing.
    ///   - size: the bytes of a content, where they are known.
    package init(
        documents: [DocumentRow], versions: [VersionRow], size: (ContentID) -> Int? = { _ in nil }
    ) {
        self.init(documents: documents, versions: versions, outside: [:], size: size)
    }

    /// A part of a tree.
    /// - Parameter outside: how documents were shown that nothing changed in or below. They stay where they were, and are shown if they
    ///   were, unless the part has the folder that their row names.
    init(
        documents: [DocumentRow], versions: [VersionRow], outside: [DocumentID: Entry], size: (ContentID) -> Int?
    ) {
        let builder = TreeBuilder(documents, versions, outside: outside)
        (entries, byFolder) = builder.build(size)
    }

    /// A document; `nil` for an unknown one.
    package subscript(id: DocumentID) -> Entry? { place(id).map { entries[$0] } }

    /// The shown documents of a folder, by ascending ID.
    /// - Parameter folder: `nil` for the top.
    package func shown(in folder: DocumentID?) -> [Entry] {
        guard let folder else { return byFolder[0].map { entries[$0] } }
        return place(folder).map { byFolder[$0 + 1].map { entries[$0] } } ?? []
    }

    /// Where a document is shown; `nil` for one that is not shown.
    package func path(of id: DocumentID) -> [String]? {
        var names: [String] = []
        var next: DocumentID? = id
        while let id = next {
            guard let entry = self[id], entry.isShown else { return nil }
            names.append(entry.name)
            next = entry.folder
        }
        return names.reversed()
    }

    private func place(_ id: DocumentID) -> Int? {
        var (low, high) = (0, entries.count)
        while low < high {
            let middle = (low + high) / 2
            if entries[middle].id < id { low = middle + 1 } else { high = middle }
        }
        return low < entries.count && entries[low].id == id ? low : nil
    }
}

/// Numbers in groups: a counting sort.
struct Grouping: Sendable {
    private let starts: [Int]
    private let members: [Int]

    /// - Parameters:
    ///   - count: how many groups there are.
    ///   - groups: the group of each number from 0 on; a number with `nil` is in none.
    init(count: Int, _ groups: [Int?]) {
        var starts = [Int](repeating: 0, count: count + 1)
        for case let group? in groups { starts[group + 1] += 1 }
        for group in 0..<count { starts[group + 1] += starts[group] }
        var (next, members) = (starts, [Int](repeating: 0, count: starts[count]))
        for case (let member, let group?) in groups.enumerated() {
            members[next[group]] = member
            next[group] += 1
        }
        (self.starts, self.members) = (starts, members)
    }

    /// A group's numbers, ascending.
    subscript(group: Int) -> ArraySlice<Int> { members[starts[group]..<starts[group + 1]] }
}
