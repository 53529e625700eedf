import FerryContainer
import FerryCore
import FerryStore
import Foundation
import GRDB

/// A fetch that stays current with all writes: of this process, of other processes, and of replay.
///
///     let songs = try LiveResults(in: pool, sections: .column("artist")) { _ in
///         Song.order(Column("artist"), Column("title"))
///     }
///     for try await delivery in songs.deliveries {
///         for change in delivery.difference.changes { … }          // from the delivery before
///         let page = try await delivery.records(in: 0..<50)        // rows are fetched on request
///     }
///
/// - Memory: the keys of all rows with a hash of each (about 40 bytes a row), and the records of the last requested
///   pages.
/// - After each commit the request is read once, on a connection and a thread of the list's own. An unchanged result is
///   no delivery.
/// - A database with a write-ahead log, such as a `DatabasePool`, is opened twice more, for reading, with the configuration of the given
///   reader. With another journal a second reader would keep the app from committing. So the list is read through the given reader, and so
///   is a list of a database in memory, which follows only writes through that reader.
/// - A list stops by `close`, or once it is released and nobody reads its deliveries.
public final class LiveResults<Record: FetchableRecord & Sendable>: Sendable {
    private let list: LiveList
    private let pages: LivePages<Record>
    private let worker: LiveWorker

    /// Keeps a request of the query interface current, associations and all. Rows are told apart by the table's primary
    /// key, which the request must select (the default).
    ///
    /// - Parameters:
    ///   - reader: the app's database.
    ///   - sections: divides the rows.
    ///   - store: with a store and a travelling table, changes have object IDs. A row that gets another key, because
    ///     two devices had given the key to two rows, is reported as moved.
    ///   - request: made anew for each reading; may ask the database.
    /// - Throws: errors of GRDB if the database cannot be opened again. `deliveries` throws errors of the request.
    public convenience init(
        in reader: any DatabaseReader, sections: LiveSections = .none, store: Store? = nil,
        options: LiveOptions = LiveOptions(),
        _ request: @escaping @Sendable (Database) throws -> QueryInterfaceRequest<Record>
    ) throws where Record: TableRecord {
        try self.init(
            in: reader, LiveRequest(request), sections,
            objects: store.map { LiveObjects(store: $0, table: Record.databaseTableName) }, options)
    }

    /// Keeps any request current, SQL for instance.
    public convenience init(
        in reader: any DatabaseReader, key: LiveRowKey, sections: LiveSections = .none,
        options: LiveOptions = LiveOptions(),
        _ request: @escaping @Sendable (Database) throws -> some FetchRequest<Record>
    ) throws {
        try self.init(
            in: reader, LiveRequest(key: key.columns, request), sections, objects: key.objects, options)
    }

    private init(
        in reader: any DatabaseReader, _ request: LiveRequest, _ sections: LiveSections, objects: LiveObjects?,
        _ options: LiveOptions
    ) throws {
        list = LiveList(request, sections, try LiveConnection(reader), objects: objects)
        pages = LivePages(list, pageSize: options.pageSize)
        worker = LiveWorker(list, cache: options.cache.map { LiveIndexCache(file: $0) })
        worker.start(observing: reader as? any DatabaseWriter)
    }

    deinit { worker.stop() }

    /// The deliveries from now on: the first has the present rows, each further delivery the difference from the
    /// delivery before. A slow reader misses nothing, because differences are made on request, against the reader's
    /// last delivery. Any number of readers may read, each from a sequence of its own.
    public var deliveries: LiveDeliveries<Record> { LiveDeliveries(results: self, list, pages) }

    /// Ends all deliveries. Past deliveries can still fetch records.
    public func close() { worker.stop() }

    /// Reads a list again that could not be read.
    func readAgain() { worker.readAgain() }
}

/// The deliveries of a `LiveResults`. The sequence ends when the results are closed, and throws errors that keep the
/// request from being read. Then iterate anew: the request is read at once, and again after each commit. A database that another program
/// keeps locked is no such error: the list waits.
public struct LiveDeliveries<Record: FetchableRecord & Sendable>: AsyncSequence, Sendable {
    /// Held so that the results stay current while somebody reads.
    private let results: LiveResults<Record>
    private let list: LiveList
    private let pages: LivePages<Record>

    init(results: LiveResults<Record>, _ list: LiveList, _ pages: LivePages<Record>) {
        self.results = results
        self.list = list
        self.pages = pages
    }

    public func makeAsyncIterator() -> Iterator { Iterator(results, list, pages) }

    public struct Iterator: AsyncIteratorProtocol {
        private let results: LiveResults<Record>
        private let list: LiveList
        private let pages: LivePages<Record>
        private var last: LiveIndex?
        private var version = 0

        init(_ results: LiveResults<Record>, _ list: LiveList, _ pages: LivePages<Record>) {
            self.results = results
            self.list = list
            self.pages = pages
            if let failed = list.failedVersion {
                version = failed
                results.readAgain()
            }
        }

        /// - Returns: `nil` when the results were closed, or the task cancelled.
        public mutating func next() async throws -> LiveDelivery<Record>? {
            while !Task.isCancelled {
                switch list.news(after: version) {
                case .index(let index, let version):
                    self.version = version
                    if let delivery = delivery(of: index) { return delivery }
                case .failure(let error, let version):
                    self.version = version
                    throw error
                case .closed: return nil
                case .nothing: await list.wait(after: version)
                }
            }
            return nil
        }

        private mutating func delivery(of index: LiveIndex) -> LiveDelivery<Record>? {
            var difference = LiveDifference()
            if let last {
                difference = LiveDifference(from: last, to: index)
                difference.identify(last.objects.withLock { $0 }, index.objects.withLock { $0 })
                self.last = index
                // The cached content was right.
                if difference.isEmpty, last.hasSamePlaces(as: index) { return nil }
            }
            let isFirst = last == nil
            last = index
            return LiveDelivery(index: index, pages: pages, difference: difference, isFirst: isFirst)
        }
    }
}
