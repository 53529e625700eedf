import FerryCore
import FerryDocuments

/// The tables of documents as a merge makes them of all changes (Docs/Rules.md), kept simple: the later stamp of each register
/// wins, an alive row brings back what it refers to, and a row whose target is not there is hidden.
struct PlainTables {
    struct Stamp: Comparable {
        var time: Int
        var device: Int

        static func < (left: Stamp, right: Stamp) -> Bool {
            (left.time, left.device) < (right.time, right.device)
        }
    }

    enum Write {
        case insertDocument(DocumentRow)
        case place(DocumentID, folder: DocumentID?, named: Int64)
        case rename(DocumentID, name: String, named: Int64)
        case deleteDocument(DocumentID)
        case insertVersion(VersionRow)
        case mark(VersionID)
        case deleteVersion(VersionID)
    }

    private struct Object {
        var inserted: Stamp?
        var written: Stamp?
        var deleted: Stamp?
        var fields: [String: (stamp: Stamp, value: Any)] = [:]

        var isAlive: Bool {
            guard inserted != nil, let written else { return false }
            return deleted.map { written > $0 } ?? true
        }

        mutating func set(_ field: String, _ value: Any, _ stamp: Stamp) {
            written = max(written ?? stamp, stamp)
            if let known = fields[field], known.stamp > stamp { return }
            fields[field] = (stamp, value)
        }
    }

    private var documentObjects: [DocumentID: Object] = [:]
    private var versionObjects: [VersionID: Object] = [:]

    mutating func replay(_ write: Write, _ stamp: Stamp) {
        switch write {
        case .insertDocument(let row):
            insert(&documentObjects[row.id, default: Object()], stamp)
            documentObjects[row.id]?.set("folder", row.folder as Any, stamp)
            documentObjects[row.id]?.set("name", row.name, stamp)
            documentObjects[row.id]?.set("kind", row.kind, stamp)
            documentObjects[row.id]?.set("named", row.namedMilliseconds as Any, stamp)
        case .place(let id, let folder, let named):
            documentObjects[id, default: Object()].set("folder", folder as Any, stamp)
            documentObjects[id, default: Object()].set("named", Optional(named) as Any, stamp)
        case .rename(let id, let name, let named):
            documentObjects[id, default: Object()].set("name", name, stamp)
            documentObjects[id, default: Object()].set("named", Optional(named) as Any, stamp)
        case .deleteDocument(let id): delete(&documentObjects[id, default: Object()], stamp)
        case .insertVersion(let row):
            insert(&versionObjects[row.id, default: Object()], stamp)
            versionObjects[row.id]?.set("row", row, stamp)
            versionObjects[row.id]?.set("superseded", false, stamp)
        case .mark(let id): versionObjects[id, default: Object()].set("superseded", true, stamp)
        case .deleteVersion(let id): delete(&versionObjects[id, default: Object()], stamp)
        }
    }

    private func insert(_ object: inout Object, _ stamp: Stamp) {
        object.inserted = max(object.inserted ?? stamp, stamp)
    }

    private func delete(_ object: inout Object, _ stamp: Stamp) {
        object.deleted = max(object.deleted ?? stamp, stamp)
    }

    /// The rows, and whether any row stands only because another one refers to it.
    func rows() -> (documents: [DocumentRow], versions: [VersionRow], isRetaining: Bool) {
        var documents: [DocumentID: DocumentRow] = [:]
        for (id, object) in documentObjects where object.inserted != nil {
            documents[id] = DocumentRow(
                id: id, folder: object.fields["folder"]?.value as? DocumentID,
                name: object.fields["name"]?.value as? String ?? "",
                kind: object.fields["kind"]?.value as? DocumentKind ?? .file,
                namedMilliseconds: object.fields["named"]?.value as? Int64)
        }
        var shown = Set(documents.keys.filter { documentObjects[$0]?.isAlive ?? false })
        let alive = shown
        var versions: [VersionRow] = []
        for object in versionObjects.values where object.isAlive {
            guard var row = object.fields["row"]?.value as? VersionRow else { continue }
            row.isSuperseded = object.fields["superseded"]?.value as? Bool ?? false
            versions.append(row)
            if documents[row.document] != nil { shown.insert(row.document) }
        }
        var grows = true
        while grows {
            let folders = shown.compactMap { documents[$0]?.folder }.filter {
                documents[$0] != nil && !shown.contains($0)
            }
            grows = !folders.isEmpty
            shown.formUnion(folders)
        }
        let isRetaining = shown != alive
        var shrinks = true
        while shrinks {
            let hidden = shown.filter { documents[$0]?.folder.map { !shown.contains($0) } ?? false }
            shrinks = !hidden.isEmpty
            shown.subtract(hidden)
        }
        return (
            shown.sorted().compactMap { documents[$0] },
            versions.filter { shown.contains($0.document) }.sorted { $0.id < $1.id }, isRetaining
        )
    }
}
