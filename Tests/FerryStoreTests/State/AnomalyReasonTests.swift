import FerryCore
import FerrySQL
import XCTest

@testable import FerryStore

/// Reasons as `ferry_exception` keeps them, and the sentences that an earlier Ferry kept instead.
final class AnomalyReasonTests: XCTestCase {
    func testAReasonIsReadAsItWasWritten() throws {
        let names = [
            [], [""], ["a"], ["a, b", "c"], ["\"quoted\"", "back\\slash", "[x]"], ["tab\tline\nnull\0"], ["naïve 😀"],
        ]
        for kind in AnomalyKind.allCases {
            for list in names {
                let reason = AnomalyReason(kind, list)
                XCTAssertEqual(AnomalyReason(kind, stored: reason.text), reason)
                XCTAssertEqual(
                    try JSONDecoder().decode([String].self, from: Data(reason.text.utf8)), list, reason.text)
            }
        }
    }

    func testEveryRefusalIsReadAsItWasWritten() {
        let causes: [RefusalCause] = [
            .takenKey, .unknownKey, .keylessRow(["a", "lower(b)"]), .keylessRow(["takenKey"]),
            .schema("CHECK constraint failed: lo < hi"), .schema("takenKey"), .schema(""),
        ]
        for cause in causes { XCTAssertEqual(RefusalCause(names: cause.names), cause) }
    }

    func testSentencesOfAnEarlierFerryAreReadAsTheirNames() {
        let sentences: [(AnomalyKind, String, [String])] = [
            (.waiting, "song_id refers to a row that is not there", ["song_id"]),
            (.waiting, "a, b refers to a row that is not there", ["a", "b"]),
            (.missing, "song_id refers to a row that this device does not know", ["song_id"]),
            (.clearedReference, "album refers to a row that is gone", ["album"]),
            (.outranked, "an older row has the same name, year", ["name", "year"]),
            (.outranked, "an older row has the same key", []),
            (.joined, "one row with an older one that has the same name", ["name"]),
            (.refused, "CHECK constraint failed: lo < hi", ["CHECK constraint failed: lo < hi"]),
            (.refused, "its key is taken by another row", RefusalCause.takenKey.names),
            (.refused, "what identifies its row is not known", RefusalCause.unknownKey.names),
            (.awaitingApp, "its table uses what only the app has: no such function: f", ["no such function: f"]),
            (.outdated, "it depends on rows of a, b, which wait for the app", ["", "a", "b"]),
            (.heldBack, "deleted, but other rows still refer to it", []), (.heldBack, "", []),
            (.joining, "shows 2 rows as one", []),
            (.resolvedKey, "it refers to a row that is one with an older one", []),
        ]
        for (kind, sentence, names) in sentences {
            let reason = AnomalyReason(kind, stored: sentence)
            XCTAssertEqual(reason.names, names, sentence)
            // Nothing that a person reads has changed.
            if kind != .joining, !sentence.isEmpty { XCTAssertEqual(reason.sentence, sentence) }
        }
    }

    func testATextThatIsNeitherAListNorAKnownSentenceIsNoTrap() {
        for kind in AnomalyKind.allCases {
            for text in ["", "[", "[1, 2]", "[\"open", "{}", "it depends on rows of ", ", which wait"] {
                _ = AnomalyReason(kind, stored: text).sentence
            }
        }
        XCTAssertEqual(AnomalyReason(.refused, stored: "[1, 2]").sentence, "[1, 2]")
    }

    func testOneReasonIsOneGroupWhoeverWroteIt() throws {
        let device = try TestDevice(1, AnomalyReasonTests.schema)
        try device.run(
            """
            INSERT INTO ferry_exception VALUES
                (7, x'01', 1, 'song_id refers to a row that is not there', 0), (7, x'02', 1, '["song_id"]', 0),
                (7, x'03', 1, '["other_id"]', 0), (7, x'04', 99, 'of a later Ferry', 0);
            """)
        let groups = try device.store.read { try AnomalyTable.groups($0) }
        XCTAssertEqual(groups.map(\.count), [1, 2, 1])
        XCTAssertEqual(groups.map(\.reason.sentence).last, "of a later Ferry")
    }

    private static let schema = TestSchema(name: "reasons", sql: "CREATE TABLE song(id INTEGER PRIMARY KEY)")
}
