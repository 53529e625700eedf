import FerryContent
import FerryCore
import XCTest

final class ContentCollectionTests: XCTestCase {
    private func chunk(_ number: UInt64) -> ChunkID { ChunkID(high: 1, low: number) }

    private func content(_ number: UInt64) -> ContentID { ContentID(high: 2, low: number) }

    private func pack(_ number: UInt64) -> PackID { PackID(high: 3, low: number) }

    func testLivingContentsAloneKeepAChunkFromBeingPacked() {
        XCTAssertFalse(ContentCollection.isKept(by: []))
        XCTAssertFalse(ContentCollection.isKept(by: [.heldBack, .deleted]))
        XCTAssertTrue(ContentCollection.isKept(by: [.deleted, .living]))
        let missing = ContentCollection.chunksToPack([1, 2, 3, 3, 4].map(chunk), packed: [chunk(1)]) {
            $0 == chunk(2) ? [.living] : [.heldBack]
        }
        XCTAssertEqual(missing, [chunk(3), chunk(4)])
    }

    func testReferencesToDeletedContentsInsertThemAgain() {
        XCTAssertFalse(ContentCollection.isInsertedAgain(byReferenceTo: .living))
        XCTAssertTrue(ContentCollection.isInsertedAgain(byReferenceTo: .heldBack))
        XCTAssertTrue(ContentCollection.isInsertedAgain(byReferenceTo: .deleted))
    }

    func testAPassInsertsAgainWhatReferencesLeadTo() {
        let standings: [ContentID: (ContentStanding?, ContentStanding?)] = [
            content(1): (.living, .living), content(2): (.living, .deleted), content(3): (.living, .heldBack),
            content(4): (nil, .deleted), content(5): (.deleted, .deleted), content(6): (.heldBack, .deleted),
            content(7): (nil, nil), content(8): (.deleted, .living),
        ]
        let again = ContentCollection.insertedAgain(
            references: standings.keys, before: { standings[$0]?.0 }, standing: { standings[$0]?.1 })
        XCTAssertEqual(again.rows, Set([2, 3, 4].map(content)))
        XCTAssertEqual(again.rowsWithChunks, Set([5, 6].map(content)))
    }

    func testADeletionIsRememberedWhileARowLeadsToItsContent() {
        XCTAssertFalse(ContentCollection.mayForget(content(1), remembered: [content(2), content(1)]))
        XCTAssertTrue(ContentCollection.mayForget(content(1), remembered: [content(2)]))
    }

    func testEveryKindOfReferenceButVersionsIsLookedAt() {
        XCTAssertEqual(
            ContentReference.allCases.filter { !$0.isCheckedByForeignKey }, [.row, .hiddenRow, .conflict, .largeValue])
    }

    func testWhatNothingUsesForThirtyDaysIsDeleted() {
        let day: Int64 = 86_400_000
        let now = 1000 * day
        let since: [ContentID: Int64] = [
            content(1): now - 30 * day, content(2): now - 30 * day + 1, content(3): now - 90 * day,
            content(5): now + day,
            content(6): .min,
        ]
        let look = ContentCollection.look(
            at: (1...6).map(content), since: { since[$0] }, nowMilliseconds: now, isUsed: { $0 == content(3) })
        XCTAssertEqual(look.deleted, [content(1)])
        XCTAssertEqual(look.usedAgain, [content(3)])
        XCTAssertEqual(look.unused, [content(4)])
    }

    func testAPackGoesWhenNothingListsAnyOfItsChunks() {
        let packs = [(pack(1), [1, 2]), (pack(2), [3, 4]), (pack(3), [])] as [(PackID, [UInt64])]
        let unused = ContentCollection.unusedPacks(packs.map { (id: $0.0, chunks: $0.1.map(chunk)) }) { $0 == chunk(2) }
        XCTAssertEqual(unused, [pack(2), pack(3)])
    }

    func testAFileGoesOnceTheContainerKnowsAndWhileThePackHasNoRow() {
        let removed: [PackID: UInt64] = [pack(1): 4, pack(2): 5, pack(3): 6]
        XCTAssertEqual(
            ContentCollection.filesToRemove(removed, published: 5, hasRow: { $0 == pack(2) }), [pack(1)])
    }
}
