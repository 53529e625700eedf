import FerryCore
import FerryDocuments
import FerryTestSupport
import XCTest

/// Changes of any tables, whole or not: folders that are missing, files as folders, circles, versions of nothing.
final class DocumentRegionTests: XCTestCase {
    func testARegionChangesTheTreeAsAWholeTreeWould() throws {
        for seed in Seeds(defaultCount: 300).all {
            var chance = Chance(seed: seed)
            let count = UInt64(3 + chance.below(14))
            var documents: [UInt64: DocumentRow] = [:]
            var versions: [UInt64: VersionRow] = [:]
            var tables = ShownTables()
            func document(_ number: UInt64) -> DocumentRow {
                Samples.document(
                    number, chance.pick(["a", "a", "b", "a (2)", ".."]),
                    in: chance.oneIn(4) ? nil : UInt64(chance.below(Int(count)) + 1),
                    kind: chance.oneIn(5) ? .file : .folder, named: chance.oneIn(2) ? nil : Int64(chance.below(5)))
            }
            for _ in 0..<25 {
                for _ in 0...chance.below(chance.oneIn(5) ? 12 : 2) {
                    let number = UInt64(chance.below(Int(count)) + 1)
                    switch chance.below(5) {
                    case 0, 1: documents[number] = document(number)
                    case 2: documents[number] = nil
                    case 3:
                        let id = UInt64(chance.below(30))
                        versions[id] = Samples.row(
                            id, of: number, chance.oneIn(2) ? nil : UInt64(chance.below(4)),
                            isSuperseded: chance.oneIn(5),
                            at: Int64(chance.below(9)))
                    default: versions[UInt64(chance.below(30))] = nil
                    }
                }
                let changed = tables.replace(Array(documents.values), Array(versions.values))
                let difference = try DocumentRegion.difference(changed: changed, in: tables)
                for id in difference.removed { tables.entries[id] = nil }
                for entry in difference.changed { tables.entries[entry.id] = entry }
                let tree = DocumentTree(documents: Array(documents.values), versions: Array(versions.values))
                XCTAssertEqual(
                    tables.entries.values.sorted { $0.id < $1.id }, tree.entries, "FERRY_SEED=\(seed)")
            }
        }
    }

    /// Two hundred folders with fifty documents each: one document is renamed.
    func testALookAtARegionIsALookAtItsFolders() throws {
        var (documents, versions) = ([DocumentRow](), [VersionRow]())
        for folder in 1...200 as ClosedRange<UInt64> {
            documents.append(Samples.document(folder, "folder \(folder)", kind: .folder))
            versions.append(Samples.row(folder, of: folder, 0))
            for number in 1...50 as ClosedRange<UInt64> {
                documents.append(Samples.document(folder * 1000 + number, "\(number)", in: folder))
                versions.append(Samples.row(folder * 1000 + number, of: folder * 1000 + number, number))
            }
        }
        var tables = ShownTables()
        _ = tables.replace(documents, versions)
        for entry in DocumentTree(documents: documents, versions: versions).entries { tables.entries[entry.id] = entry }
        documents[1].name = "7"
        documents[1].namedMilliseconds = 5
        let changed = tables.replace(documents, versions)
        let counting = CountingTables(tables)
        let difference = try DocumentRegion.difference(changed: changed, in: counting)
        XCTAssertEqual(difference.changed.map(\.name), ["7 (2)"])
        XCTAssertLessThan(counting.rows, 300)
        XCTAssertLessThan(counting.versionRows, 3)
    }
}

/// Counts what is read.
private final class CountingTables: DocumentTables {
    private let tables: ShownTables
    private(set) var rows = 0
    private(set) var versionRows = 0

    init(_ tables: ShownTables) { self.tables = tables }

    func document(_ id: DocumentID) -> DocumentRow? {
        rows += 1
        return tables.document(id)
    }

    func versions(of document: DocumentID) -> [VersionRow] {
        versionRows += 1
        return tables.versions(of: document)
    }

    func documents(in folder: DocumentID?) -> [DocumentID] { tables.documents(in: folder) }

    func entry(_ id: DocumentID) -> DocumentTree.Entry? { tables.entry(id) }

    func shown(in folder: DocumentID?) -> [DocumentID] { tables.shown(in: folder) }
}
