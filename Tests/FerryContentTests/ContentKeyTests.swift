import FerryContent
import FerryCore
import XCTest

final class ContentKeyTests: XCTestCase {
    private let key = Samples.key

    func testAnOpenContainersKeyFollowsFromItsIDAlone() {
        let bytes = Array("abc".utf8)
        XCTAssertEqual(key.chunkID(of: bytes), ContentKey(openContainer: Samples.container).chunkID(of: bytes))
        let other = ContentKey(openContainer: ContainerID(high: 1, low: 2))
        XCTAssertNotEqual(key.chunkID(of: bytes), other.chunkID(of: bytes))
    }

    func testASealedContainersKeyNeedsItsEpoch() throws {
        let (one, other) = (try Samples.Member(seed: 1), try Samples.Member(seed: 2))
        let bytes = Array("abc".utf8)
        XCTAssertEqual(one.key.chunkID(of: bytes), ContentKey(one.epoch).chunkID(of: bytes))
        XCTAssertEqual(Set([one.key, other.key, key].map { $0.chunkID(of: bytes) }).count, 3)
    }

    func testAContentHasOneIDWhereverItsBytesLie() throws {
        let bytes = Samples.noise(3000, seed: 1)
        let inRow = try key.contentID(of: .file(.bytes(bytes)))
        let inPack = try key.contentID(of: .file(.chunks([.init(id: key.chunkID(of: bytes), count: bytes.count)])))
        XCTAssertEqual(inRow, inPack)
        XCTAssertNotEqual(inRow, try key.contentID(of: .file(.bytes(Array(bytes.dropLast())))))
    }

    func testAPackagesIDDependsOnEveryPathModeTimeAndByte() throws {
        func package(_ path: String = "a/b", _ isExecutable: Bool = false, _ time: Int64 = 7, _ byte: UInt8 = 1)
            -> ContentList
        {
            .package([
                .init(path: path, isExecutable: isExecutable, modifiedMicroseconds: time, body: .bytes([byte])),
                .init(path: "z", modifiedMicroseconds: 1, body: .bytes([])),
            ])
        }
        let ids = try [
            package(), package("a/c"), package("a/b", true), package("a/b", false, 8), package("a/b", false, 7, 2),
            .file(.bytes([1])), .package([]), .file(.bytes([])),
        ].map { try key.contentID(of: $0) }
        XCTAssertEqual(Set(ids).count, ids.count)
    }

    func testNothingShowsAKey() {
        XCTAssertFalse("\(key)".contains("SymmetricKey"))
    }
}
