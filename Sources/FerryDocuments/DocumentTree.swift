import FerryCore

/// The visible documents: a pure function of the tables (Docs/DocumentRules.md). The function takes O(n log n) for n
/// rows, and does not depend on their order.
///
/// Invariants:
/// - Every document with a content leaf is shown, and so are all folders around it.
/// - Two shown documents of one folder have names with different composed forms, and every shown name may stand in a
///   path.
/// - Folders never lie below themselves.
package struct DocumentTree: Sendable {
    /// The reason for showing a document at the top, in place of the row's folder.
    package enum Misplacement: Hashable, Sendable {
        /// Folders were moved below each other, and this folder was moved last.
        case cycle
        /// The folder's row is missing, or is no folder's.
        case noFolder
    }

    /// A document as shown, or in the trash.
    package struct Entry: Hashable, Sendable {
        package let id: DocumentID
        package let kind: DocumentKind
        /// The folder around the shown document; `nil` at the top.
        package internal(set) var folder: DocumentID?
        /// The shown name. In the trash: the row's name.
        package internal(set) var name: String
        /// False for a document in the trash. A deleted folder is shown as long as something below it is.
        package internal(set) var isShown = false
        /// True if all leaves are deletions, or there is no leaf.
        package internal(set) var isDeleted = true
        /// The shown version; of a deleted document, the deletion. `nil` without a leaf.
        package internal(set) var version: VersionID?
        /// The content of the shown version.
        package internal(set) var content: ContentID?
        /// The bytes of the content, if the size is known.
        package internal(set) var size: Int?
        package internal(set) var modifiedMicroseconds: Int64?
        /// The versions beside the shown version, the latest first. Not empty: the document has a conflict.
        package internal(set) var rivals: [VersionID] = []
        /// A deletion by an author without knowledge of the shown version.
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
    /// - Parameter outside: the former entries of documents without a change in or below them. Each stays in place, and
    ///   stays shown if it was shown. The exception is a document whose row names a folder of the part.
    init(
        documents: [DocumentRow], versions: [VersionRow], outside: [DocumentID: Entry], size: (ContentID) -> Int?
    ) {
        let builder = TreeBuilder(documents, versions, outside: outside)
        (entries, byFolder) = builder.build(size)
    }

    /// A document by ID; `nil` for an unknown document.
    package subscript(id: DocumentID) -> Entry? { place(id).map { entries[$0] } }

    /// The shown documents of a folder, by ascending ID.
    /// - Parameter folder: `nil` for the top.
    package func shown(in folder: DocumentID?) -> [Entry] {
        guard let folder else { return byFolder[0].map { entries[$0] } }
        return place(folder).map { byFolder[$0 + 1].map { entries[$0] } } ?? []
    }

    /// The path of a shown document; `nil` for a document not shown.
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
