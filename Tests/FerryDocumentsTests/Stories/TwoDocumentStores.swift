import FerryContainer
import FerryCore
import FerryStore
import FerryTestSupport
import Foundation
import GRDB
import XCTest

@testable import FerryDocuments
@testable import FerryEngine

/// Apps with a document store each, and a container in a temporary folder; they sync when told to.
final class TwoDocumentStores {
    let folder: URL
    let stores: [DocumentStore]
    private(set) var pools: [DatabasePool] = []
    private var fileCount = 0

    init(count: Int = 2) throws {
        folder = try ScratchFolder.make("ferry-document-stores")
        let container = folder.appendingPathComponent("container").path
        var engines: [SyncEngine] = []
        for index in 0..<count {
            let path = folder.appendingPathComponent("db\(index).sqlite").path
            let pool = try DatabasePool(path: path)
            try pool.write { try $0.execute(sql: "CREATE TABLE photo(id INTEGER PRIMARY KEY, title TEXT, image BLOB)") }
            pools.append(pool)
            let replica =
                try index == 0
                ? Replica.create(Store(path: path), containerPath: container, sealing: .open, name: "device0").replica
                : XCTUnwrap(Replica.join(databasePath: path, containerPath: container, name: "device\(index)").replica)
            engines.append(SyncEngine(replica))
        }
        stores = try engines.map { try DocumentStore($0) }
    }

    deinit { try? FileManager.default.removeItem(at: folder) }  // a temporary folder

    var first: DocumentStore { stores[0] }
    var second: DocumentStore { stores[1] }

    func file(_ bytes: [UInt8]) throws -> URL {
        fileCount += 1
        let url = folder.appendingPathComponent("file\(fileCount)")
        try Data(bytes).write(to: url)
        return url
    }

    func file(_ text: String) throws -> URL { try file(Array(text.utf8)) }

    /// Syncs all devices until nothing goes either way any more, and looks for news.
    func settle(file: StaticString = #filePath, line: UInt = #line) throws {
        for _ in 0..<20 {
            var hasNews = false
            for store in stores { hasNews = try store.engine.replica.sync().hasNews || hasNews }
            if !hasNews {
                for store in stores { try store.broadcast.check() }
                return
            }
        }
        XCTFail("the devices do not come to rest", file: file, line: line)
    }

    /// The names of packs that are not in the container yet, and of what is being written.
    func pending(_ index: Int) throws -> [String] {
        let path = folder.appendingPathComponent("db\(index).sqlite-ferry-content/pending").path
        if !FileManager.default.fileExists(atPath: path) { return [] }
        return try FileManager.default.contentsOfDirectory(atPath: path)
    }
}

/// What a stream gives: asked for one after another, so that nothing depends on time.
struct Events {
    private var iterator: AsyncStream<DocumentEvent>.Iterator

    init(_ stream: AsyncStream<DocumentEvent>) { iterator = stream.makeAsyncIterator() }

    /// The next events, as text: `added Scores/Trio.pdf by itself`.
    mutating func next(_ count: Int) async -> [String] {
        var found: [String] = []
        for _ in 0..<count {
            guard let event = await iterator.next() else { return found + ["the end"] }
            found.append("\(event.kind) \(event.path)\(event.isOwn ? " by itself" : "")")
        }
        return found
    }
}
