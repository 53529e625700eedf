import FerryContent
import FerryCore
import FerrySQL
import FerryStore

/// A content with durable bytes beside the database, for rows with a reference to the content.
///
/// Nobody knows of the content before the content's rows are written: write the rows in the transaction of the referring row. A stored
/// content without rows goes after a day.
public struct StoredContent: Hashable, Sendable {
    let row: ContentRow
    /// The packs made in the call that stored the content; contents of the same call share the packs.
    let packs: [PackRow]
    /// Where the packs wait.
    let place: ContentPlace

    /// Names the content on every device of the container: 16 bytes for a column of the app's.
    public var id: ContentID { row.id }
    /// The length in bytes.
    public var byteCount: Int { row.byteCount }

    /// The new bytes in the container for all contents of the same call: 0 where every chunk was there.
    package var newByteCount: Int { packs.reduce(0) { $0 + $1.byteCount } }

    /// Writes the rows of the content, in a transaction of the app's. Writing them again has no effect.
    /// - Throws: `contentNotHere` where the content was stored so long ago that the bytes may be gone: store the content again.
    package func insert(_ connection: SQLConnection) throws { try Self.insert([self], connection) }

    /// Writes the rows of contents; as `insert`.
    package static func insert(_ contents: [StoredContent], _ connection: SQLConnection) throws {
        let (index, rows) = (ChunkIndex(connection), ContentRows(connection))
        let heldBack = try rows.heldBack()
        // Contents stored in a single call have the same packs.
        var (packed, made): (Set<ChunkID>, Set<PackID>) = ([], [])
        for (pack, place) in contents.flatMap({ content in content.packs.map { ($0, content.place) } })
        where made.insert(pack.id).inserted {
            // A pack is gone after too long a wait, or where other packs have the chunks by now.
            guard try rows.hasPack(pack.id) || place.shelf.openPending(pack.id) != nil else { continue }
            packed.formUnion(pack.directory.entries.map(\.id))
            try rows.insert(pack)
        }
        for content in contents {
            for chunk in content.row.list.chunks where !packed.contains(chunk.id) {
                // The chunk was in a pack that is gone, or in a content listed when this content was stored: the chunk may be gone.
                guard try index.isKept(chunk.id, heldBack: heldBack) else {
                    throw FerryError(
                        .contentNotHere,
                        "Bytes of the content, or those that it shares with another one, are gone since it was stored. Store it again."
                    )
                }
            }
            try rows.insert(content.row)
            // The copy that was made from the file, whatever the limit of a fetch is.
            if try content.place.shelf.path(ofWhole: content.id, byteCount: content.byteCount) != nil {
                try ContentStates(connection).setWhole(true, content.id)
            }
        }
    }
}

/// The directory beside a database for waiting packs of a content. All places are equal: contents differ by their rows.
struct ContentPlace: Hashable, Sendable {
    let shelf: ContentShelf

    static func == (left: ContentPlace, right: ContentPlace) -> Bool { true }
    func hash(into hasher: inout Hasher) {}
}
