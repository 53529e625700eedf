import FerryCore

/// What a device knows of a content, as far as collection asks (Docs/Architecture/content-collection.md).
package enum ContentStanding: Hashable, Sendable, CaseIterable {
    /// The row is there, and no deletion is known that is later than its insertion.
    case living
    /// Deleted; the row is there only because another row refers to it.
    case heldBack
    /// Deleted, and the deletion is remembered.
    case deleted
}

/// What refers to a content. Whatever it is, the content is used.
package enum ContentReference: Hashable, Sendable, CaseIterable {
    /// A version of a document, by a foreign key.
    case version
    /// A declared column of a row of the app's.
    case row
    /// A declared column of a row that is not shown.
    case hiddenRow
    /// A value that lost a conflict nobody settled yet.
    case conflict
    /// A value of a row that travels as a content.
    case largeValue

    /// Whether the content is held back as long as the reference is there.
    package var isCheckedByForeignKey: Bool { self == .version }
}

/// The decisions by which bytes leave a container, and by which they stay: pure functions. Who calls them in a transaction decides by what
/// that transaction sees.
///
/// A content's deletion is forgotten where all devices that count have replayed it, and where everything is known that they wrote
/// before. So a reference that was made without knowing of the deletion is known by then. All other references are made by rules 2 to 4.
package enum ContentCollection {
    /// How long nothing may use a content before the content is deleted.
    package static let unusedMilliseconds: Int64 = 30 * 86_400_000

    // MARK: Rules 2 and 3: what is packed

    /// Whether a chunk needs no packing, because a living content lists it. No deleted content counts, held back or not: this
    /// device's acknowledgement may have let others forget it already. No pack of another device that has the chunk counts either.
    /// - Parameter standings: of the contents that list the chunk.
    package static func isKept(by standings: some Sequence<ContentStanding>) -> Bool { standings.contains(.living) }

    /// The chunks that have to be packed with a content: once when its bytes are read, and again in the transaction that inserts the
    /// content's row. What kept a chunk at first may be deleted in between.
    /// - Parameters:
    ///   - chunks: of the content.
    ///   - packed: chunks that were packed for this content, and those in packs of this device's own that have a row: this device alone
    ///     removes them.
    ///   - standings: of the contents that list a chunk; this content is not among them where it is not living.
    package static func chunksToPack(
        _ chunks: some Sequence<ChunkID>, packed: Set<ChunkID> = [],
        standings: (ChunkID) throws -> [ContentStanding]
    ) rethrows -> Set<ChunkID> {
        var missing = Set(chunks).subtracting(packed)
        for chunk in missing where isKept(by: try standings(chunk)) { missing.remove(chunk) }
        return missing
    }

    /// Whether a new reference inserts the content's row again and packs its chunks again, in one transaction with the reference.
    package static func isInsertedAgain(byReferenceTo standing: ContentStanding) -> Bool { standing != .living }

    // MARK: Rule 4: references that no foreign key checks

    /// The contents whose rows are inserted again at the end of a pass, in the transaction of that pass.
    package struct InsertedAgain: Hashable, Sendable {
        /// Deleted by this pass: the row alone. Nobody forgets the deletion before this device acknowledges it.
        package var rows: Set<ContentID> = []
        /// Deleted before this pass: others may have forgotten them by now. The row, and the chunks as by rule 3; where the bytes are not
        /// to be had, neither. The reference came from somebody who did not know of the deletion, and who may have let go of the
        /// reference since.
        package var rowsWithChunks: Set<ContentID> = []

        package init() {}
    }

    /// - Parameters:
    ///   - references: the contents to which references lead that no foreign key checks: all, or those of what the pass changed. A pass
    ///     changes a reference by writing to it, and by any change to its content or to what holds the content back.
    ///   - before: the standing of a content when the pass began; `nil` for one that was not known, or of which the list was not known.
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

    /// Whether a content's deletion may be forgotten, where the stable vector covers it. What a remembered row refers to stays, deleted
    /// rows included: somebody who does not know of the row's deletion may write to the row, and bring it back.
    /// - Parameter remembered: the contents to which remembered rows lead, deleted or not.
    package static func mayForget(_ content: ContentID, remembered: some Sequence<ContentID>) -> Bool {
        !remembered.contains(content)
    }

    // MARK: Rule 5: what nothing uses

    /// What a look at the living contents finds.
    package struct Look: Hashable, Sendable {
        /// Contents that nothing uses from now on.
        package var unused: Set<ContentID> = []
        /// Contents that something uses again.
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
            // A clock that was set back counts anew.
            let age = nowMilliseconds.subtractingReportingOverflow(began ?? nowMilliseconds)
            if !age.overflow, age.partialValue >= unusedMilliseconds { look.deleted.insert(content) }
        }
        return look
    }

    // MARK: Rule 6: which packs go

    /// The packs of this device that no known content needs: neither a living one nor one whose deletion is remembered.
    /// - Parameters:
    ///   - packs: rows of this device's own packs, with their chunks.
    ///   - isListed: whether any known content lists a chunk, whatever its standing.
    package static func unusedPacks(
        _ packs: some Sequence<(id: PackID, chunks: [ChunkID])>, isListed: (ChunkID) throws -> Bool
    ) rethrows -> Set<PackID> {
        var unused: Set<PackID> = []
        for pack in packs where try !pack.chunks.contains(where: isListed) { unused.insert(pack.id) }
        return unused
    }

    /// The files that go: of packs whose row is gone, once the container knows that. Equal chunks make an equal pack, so a pack's row
    /// may be back meanwhile; its file stays then.
    /// - Parameters:
    ///   - removed: packs of this device whose row was deleted, each with the number of the changeset that says so.
    ///   - published: the number of the last published changeset.
    ///   - hasRow: whether a pack has a row.
    package static func filesToRemove(
        _ removed: [PackID: UInt64], published: UInt64, hasRow: (PackID) throws -> Bool
    ) rethrows -> Set<PackID> {
        Set(try removed.filter { try $0.value <= published && !hasRow($0.key) }.keys)
    }
}
