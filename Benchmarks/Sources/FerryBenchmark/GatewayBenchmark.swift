import FerryContainer
import FerryCore
import FerryEngine
import FerryRemote
import FerrySimulator
import FerryStore
import Foundation

/// Ferry over a real object storage: Ceph's gateway on loopback, over an OSD in memory.
struct GatewayBenchmark {
    let folder: String
    let isQuick: Bool

    static let requestSection = "requests through a gateway, two devices"
    static let quietPass = "a pass with nothing new"
    static let publication = "a publication"
    /// Every sixteenth publication joins small segments, and removes those that everybody has.
    static let rollingUp = " with a roll-up"
    static let reading = "a reader's share of a publication"
    static let listingSection = "a listing through a gateway"
    static let joinSection = "a join through a gateway, beside plain GETs of the same files"

    func run(progress: (String) -> Void, _ results: Measurements) throws {
        let missing = GatewayProcess.missing
        guard missing.isEmpty else {
            let names = missing.joined(separator: " ")
            return progress(
                "left out, because a gateway's programs are missing; `Scripts/setup \(names)` installs them")
        }
        RemoteContainers.enable()
        progress("starts")
        let gateway = try GatewayProcess()
        defer { gateway.stop() }
        progress("requests")
        try requests(gateway, results)
        for phase in isQuick ? [GatewayLatency.atWork] : [GatewayLatency.atWork, GatewayLatency.tenMinutes] {
            progress("from a commit to the other device, \(phase.name)")
            try GatewayLatency(folder: folder, pairs: isQuick ? 2 : 8).run(phase, gateway, results)
        }
        progress("joins")
        try joins(gateway, results)
        progress("a listing")
        try listing(gateway, results)
    }

    static func storage(_ place: String) throws -> S3Storage {
        guard case .s3(let location) = try ContainerLocation(place) else {
            throw BenchmarkError("\(place) is no bucket")
        }
        return S3Storage(location)
    }

    // MARK: Requests

    private func requests(_ gateway: GatewayProcess, _ results: Measurements) throws {
        let place = try Place(below: folder)
        defer { place.remove() }
        let location = gateway.place("requests")
        let counted = try (0..<2).map { _ in CountedStorage(try Self.storage(location)) }
        let devices = try GatewayPair.make(in: place, location, Songs(rows: 100).schema) { index in
            ReplicaEnvironment.live.opening("s3") { _ in RemoteBackend(counted[index]) }
        }
        let songs = Songs(rows: 100)
        _ = try songs.insert(devices[0].app)
        for index in [0, 1, 0, 1, 0] { try devices[index].sync() }
        var samples: [String: (requests: [Double], times: [Double])] = [:]
        func measure(_ name: String, _ index: Int) throws {
            let before = counted[index].counts
            let time = try seconds { try devices[index].sync(isThorough: false) }
            let counts = counted[index].counts - before
            let name = counts.deletions > 0 ? name + Self.rollingUp : name
            samples[name, default: ([], [])].requests.append(Double(counts.all))
            samples[name, default: ([], [])].times.append(time * 1000)
        }
        for number in 0...(isQuick ? 20 : 50) {
            try songs.update(devices[0].app, first: number, count: 1, transactionSize: 1)
            try measure(Self.publication, 0)
            try measure(Self.reading, 1)
            try measure(Self.quietPass, 1)
            // The first repeats an announcement that the beginning, with both devices in one moment, has overwritten.
            if number == 0 { samples = [:] }
        }
        try Device.compare(devices[0], devices[1], songs)
        for name in [Self.quietPass, Self.publication, Self.publication + Self.rollingUp, Self.reading] {
            guard let sample = samples[name] else { continue }
            results.add(Self.requestSection, name + ", at most", "requests", .ferry, sample.requests.max() ?? 0)
            results.add(Self.requestSection, name + ", median", "ms", .ferry, median(sample.times) ?? 0)
        }
    }

    // MARK: A listing

    /// A listing of the names of many files in a process of its own, beside a listing of nothing.
    private func listing(_ gateway: GatewayProcess, _ results: Measurements) throws {
        let (devices, files) = (isQuick ? 50 : 1000, 40)
        let place = gateway.place("listing")
        let storage = try Self.storage(place)
        let failure = Locked<(any Error)?>(nil)
        let written = seconds {
            SideBySide.perform(devices * files, atOnce: 8) { index in
                do {
                    var random = Random(seed: UInt64(index))
                    let number = UInt64(index % files) + 1
                    let name = try SegmentName(
                        first: number, last: number, checksum: Checksum(high: random.next(), low: 0))
                    let device = DeviceID(high: 7, low: UInt64(index / files))
                    _ = try storage.put(
                        "devices/\(device.hex)/segments/\(name.fileName)", [1], onlyIfAbsent: false)
                } catch {
                    failure.withLock { $0 = error }
                }
            }
        }
        if let failure = failure.withLock({ $0 }) { throw failure }
        let count = grouped(devices * files)
        func run(_ place: String) throws -> MeasuredProcess.Outcome {
            try MeasuredProcess.run(.list, database: "", container: place)
        }
        for _ in 0..<3 {
            let (nothing, all) = (try run(gateway.place("nothing")), try run(place))
            results.add(Self.listingSection, "\(count) files", "s", .ferry, all.seconds)
            results.add(Self.listingSection, "\(count) files, processor time", "s", .ferry, all.processorSeconds)
            results.add(
                Self.listingSection, Self.memory(count), "MB", .ferry, Double(all.peakBytes - nothing.peakBytes) / 1e6)
        }
        results.add(Self.listingSection, "\(count) files written, 8 at once", "s", .ferry, written)
    }

    private static func memory(_ count: String) -> String { "\(count) files, peak memory beyond a listing of nothing" }

    // MARK: A join

    /// How large a container is, and over which line it is read.
    private struct Joining {
        /// Of about 4 KB each.
        var rows: Int
        var isSlow: Bool

        var name: String {
            "first join of \(grouped(rows * 4096 / 1_000_000)) MB, \(isSlow ? "a line of 12.5 MB/s" : "loopback")"
        }
    }

    private func joins(_ gateway: GatewayProcess, _ results: Measurements) throws {
        results.name(.plain, "GETs one by one", in: Self.joinSection)
        results.name(.session, "8 GETs at once", in: Self.joinSection)
        results.name(.ferry, "join", in: Self.joinSection)
        // The larger one is beyond what a join keeps in memory.
        for rows in isQuick ? [4000] : [6000, 20_000] {
            for isSlow in [false, true] {
                for round in 1...(isQuick || isSlow ? 1 : 3) {
                    let prefix = "join-\(rows)-\(isSlow)-\(round)"
                    try join(
                        Joining(rows: rows, isSlow: isSlow), gateway.place(prefix),
                        by: gateway.place(prefix, isSlow: isSlow), results)
                }
            }
        }
    }

    /// - Parameter line: the location that the join reads from.
    private func join(_ what: Joining, _ location: String, by line: String, _ results: Measurements) throws {
        let place = try Place(below: folder)
        defer { place.remove() }
        try makePictures(what.rows, in: place, location)
        let counted = CountedStorage(try Self.storage(line))
        let environment = ReplicaEnvironment.live.opening("s3") { _ in RemoteBackend(counted) }
        let path = place.database("second")
        let joining = try seconds {
            _ = try ReplicaSetup(environment: environment).join(
                databasePath: path, containerPath: line, name: "second")
        }
        guard try Database(path: path).integer("SELECT count(*) FROM picture") == what.rows else {
            throw BenchmarkError("the join lacks rows")
        }
        let storage = try Self.storage(line)
        let keys = try keys(storage).filter { !$0.hasSuffix("/head") && $0.hasPrefix("devices/") }
        var bytes = 0
        for (variant, atOnce) in [(Measurements.Variant.plain, 1), (.session, 8)] {
            let time = try seconds { bytes = try self.read(keys, storage, atOnce: atOnce) }
            results.add(Self.joinSection, what.name, "MB/s", variant, Double(bytes) / 1e6 / time)
        }
        // The files' bytes count once, however often the join has read them.
        results.add(Self.joinSection, what.name, "MB/s", .ferry, Double(bytes) / 1e6 / joining)
        results.add(Self.joinSection, what.name + ", read", "MB", .ferry, Double(counted.counts.bytesRead) / 1e6)
        results.add(Self.joinSection, what.name + ", read", "MB", .plain, Double(bytes) / 1e6)
    }

    /// Makes a container with pictures, which nothing compresses.
    private func makePictures(_ rows: Int, in place: Place, _ location: String) throws {
        let path = place.database("first")
        let app = try Database(path: path)
        try app.execute("CREATE TABLE picture(id INTEGER PRIMARY KEY, content BLOB NOT NULL)")
        let made = try Replica.create(Store(path: path), containerPath: location, sealing: .open, name: "first").replica
        for _ in 0..<8 {
            try app.execute(
                """
                WITH RECURSIVE number(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM number LIMIT \(rows / 8))
                INSERT INTO picture(content) SELECT randomblob(4096) FROM number;
                """)
            _ = try made.sync()
        }
    }

    /// Reads objects, and nothing else.
    /// - Returns: their bytes.
    private func read(_ keys: [String], _ storage: S3Storage, atOnce: Int) throws -> Int {
        let (bytes, failure) = (Locked(0), Locked<(any Error)?>(nil))
        SideBySide.perform(keys.count, atOnce: atOnce) { index in
            do {
                let answer = try storage.get(keys[index], unless: nil, maximumBytes: 1 << 30)
                guard case .found(let content, _) = answer else { return }
                bytes.withLock { $0 += content.count }
            } catch {
                failure.withLock { $0 = error }
            }
        }
        if let failure = failure.withLock({ $0 }) { throw failure }
        return bytes.withLock { $0 }
    }

    private func keys(_ storage: S3Storage) throws -> [String] {
        var (keys, token): ([String], String?) = ([], nil)
        repeat {
            let page = try storage.list("", after: nil, token)
            keys += page.objects.map(\.key)
            token = page.next
        } while token != nil
        return keys
    }
}

/// Two devices of a container in a storage.
enum GatewayPair {
    /// - Parameter environment: of each device, by number.
    static func make(
        in place: Place, _ location: String, _ schema: String,
        _ environment: (Int) -> ReplicaEnvironment = { _ in .live }
    ) throws -> [Device] {
        let paths = ["first", "second"].map(place.database)
        let app = try Database(path: paths[0])
        try app.execute(schema)
        let first = try ReplicaSetup(environment: environment(0), sealing: .open)
            .create(Store(path: paths[0]), containerPath: location, name: "first").replica
        let second = try ReplicaSetup(environment: environment(1))
            .join(databasePath: paths[1], containerPath: location, name: "second").replica
        guard let second else { throw BenchmarkError("a join made no replica") }
        return [Device(app: app, replica: first), Device(app: try Database(path: paths[1]), replica: second)]
    }
}
