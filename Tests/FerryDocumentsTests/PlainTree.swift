import FerryCore
import FerryDocuments
import Foundation

/// What is shown, by the plainest code: sentence after sentence of Docs/DocumentRules.md, "What is shown". It uses rows as values, and
/// nothing else of the code that it checks.
struct PlainTree {
    struct Shown: Equatable {
        var folder: DocumentID?
        var name: String
        var isShown: Bool
        var isDeleted: Bool
        var version: VersionID?
        var rivals: [VersionID]
        var beatenDeletion: VersionID?
        var isInCycle: Bool
    }

    private let documents: [DocumentRow]
    private let versions: [VersionRow]
    private var folderOf: [DocumentID: DocumentID] = [:]
    private var cut: Set<DocumentID> = []
    private(set) var shown: [DocumentID: Shown] = [:]

    init(_ documents: [DocumentRow], _ versions: [VersionRow]) {
        (self.documents, self.versions) = (documents, versions)
        placeFolders()
        for row in documents { shown[row.id] = decide(row) }
        for row in documents {
            let isAbove = documents.contains { leaves($0.id).contains { $0.content != nil } && lies($0.id, in: row.id) }
            shown[row.id]?.isShown = isAbove
        }
        nameAll()
    }

    // MARK: Versions

    private func leaves(_ document: DocumentID) -> [VersionRow] {
        let own = versions.filter { $0.document == document }
        let unmarked = own.filter { !$0.isSuperseded }
        let rest = unmarked.filter { leaf in
            !own.contains { $0.id != leaf.id && $0.supersedes.contains(leaf.id) }
        }
        return rest.isEmpty || unmarked.count == 1 ? unmarked : rest
    }

    private func key(_ version: VersionRow) -> String {
        // Zero-padded digits sort as the numbers do; the space before a missing device sorts before all devices.
        let made = UInt64(bitPattern: version.madeMilliseconds) ^ 1 << 63
        return String(format: "%020llu", made) + " " + (version.device?.hex ?? "") + " " + version.id.hex
    }

    private func decide(_ row: DocumentRow) -> Shown {
        let leaves = leaves(row.id).sorted { key($0) > key($1) }
        var contents: [VersionRow] = []
        for leaf in leaves where leaf.content != nil {
            if contents.contains(where: { $0.content == leaf.content && $0.mode == leaf.mode }) { continue }
            contents.append(leaf)
        }
        let deletion = leaves.first { $0.content == nil }
        return Shown(
            folder: folderOf[row.id], name: row.name, isShown: false, isDeleted: contents.isEmpty,
            version: (contents.first ?? deletion)?.id, rivals: contents.dropFirst().map(\.id),
            beatenDeletion: contents.isEmpty ? nil : deletion?.id, isInCycle: cut.contains(row.id))
    }

    // MARK: Folders

    private func named(_ row: DocumentRow) -> (Int64, String) { (row.namedMilliseconds ?? .min, row.id.hex) }

    /// Whether a document is a folder or lies in it, directly or not.
    private func lies(_ document: DocumentID, in folder: DocumentID) -> Bool {
        var (next, steps) = (Optional(document), 0)
        while let place = next, steps <= documents.count {
            if place == folder { return true }
            (next, steps) = (folderOf[place], steps + 1)
        }
        return false
    }

    private mutating func placeFolders() {
        for row in documents {
            guard let folder = row.folder, documents.contains(where: { $0.id == folder && $0.kind == .folder }) else {
                continue
            }
            folderOf[row.id] = folder
        }
        while let start = documents.first(where: { row in folderOf[row.id].map { lies($0, in: row.id) } ?? false }) {
            let circle = documents.filter { lies($0.id, in: start.id) && lies(start.id, in: $0.id) }
            guard let last = circle.max(by: { named($0) < named($1) }) else { return }
            folderOf[last.id] = nil
            cut.insert(last.id)
        }
    }

    // MARK: Names

    private func same(_ left: String, _ right: String) -> Bool {
        let (left, right) = (left.precomposedStringWithCanonicalMapping, right.precomposedStringWithCanonicalMapping)
        return Array(left.unicodeScalars) == Array(right.unicodeScalars)
    }

    private mutating func nameAll() {
        for folder in Set(shown.values.filter(\.isShown).map(\.folder)) {
            let rows = documents.filter { shown[$0.id]?.isShown == true && shown[$0.id]?.folder == folder }
                .sorted { named($0) < named($1) }
            var taken: [String] = []
            var others: [DocumentRow] = []
            for row in rows {
                let name = possible(row.name)
                if taken.contains(where: { same($0, name) }) { others.append(row) } else { taken.append(name) }
                shown[row.id]?.name = name
            }
            for row in others {
                var number = 2
                while taken.contains(where: { same($0, numbered(possible(row.name), number)) }) { number += 1 }
                let name = numbered(possible(row.name), number)
                shown[row.id]?.name = name
                taken.append(name)
            }
        }
    }

    private func possible(_ name: String) -> String {
        let replaced = name.replacingOccurrences(of: "/", with: "_", options: .literal)
            .replacingOccurrences(of: "\0", with: "_", options: .literal)
        return ["", ".", ".."].contains(replaced) ? "_" + replaced : replaced
    }

    private func numbered(_ name: String, _ number: Int) -> String {
        var parts = (stem: Array(name), suffix: "")
        if let dot = parts.stem.lastIndex(of: "."), dot > 0, dot < parts.stem.count - 1 {
            let suffix = String(parts.stem[dot...])
            if suffix.utf8.count <= 127 { parts = (Array(parts.stem[..<dot]), suffix) }
        }
        while (String(parts.stem) + " (\(number))" + parts.suffix).utf8.count > 255 { parts.stem.removeLast() }
        return String(parts.stem) + " (\(number))" + parts.suffix
    }
}
