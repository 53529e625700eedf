import FerryCore
import FerryDocuments
import FerryTestSupport

/// Rows for tests, under small numbers.
enum Samples {
    static let day: Int64 = 86_400_000
    /// A time on 1 March 2026.
    static let now: Int64 = 1_772_373_600_000
    static let phone = DeviceID(high: 1, low: 1)
    static let laptop = DeviceID(high: 2, low: 2)

    static func id(_ number: UInt64) -> DocumentID { DocumentID(high: 0, low: number) }

    static func version(_ number: UInt64) -> VersionID { VersionID(high: 0, low: number) }

    static func content(_ number: UInt64) -> ContentID { ContentID(high: 7, low: number) }

    static func document(
        _ number: UInt64, _ name: String, in folder: UInt64? = nil, kind: DocumentKind = .file, named: Int64? = nil
    ) -> DocumentRow {
        DocumentRow(id: id(number), folder: folder.map(id), name: name, kind: kind, namedMilliseconds: named)
    }

    /// A version of a content, or a deletion.
    static func row(
        _ number: UInt64, of document: UInt64, _ content: UInt64?, over: [UInt64] = [], isSuperseded: Bool = false,
        at made: Int64 = now
    ) -> VersionRow {
        VersionRow(
            id: version(number), document: id(document), content: content.map(self.content),
            supersedes: over.map(version), isSuperseded: isSuperseded, madeMilliseconds: made, device: phone)
    }

    /// A tree of documents that each have one version.
    static func tree(_ documents: [DocumentRow], _ more: [VersionRow] = []) -> DocumentTree {
        let has = Set(more.map(\.document))
        let versions = documents.filter { !has.contains($0.id) }
            .map { row($0.id.low + 1000, of: $0.id.low, $0.id.low) }
        return DocumentTree(documents: documents, versions: versions + more)
    }

    static func author(_ device: DeviceID = phone, at now: Int64 = now, seed: UInt64 = 1) -> VersionAuthor {
        VersionAuthor(device: device, nowMilliseconds: now, random: SeededRandom(seed: seed))
    }

    static func bytes(_ number: UInt64, mode: Int64 = 0) -> VersionBytes {
        VersionBytes(content: content(number), modifiedMicroseconds: Int64(number), mode: mode)
    }
}

extension Array where Element == VersionRow {
    /// The versions after a change, as the table has them.
    func after(_ change: DocumentChange) -> [VersionRow] {
        (self + change.versions).map { version in
            var version = version
            if change.superseded.contains(version.id) { version.isSuperseded = true }
            return version
        }
    }
}
