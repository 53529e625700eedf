import XCTest

@testable import FerryCore

final class NearNameTests: XCTestCase {
    func testTheDistanceCountsMistakes() {
        for (first, second, distance) in [
            ("", "", 0), ("", "ab", 2), ("ab", "", 2), ("song", "song", 0), ("song", "sonk", 1), ("sogn", "song", 1),
            ("status", "stauts", 1), ("sync", "snyc", 1), ("abc", "xyz", 3), ("kitten", "sitting", 3),
        ] {
            XCTAssertEqual(NearName.distance(Array(first), Array(second)), distance, "\(first) \(second)")
        }
    }

    func testTheNearestNameIsFound() {
        let verbs = ["init", "join", "sync", "watch", "status", "export", "import", "restore", "kv"]
        for (word, name) in [
            ("stauts", "status"), ("SYNC", "sync"), ("wacth", "watch"), ("exprt", "export"), ("stat", "status"),
            ("res", "restore"), ("intt", "init"),
        ] {
            XCTAssertEqual(NearName.nearest(to: word, in: verbs), name, word)
        }
        for word in ["", "dance", "music.sqlite", "x", String(repeating: "sync", count: 100)] {
            XCTAssertNil(NearName.nearest(to: word, in: verbs), word)
        }
        XCTAssertNil(NearName.nearest(to: "so", in: ["song", "song_genre"]))
    }

    func testTheQuestionIsASentenceOrNothing() {
        XCTAssertEqual(NearName.question("sonk", among: ["artist", "song"]), " Did you mean “song”?")
        XCTAssertEqual(NearName.question("album", among: ["artist", "song"]), "")
    }
}
