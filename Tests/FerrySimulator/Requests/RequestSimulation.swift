import FerryContainer
import FerryCore
import FerryEngine
import FerryLog
import FerryStore
import FerryTestSupport
import Foundation

/// Counts the requests of devices that watch a container in an object storage, in simulated time (Docs/Performance.md, "Requests of a
/// month").
///
/// Whole devices are production's watches over `RemoteBackend` and `MemoryStorage`, with real databases. Requests take no time and never
/// fail.
package struct RequestSimulation {
    package struct Outcome: Hashable, Sendable {
        /// Requests of all whole devices on the counted days.
        package var counts: RequestCounts
        package var use: ContainerUse
        /// Objects in the container at the end.
        package var objects: Int

        /// A number of a device in thirty days.
        package func month(_ number: Int) -> Double { Double(number) * 30 / Double(use.days * use.whole) }

        /// The price of a device's requests in a month.
        package func dollars(_ prices: StoragePrices = .amazon) -> Double {
            prices.requests(counts) * 30 / Double(use.days * use.whole)
        }

        /// The price of the whole container in a month: requests, and bytes that leave the storage.
        package func dollarsOfAll(_ prices: StoragePrices = .amazon) -> (requests: Double, leaving: Double) {
            let devices = Double(use.devices)
            return (dollars(prices) * devices, prices.leaving(bytes: month(counts.bytesRead) * devices))
        }
    }

    private static let place = "s3://bucket/music"
    private static let hour: Int64 = 3_600_000
    private static let day: Int64 = 86_400_000
    /// Midnight.
    private static let start: Int64 = 19_700 * day

    private let use: ContainerUse
    private let folder: String
    private let time = WatchedTime(milliseconds: start)
    private let storage = MemoryStorage()
    private let random: SeededRandom

    private struct Device {
        var replica: Replica
        var counted: CountedStorage
    }

    /// Plays a use of a container.
    /// - Parameter folder: where the databases are made, and removed again.
    package static func run(_ use: ContainerUse, below folder: String) throws -> Outcome {
        let own = folder + "/ferry-requests-" + UUID().uuidString
        try FileManager.default.createDirectory(atPath: own, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: own) }  // a temporary folder
        return try RequestSimulation(use: use, folder: own, random: SeededRandom(seed: use.seed)).play()
    }

    // MARK: Beginning

    private func makeDevice(_ number: Int) throws -> Device {
        let counted = CountedStorage(storage)
        let (time, random) = (time, random)
        let environment = ReplicaEnvironment(clock: time, random: random, fileSystem: PosixFileSystem())
            .opening("s3") { _ in RemoteBackend(counted, clock: time, random: random) }
        let path = folder + "/device\(number).sqlite"
        try Data().write(to: URL(filePath: path))
        let store = try Store(path: path, clock: time, random: random)
        try store.write { try $0.execute("CREATE TABLE item(id INTEGER PRIMARY KEY, name TEXT)") }
        let setup = ReplicaSetup(environment: environment, sealing: .open)
        let made =
            number == 0
            ? try setup.create(store, containerPath: Self.place, name: "device 0").replica
            : try setup.join(store, containerPath: Self.place, name: "device \(number)").replica
        return Device(replica: try Replica(made.store, environment: environment), counted: counted)
    }

    private func write(_ device: Device) throws {
        try device.replica.store.write { connection in
            try connection.execute("INSERT INTO item(name) VALUES ('a name of about the usual length')")
        }
    }

    /// The changesets that a device has published.
    private func published(_ device: Device) throws -> [Changeset] {
        let (container, id) = (device.replica.identity.container, device.replica.identity.device)
        return try storage.contents.filter { $0.key.hasPrefix("devices/\(id.hex)/segments/") }.sorted {
            $0.key < $1.key
        }
        .flatMap { try SegmentDecoder.decode($0.value, container: container, device: id).1 }
    }

    /// Gives each device files that nobody reads: parts of no snapshot.
    private func fill(_ devices: [DeviceID]) throws {
        for device in devices {
            let prefix = "devices/\(device.hex)/"
            let there = storage.contents.keys.filter { $0.hasPrefix(prefix) }.count
            for _ in 0..<max(use.filesPerDevice - there, 0) {
                let name = Checksum(high: random.next(), low: random.next()).hex
                storage.set(prefix + "snapshots/chunks/" + name, [1])
            }
        }
    }

    // MARK: Days

    private func play() throws -> Outcome {
        let first = try makeDevice(0)
        try write(first)
        _ = try first.replica.sync()
        let authors = try DistantAuthors(
            use.devices - use.whole, storage, like: published(first), clock: time, random: random)
        let devices = try [first] + (1..<max(use.whole, 1)).map { try makeDevice($0) }
        try fill(authors.devices + devices.map(\.replica.identity.device))
        for _ in 0..<2 { for device in devices { _ = try device.replica.sync() } }
        for device in devices { _ = time.watch(device.replica) }
        do {
            let counts = try play(devices, authors)
            try time.stop()
            return Outcome(counts: counts, use: use, objects: storage.contents.count)
        } catch {
            try? time.stop()  // the failure of the play is told
            throw error
        }
    }

    private func play(_ devices: [Device], _ authors: DistantAuthors) throws -> RequestCounts {
        func sum() -> RequestCounts { devices.reduce(RequestCounts()) { $0 + $1.counted.counts } }
        let begin = time.now + Self.hour
        let plan = events(authors: authors.count, from: begin)
        var before: RequestCounts?
        for event in plan {
            if before == nil, event.milliseconds >= begin {
                try time.advance(to: begin)
                before = sum()
            }
            try time.advance(to: event.milliseconds)
            switch event.what {
            case .change(let device):
                if device < devices.count {
                    try write(devices[device])
                    time.tell(device)
                } else {
                    try authors.publish(device - devices.count)
                }
            case .head(let author):
                for device in devices {
                    let id = device.replica.identity.device
                    authors.note(try device.replica.store.versionVector()[id], of: id)
                }
                try authors.refreshHead(author)
            }
        }
        if before == nil {
            try time.advance(to: begin)
            before = sum()
        }
        try time.advance(to: begin + Int64(use.days) * Self.day)
        return sum() - (before ?? RequestCounts())
    }

    private struct Event {
        enum What {
            /// A device changes a row; whole devices have the first numbers.
            case change(Int)
            /// An author without a database lists all names, and may write a head.
            case head(Int)
        }

        var milliseconds: Int64
        var what: What
    }

    private func events(authors: Int, from begin: Int64) -> [Event] {
        var events: [Event] = []
        let end = begin + Int64(use.days) * Self.day
        for day in 0...Int64(use.days) {
            let opening = Self.start + day * Self.day + 9 * Self.hour
            for _ in 0..<use.changes {
                let moment = opening + Int64(random.below(use.hours * Int(Self.hour)))
                events.append(Event(milliseconds: moment, what: .change(random.below(use.devices))))
            }
        }
        if use.changes > 0 {
            let pages = use.devices * use.filesPerDevice / ObjectPage.maximumObjects + 1
            let interval = Int64(RemoteTiming().listing(pages: pages))
            for author in 0..<authors {
                var moment = begin + Int64(random.below(Int(interval)))
                while moment < end {
                    events.append(Event(milliseconds: moment, what: .head(author)))
                    moment += interval
                }
            }
        }
        // Equal times in the order of the plan.
        return events.enumerated().filter { $0.element.milliseconds < end }
            .sorted { ($0.element.milliseconds, $0.offset) < ($1.element.milliseconds, $1.offset) }.map(\.element)
    }
}
