import FerryContent
import FerryCore
import FerrySQL
import FerryStore

/// A content whose bytes are durable beside the database, for rows that are to refer to it.
///
/// Nobody knows of the content before its rows are written: write them in the transaction of the row that refers to the content. A
/// stored content that nobody writes rows for goes after a day.
public struct StoredContent: Hashable, Sendable {
    let row: ContentRow
    /// The packs that were made with the content, and with others that were stored in the same call.
    let packs: [PackRow]

    /// Names the content on every device of the container: 16 bytes for a column of the app's.
    public var id: ContentID { row.id }
    /// The length in bytes.
    public var byteCount: Int { row.byteCount }

    /// The bytes that the container gets for the content, and for others of the same call: 0 where every chunk was there.
    package var newByteCount: Int { packs.reduce(0) { $0 + $1.byteCount } }

    /// Writes the rows of the content, in a transaction of the app's. Writing them again has no effect.
    /// - Throws: `contentNotHere` where the content was stored so long ago that its bytes may be gone: store it again.
    package func insert(_ connection: SQLConnection) throws {
        let index = ChunkIndex(connection)
        for chunk in row.list.chunks where !packs.contains(where: { $0.directory.contains(chunk.id) }) {
            // A chunk that a content listed when this one was stored: that content may have gone meanwhile.
            guard try index.isKept(chunk.id, heldBack: []) else {
                throw FerryError(
                    .contentNotHere,
                    "Bytes that the content shares with another one are gone since it was stored. Store it again.")
            }
        }
        let rows = ContentRows(connection)
        for pack in packs { try rows.insert(pack) }
        try rows.insert(row)
    }
}
