import FerryCore
import FerrySQL
import FerrySchema

/// How many documents and contents a store has, as far as plain SQL tells: for `status`, `leave` and `export`.
package struct ContentStatistics: Hashable, Sendable {
    /// Documents and links with a version that has content; folders.
    package var documents = 0
    package var folders = 0
    /// Contents that declared columns refer to.
    package var attachments = 0
    /// Contents that something refers to, and their bytes.
    package var contents = 0
    package var bytes = 0
    /// The bytes of those that lie in packs, because they are too large for their rows.
    package var packedBytes = 0
    /// Those of them that are whole on this device, or stand in their rows.
    package var hereBytes = 0
    /// Documents with rival versions.
    package var conflicts = 0
    /// Contents that could not be fetched, and that nobody has.
    package var waiting = 0
    package var lost = 0
    /// Values of declared columns that are no IDs, and the first column with one (`ContentReferences.strangeValues`).
    package var strangeValues = 0
    package var strangeColumn: String?
    /// The first obstacle, one of damaged bytes before all others: its code, the pack's file, and since when, in milliseconds.
    package var code: FerryError.Code?
    package var file: String?
    package var sinceMilliseconds: Int64?
}

extension ContentStatistics {
    init(_ access: StoreAccess) throws {
        let connection = access.connection
        let leaves = "superseded IS NOT 1 AND content IS NOT NULL"
        let row = try connection.rows(
            """
            SELECT count(*) FILTER (WHERE kind <> 1), count(*) FILTER (WHERE kind = 1) FROM ferry_document AS d
            WHERE EXISTS(SELECT 1 FROM ferry_version WHERE document = d.id AND \(leaves))
            """)[0]
        (documents, folders) = (row[0].number, row[1].number)
        attachments = try ContentUses(access).attached().count
        (strangeValues, strangeColumn) = try ContentReferences(access).strangeValues()
        for content in try ContentUses(access).wanted(maximumBytes: nil, includingWhole: true) {
            contents += 1
            bytes += content.byteCount
            if content.byteCount > ContentList.inlineBytes { packedBytes += content.byteCount }
            let isHere =
                try content.byteCount <= ContentList.inlineBytes
                || ContentStates(connection).state(of: content.content).isWhole
            if isHere { hereBytes += content.byteCount }
        }
        conflicts = try connection.count(
            """
            SELECT count(*) FROM (SELECT 1 FROM ferry_version WHERE \(leaves) GROUP BY document
            HAVING count(DISTINCT hex(content) || coalesce(mode, 0)) > 1)
            """)
        for (_, obstacle) in try ContentStates(connection).obstacles() {
            if obstacle.code == .contentLost {
                lost += 1
            } else {
                waiting += 1
                if code == nil || obstacle.code == .damagedFile && code != .damagedFile {
                    (code, file, sinceMilliseconds) = (obstacle.code, obstacle.file, obstacle.sinceMilliseconds)
                }
            }
        }
    }
}
