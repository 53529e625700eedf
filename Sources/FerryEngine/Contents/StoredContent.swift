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
    /// Where the packs wait.
    let place: ContentPlace

    /// Names the content on every device of the container: 16 bytes for a column of the app's.
    public var id: ContentID { row.id }
    /// The length in bytes.
    public var byteCount: Int { row.byteCount }

    /// The bytes that the container gets for the content, and for others of the same call: 0 where every chunk was there.
    package var newByteCount: Int { packs.reduce(0) { $0 + $1.byteCount } }

    /// Writes the rows of the content, in a transaction of the app's. Writing them again has no effect.
    /// - Throws: `contentNotHere` where the content was stored so long ago that its bytes may be gone: store it again.
    package func insert(_ connection: SQLConnection) throws { try Self.insert([self], connection) }

    /// Writes the rows of contents; as `insert`.
    package static func insert(_ contents: [StoredContent], _ connection: SQLConnection) throws {
        let (index, rows) = (ChunkIndex(connection), ContentRows(connection))
        let heldBack = try rows.heldBack()
        // Contents that were stored in one call have the same packs.
        var (packed, made): (Set<ChunkID>, Set<PackID>) = ([], [])
        for (pack, place) in contents.flatMap({ content in content.packs.map { ($0, content.place) } })
        where made.insert(pack.id).inserted {
            // A pack that waited for too long, or whose chunks others have by now, is gone.
            guard try rows.hasPack(pack.id) || place.shelf.openPending(pack.id) != nil else { continue }
            packed.formUnion(pack.directory.entries.map(\.id))
            try rows.insert(pack)
        }
        for content in contents {
            for chunk in content.row.list.chunks where !packed.contains(chunk.id) {
                // A chunk of a pack that is gone, or that a content listed when this one was stored: it may have gone meanwhile.
                guard try index.isKept(chunk.id, heldBack: heldBack) else {
                    throw FerryError(
                        .contentNotHere,
                        "Bytes of the content, or those that it shares with another one, are gone since it was stored. Store it again."
                    )
                }
            }
            try rows.insert(content.row)
        }
    }
}

/// The directory beside a database where packs of a content wait. All places are equal: contents differ by their rows.
struct ContentPlace: Hashable, Sendable {
    let shelf: ContentShelf

    static func == (left: ContentPlace, right: ContentPlace) -> Bool { true }
    func hash(into hasher: inout Hasher) {}
}
