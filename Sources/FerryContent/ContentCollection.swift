import FerryCore

/// A device's knowledge of a content, as far as collection needs it (Docs/Architecture/content-collection.md).
package enum ContentStanding: Hashable, Sendable, CaseIterable {
    /// The row is there, and no later deletion is known.
    case living
    /// Deleted; the row is there only because a second row refers to it.
    case heldBack
    /// Deleted, and the deletion is remembered.
    case deleted
}

/// A kind of reference to a content. Any of them keeps the content in use.
package enum ContentReference: Hashable, Sendable, CaseIterable {
    /// A version of a document, by a foreign key.
    case version
    /// A declared column of a row of the app's.
    case row
    /// A declared column of a hidden row.
    case hiddenRow
    /// A losing value of an unsettled conflict.
    case conflict
    /// A value of a row, sent as a content.
    case largeValue

    /// Whether the content is held back as long as the reference is there.
    package var isCheckedByForeignKey: Bool { self == .version }
}

/// Pure decisions about which bytes leave a container and which stay. A caller in a transaction decides by the state in
/// this transaction.
///
/// A content's deletion is forgotten once every counted device has replayed it, and once all earlier writes of these
/// devices are known. So references made without knowledge of the deletion are known by then. Rules 2 to 4 cover all
/// later references.
package enum ContentCollection {
    /// How long nothing may use a content before the content is deleted.
    package static let unusedMilliseconds: Int64 = 30 * 86_400_000

    // MARK: Rules 2 and 3: chunks to pack

    /// Whether a chunk needs no packing, because a living content lists the chunk. Deleted contents do not count, held
    /// back or not: this device's acknowledgement may already have let a second device forget such a content. Packs of
    /// different devices do not count either.
    /// - Parameter standings: of the contents with the chunk in their list.
    package static func isKept(by standings: some Sequence<ContentStanding>) -> Bool { standings.contains(.living) }

    /// The chunks to pack with a content. The caller asks once when reading the bytes, and again in the transaction
    /// with the insertion of the content's row. Contents that kept a chunk at first may be deleted in between.
    /// - Parameters:
    ///   - chunks: of the content.
    ///   - packed: chunks packed for this content, and chunks in this device's own packs with a row: this device alone
    ///     removes those.
    ///   - standings: of the contents with a chunk in their list; without this content, unless this content is living.
    package static func chunksToPack(
        _ chunks: some Sequence<ChunkID>, packed: Set<ChunkID> = [],
        standings: (ChunkID) throws -> [ContentStanding]
    ) rethrows -> Set<ChunkID> {
        var missing = Set(chunks).subtracting(packed)
        for chunk in missing where isKept(by: try standings(chunk)) { missing.remove(chunk) }
        return missing
    }

    /// Whether a new reference inserts the content's row again and packs the chunks again, in the transaction of the
    /// reference.
    package static func isInsertedAgain(byReferenceTo standing: ContentStanding) -> Bool { standing != .living }

    // MARK: Rule 4: references without a foreign key

    /// The contents with rows to insert again at the end of a pass, in the transaction of the pass.
    package struct InsertedAgain: Hashable, Sendable {
        /// Deleted by this pass: insert the row alone. Nobody forgets the deletion before this device acknowledges it.
        package var rows: Set<ContentID> = []
        /// Deleted before this pass: some devices may have forgotten them by now. Insert the row and pack the chunks as
        /// by rule 3, or do neither if the bytes are unavailable. The author of the reference did not know of the
        /// deletion, and may have removed the reference since.
        package var rowsWithChunks: Set<ContentID> = []

        package init() {}
    }

    /// - Parameters:
    ///   - references: contents referred to without a foreign key: all, or those touched by the pass. A pass touches a
    ///     reference by a write to the reference. A change to the content, or to rows that hold the content back,
    ///     counts too.
    ///   - before: the standing of a content at the beginning of the pass; `nil` for an unknown content, or for an
    ///     unknown list.
    ///   - standing: of a content at the end of the pass; `nil` as before.
    package static func insertedAgain(
        references: some Sequence<ContentID>, before: (ContentID) throws -> ContentStanding?,
        standing: (ContentID) throws -> ContentStanding?
    ) rethrows -> InsertedAgain {
        var again = InsertedAgain()
        for content in references {
            guard let known = try standing(content), known != .living else { continue }
            if let former = try before(content), former != .living {
                again.rowsWithChunks.insert(content)
            } else {
                again.rows.insert(content)
            }
        }
        return again
    }

    /// Whether a content's deletion may be forgotten, once the stable vector covers it. Contents of remembered rows
    /// stay, deleted rows included. A device without knowledge of a row's deletion may write to the row and bring it
    /// back.
    /// - Parameter remembered: the contents referred to by remembered rows, deleted or not.
    package static func mayForget(_ content: ContentID, remembered: some Sequence<ContentID>) -> Bool {
        !remembered.contains(content)
    }

    // MARK: Rule 5: unused contents

    /// The result of a scan of the living contents.
    package struct Look: Hashable, Sendable {
        /// Contents unused from now on.
        package var unused: Set<ContentID> = []
        /// Contents in use again.
        package var usedAgain: Set<ContentID> = []
        /// Contents to delete.
        package var deleted: Set<ContentID> = []

        package init() {}
    }

    /// Looks at living contents.
    /// - Parameters:
    ///   - since: since when nothing uses a content here, in milliseconds since the Unix epoch; `nil` where something did.
    ///   - isUsed: whether any `ContentReference` leads to a content.
    package static func look(
        at contents: some Sequence<ContentID>, since: (ContentID) throws -> Int64?, nowMilliseconds: Int64,
        unusedMilliseconds: Int64 = unusedMilliseconds, isUsed: (ContentID) throws -> Bool
    ) rethrows -> Look {
        var look = Look()
        for content in contents {
            let began = try since(content)
            if try isUsed(content) {
                if began != nil { look.usedAgain.insert(content) }
                continue
            }
            if began == nil { look.unused.insert(content) }
            // A clock set back counts anew.
            let age = nowMilliseconds.subtractingReportingOverflow(began ?? nowMilliseconds)
            if !age.overflow, age.partialValue >= unusedMilliseconds { look.deleted.insert(content) }
        }
        return look
    }

    // MARK: Rule 6: packs to remove

    /// The packs of this device without use: neither a living content nor a content with a remembered deletion needs
    /// them.
    /// - Parameters:
    ///   - packs: rows of this device's own packs, with their chunks.
    ///   - isListed: whether any known content lists a chunk, in any standing.
    package static func unusedPacks(
        _ packs: some Sequence<(id: PackID, chunks: [ChunkID])>, isListed: (ChunkID) throws -> Bool
    ) rethrows -> Set<PackID> {
        var unused: Set<PackID> = []
        for pack in packs where try !pack.chunks.contains(where: isListed) { unused.insert(pack.id) }
        return unused
    }

    /// The files of deleted pack rows to remove, once the container knows of the deletion. Equal chunks make an equal
    /// pack, so a pack's row may be back meanwhile; the file stays then.
    /// - Parameters:
    ///   - removed: packs of this device with a deleted row, each with the number of the changeset of the deletion.
    ///   - published: the number of the last published changeset.
    ///   - hasRow: whether a pack has a row.
    package static func filesToRemove(
        _ removed: [PackID: UInt64], published: UInt64, hasRow: (PackID) throws -> Bool
    ) rethrows -> Set<PackID> {
        Set(try removed.filter { try $0.value <= published && !hasRow($0.key) }.keys)
    }
}
