import FeedTestServer
import Feeds
import Ferry
import Foundation
import GRDB
import XCTest

@testable import ReaderStore

/// Files of articles that follow a person from device to device: attachments of Ferry's.
final class KeptFileTests: ServerTestCase {
    /// A feed with an episode and a picture.
    private func feed(_ numbers: [Int]) throws -> String {
        let items = try numbers.map { number in
            """
            <item><guid>\(number)</guid><title>Episode \(number)</title>
            <enclosure url="\(try address("/episode\(number).mp3"))" type="audio/mpeg" length="200000"/>
            <itunes:image href="\(try address("/cover.png"))"/></item>
            """
        }
        return """
            <?xml version="1.0"?>
            <rss version="2.0" xmlns:itunes="http://www.itunes.com/dtds/podcast-1.0.dtd"><channel><title>Podcast</title>
            \(items.joined(separator: "\n"))</channel></rss>
            """
    }

    private func bytes(_ count: Int, _ seed: UInt8) -> Data {
        Data((0..<count).map { UInt8(truncatingIfNeeded: ($0 &* 2_654_435_761) >> 9) ^ seed })
    }

    private func serve() async throws {
        for number in 1...2 {
            let episode = bytes(200_000, UInt8(number))
            try await server.serve("/episode\(number).mp3", Route().with { $0.base64 = episode })
        }
        let cover = bytes(3000, 9)
        try await server.serve("/cover.png", Route().with { $0.base64 = cover })
    }

    private func kept(_ library: Library) throws -> KeptFiles { try KeptFiles(library, library.engine()) }

    private func count(_ table: String, _ library: Library) throws -> Int? {
        try library.pool.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM \(table)") }
    }

    /// The article with a title.
    private func article(_ title: String, _ library: Library) throws -> Article {
        let line = try XCTUnwrap(library.articles(ArticleQuery()).first { $0.title == title })
        return try library.article(line.id)
    }

    func testWhatIsKeptOnOneDeviceIsOnTheOther() async throws {
        try await serve()
        let url = "https://example.org/podcast"
        let laptop = try firstDevice()
        try laptop.subscribe(url)
        try laptop.importFeed(feed([1, 2]), as: url)
        let files = try await kept(laptop).keep(article("Episode 1", laptop))
        XCTAssertEqual(files.map(\.name), ["episode1.mp3", "cover.png"])
        XCTAssertEqual(files.map(\.bytes), [200_000, 3000])
        let again = try await kept(laptop).keep(article("Episode 1", laptop))
        XCTAssertEqual(again, [], "what is kept already")
        try laptop.sync()

        // The phone has the rows before it has the article, and the bytes without the web.
        let phone = try joinedDevice()
        try phone.sync()
        XCTAssertEqual(try count("kept", phone), 2)
        try phone.importFeed(feed([1, 2]), as: url)
        let there = try kept(phone).files(of: article("Episode 1", phone))
        XCTAssertEqual(there.map(\.name), ["cover.png", "episode1.mp3"])
        let target = folder.appendingPathComponent("out")
        for (file, expected) in zip(there, [bytes(3000, 9), bytes(200_000, 1)]) {
            let path = try await kept(phone).save(file, into: target)
            XCTAssertEqual(try Data(contentsOf: path), expected, file.name)
        }
        let second = try await kept(phone).save(there[0], into: target)
        XCTAssertEqual(second.lastPathComponent, "2 cover.png", "nothing is written over")
        XCTAssertEqual(try kept(phone).files(of: article("Episode 2", phone)), [])
        try assertSound(phone)

        XCTAssertEqual(try kept(phone).remove(of: article("Episode 1", phone)), 2)
        try phone.sync()
        try laptop.sync()
        XCTAssertEqual(try kept(laptop).files(of: article("Episode 1", laptop)), [])
    }

    func testTwoDevicesThatKeepTheSameFileHaveItOnce() async throws {
        try await serve()
        let url = "https://example.org/podcast"
        let laptop = try firstDevice()
        try laptop.subscribe(url)
        try laptop.sync()
        let phone = try joinedDevice()
        for library in [laptop, phone] {
            try library.importFeed(feed([1]), as: url)
            _ = try await kept(library).keep(article("Episode 1", library))
        }
        for library in [laptop, phone, laptop] { try library.sync() }
        for library in [laptop, phone] {
            XCTAssertEqual(try kept(library).files(of: article("Episode 1", library)).count, 2)
            XCTAssertEqual(try count("ferry_content", library), 2)
        }
    }

    func testAFileThatCannotBeFetchedKeepsNothingOfItself() async throws {
        try await server.serve("/cover.png", Route("", status: 404))
        try await server.serve("/episode1.mp3", Route("episode"))
        let url = "https://example.org/podcast"
        let laptop = try firstDevice()
        try laptop.subscribe(url)
        try laptop.importFeed(feed([1]), as: url)
        do {
            _ = try await kept(laptop).keep(article("Episode 1", laptop))
            XCTFail("a missing file was kept")
        } catch let error as FeedError {
            XCTAssertEqual(error.code, .notFound)
        }
        XCTAssertEqual(try kept(laptop).files(of: article("Episode 1", laptop)).map(\.name), ["episode1.mp3"])
        try laptop.importFeed(rss([5]), as: url)
        do {
            _ = try await kept(laptop).keep(article("Article 5", laptop))
            XCTFail("an article without files was kept")
        } catch let error as ReaderError {
            XCTAssertEqual(error.code, .nothingFound)
        }
    }

    func testNamesLeadNowhereElse() throws {
        let names = try [
            "https://a.b/x/y.mp3?z=1", "https://a.b/", "https://a.b/..", "https://a.b/%2e%2e%2fetc%2fpasswd",
        ]
        .map { KeptFiles.name(of: try XCTUnwrap(URL(string: $0))) }
        XCTAssertEqual(names[0], "y.mp3")
        for name in names {
            XCTAssertFalse(name.contains("/") || name.hasPrefix(".") || name.isEmpty, name)
        }
    }
}
