import FerryCore
import FerrySeal

/// The counted records, each after the records followed by it (Docs/Sealing.md, "Who is a member").
///
/// A record counts if its signature holds, if every followed record counts, and if the author was a member by the
/// record's past. The author may be the recovery key instead. The past is every record followed directly or indirectly.
///
/// So the past alone decides whether a record counts. Later records and the order of arrival change nothing. A record
/// that does not count is in no graph, nor is any record which follows it.
///
/// Invariants:
/// - `nodes` has each record after the records followed by it. `numberByHash` has the place of each.
/// - A record is in `nodes` or in `waiting`, never in both; `waiting` has at most `maximumWaiting`.
/// - `heads` are the records in `nodes` followed by no record in `nodes`.
/// - `all` has every record in `nodes`, and every departure in `departures`.
package struct MemberGraph: Sendable {
    /// The most records in a graph. `insert` refuses more.
    package static let maximumRecords = 65_536
    /// The most devices in a graph. `insert` refuses more.
    package static let maximumDevices = 4_096
    /// The most records waiting for predecessors. Further records are forgotten and come again with the next scan.
    package static let maximumWaiting = 65_536

    /// The outcome of an insertion.
    package enum Outcome: Hashable, Sendable {
        /// The record counts.
        case counts
        /// The record was there before.
        case known
        /// Records followed by this record are not here yet.
        case waits
        /// The record never counts: the author was no member, or the signature is wrong.
        case refused
    }

    /// The first record of all.
    package let genesis: RecordHash
    package let container: ContainerID

    /// A set of records with the past of each record in the set: the past of a single record, or all records.
    struct Scope: Hashable, Sendable {
        var records: PagedSets.Set
        /// The departures in these records.
        var departures: PagedSets.Set
    }

    /// The entry of a record.
    struct Node: Sendable {
        let hash: RecordHash
        /// A number in `devices`; `nil` for the recovery key.
        let author: Int?
        let milliseconds: UInt64
        /// The past of the record.
        let scope: Scope
        /// The departures in the past, and the departure in the record itself.
        let departuresAfter: PagedSets.Set
        /// The greatest number of an epoch in the past and in the record.
        let greatestEpoch: UInt32
    }

    /// A device named by an admission, or a former log.
    struct Device: Sendable {
        let id: DeviceID
        var keys: DevicePublicKeys?
        /// The admissions of the device. Of an author's admissions by the same way, only those that follow none of the
        /// rest.
        var admissions: [Edge] = []
        /// The numbers of the counted removals and of the leaving, without departures that follow an earlier departure
        /// in this list.
        var departures: [Int] = []
        var removals: [Removal] = []
        var endings: [LogEnding] = []
        /// The accepted ends from records with the device out in their past.
        var acceptances: [Acceptance] = []
        /// The last record by the device.
        var lastRecord: Int?
        var isFormer = false
    }

    struct Edge: Sendable {
        let record: Int
        /// `nil` for the recovery key.
        let author: Int?
        let way: Admission.Way?
    }

    struct Departure: Sendable {
        let record: Int
        let device: Int
    }

    struct Removal: Sendable {
        let record: Int
        let author: Int?
    }

    struct Acceptance: Sendable {
        let record: Int
        let author: Int?
        let end: LogEnding
    }

    /// In an order with each record after the records followed by it.
    private(set) var nodes: [Node] = []
    private(set) var devices: [Device] = []
    private(set) var departures: [Departure] = []
    /// All counted records.
    private(set) var all = Scope(records: .empty, departures: .empty)
    private(set) var epochs = EpochLedger()
    private(set) var sets = PagedSets()
    private var numberByHash: [RecordHash: Int] = [:]
    private var numberByDevice: [DeviceID: Int] = [:]
    private var recovery: DevicePublicKeys?
    private var waiting: [RecordHash: MemberRecord] = [:]
    /// By the hash of a missing record: the records waiting for the missing record.
    private var waitingFor: [RecordHash: [RecordHash]] = [:]
    /// The records followed by no record.
    package private(set) var heads: Set<RecordHash> = []
    /// Whether a record has an act known only to a later Ferry. The roster is then unknown here.
    package private(set) var needsUpdate = false

    package init(genesis: RecordHash, container: ContainerID) {
        self.genesis = genesis
        self.container = container
    }

    /// The number of counted records.
    package var count: Int { nodes.count }
    /// The keys of the recovery code; `nil` without a recovery code.
    package var recoveryKeys: DevicePublicKeys? { recovery }

    package func contains(_ hash: RecordHash) -> Bool { numberByHash[hash] != nil }

    /// The keys of a device named by an admission, member or not; `nil` for any other.
    package func keys(of device: DeviceID) -> DevicePublicKeys? { numberByDevice[device].flatMap { devices[$0].keys } }

    /// The counted records without the first `count`, each after the records followed by it.
    package func hashes(after count: Int) -> [RecordHash] { nodes.dropFirst(count).map(\.hash) }

    /// Records followed by waiting records, but absent here.
    package var missing: Set<RecordHash> {
        Set(waitingFor.keys.filter { waiting[$0] == nil })
    }

    /// SHA-256 of the hashes of all heads, ascending. Devices with the same digest have the same records.
    package var headsDigest: [UInt8] { SealSuite.digest(heads.sorted().flatMap(\.bytes)) }

    // MARK: Taking records

    /// Takes a record, and the records waiting for this record. Any order gives the same graph.
    /// - Parameter isVerified: whether the record's signature is known to hold.
    /// - Throws: `limitExceeded` above `maximumRecords` and `maximumDevices`; the graph is as before then.
    @discardableResult
    package mutating func insert(_ record: MemberRecord, isVerified: Bool = false) throws(FerryError) -> Outcome {
        guard record.container == container, record.membership == genesis else { return .refused }
        if numberByHash[record.hash] != nil { return .known }
        if let missing = record.follows.first(where: { numberByHash[$0] == nil }) {
            wait(record, for: missing)
            return .waits
        }
        guard try place(record, isVerified: isVerified) else { return .refused }
        var placed = [record.hash]
        while let hash = placed.popLast() {
            for follower in waitingFor.removeValue(forKey: hash) ?? [] {
                guard let record = waiting.removeValue(forKey: follower) else { continue }
                if let missing = record.follows.first(where: { numberByHash[$0] == nil }) {
                    wait(record, for: missing)
                } else if try place(record, isVerified: false) {
                    placed.append(follower)
                }
            }
        }
        return .counts
    }

    private mutating func wait(_ record: MemberRecord, for missing: RecordHash) {
        guard waiting[record.hash] == nil, waiting.count < Self.maximumWaiting else { return }
        waiting[record.hash] = record
        waitingFor[missing, default: []].append(record.hash)
    }

    /// Takes a record if the record counts. All predecessors must be here.
    private mutating func place(_ record: MemberRecord, isVerified: Bool) throws(FerryError) -> Bool {
        let followed = record.follows.compactMap { numberByHash[$0] }
        let scope = Scope(
            records: sets.union(followed.map { nodes[$0].scope.records }, inserting: followed),
            departures: sets.union(followed.map { nodes[$0].departuresAfter }))
        let author: Int?
        if record.isFirst {
            guard nodes.isEmpty, case .found(let founding)? = record.acts.first,
                isVerified || record.isSigned(by: founding.founder)
            else { return false }
            author = try found(founding, record)
        } else if record.isRecovery {
            guard let recovery, isVerified || record.isSigned(by: recovery) else { return false }
            author = nil
        } else {
            guard let number = numberByDevice[record.author], let keys = devices[number].keys,
                isMember(number, by: scope), isVerified || record.isSigned(by: keys)
            else { return false }
            author = number
        }
        guard nodes.count < Self.maximumRecords else { throw Self.limit("records", Self.maximumRecords) }
        try add(record, author, scope, followed)
        return true
    }

    private mutating func found(_ founding: Founding, _ record: MemberRecord) throws(FerryError) -> Int {
        recovery = founding.recovery
        for log in founding.formerLogs {
            let number = try number(of: log.device)
            devices[number].isFormer = true
            devices[number].endings.append(log.end)
        }
        let founder = try number(of: record.author)
        devices[founder].keys = founding.founder
        devices[founder].admissions = [Edge(record: 0, author: nil, way: nil)]
        return founder
    }

    private mutating func add(
        _ record: MemberRecord, _ author: Int?, _ scope: Scope, _ followed: [Int]
    ) throws(FerryError) {
        let own = nodes.count
        // Steps that can fail come first, so the graph is as before if a step fails.
        for case .admit(let admission) in record.acts { _ = try number(of: admission.device) }
        var departuresAfter = scope.departures
        for act in record.acts {
            guard let gone = departure(act, author, scope) else { continue }
            switch act {
            case .leave(let end): devices[gone].endings.append(end)
            default: devices[gone].removals.append(Removal(record: own, author: author))
            }
            // A departure that follows an earlier departure adds nothing: acts that stand beside the earlier departure
            // stand beside this departure, too.
            guard !devices[gone].departures.contains(where: { sets.contains($0, in: scope.departures) }) else {
                continue
            }
            sets.insert(departures.count, into: &departuresAfter)
            devices[gone].departures.append(departures.count)
            departures.append(Departure(record: own, device: gone))
        }
        for act in record.acts {
            switch act {
            case .admit(let admission):
                addAdmission(admission, Edge(record: own, author: author, way: admission.way), scope)
            case .accept(let device, let end):
                guard let number = numberByDevice[device], isOut(number, by: scope) else { continue }
                devices[number].acceptances.append(Acceptance(record: own, author: author, end: end))
            case .unknown: needsUpdate = true
            case .found, .remove, .leave, .epoch, .grant: break
            }
        }
        let greatest = followed.map { nodes[$0].greatestEpoch }.max() ?? 0
        nodes.append(
            Node(
                hash: record.hash, author: author, milliseconds: record.milliseconds, scope: scope,
                departuresAfter: departuresAfter, greatestEpoch: addEpochs(record, own, author, scope, greatest)))
        if let author { devices[author].lastRecord = own }
        sets.insert(own, into: &all.records)
        all.departures = sets.union([all.departures, departuresAfter])
        numberByHash[record.hash] = own
        for hash in record.follows { heads.remove(hash) }
        heads.insert(record.hash)
    }

    /// The device put out by an act, if the act counts.
    private func departure(_ act: MemberAct, _ author: Int?, _ scope: Scope) -> Int? {
        switch act {
        case .leave: return author
        case .remove(let device):
            guard let number = numberByDevice[device], isNamed(number, by: scope) else { return nil }
            guard let author else { return number }
            return isOlderOrKin(author, number, by: scope) ? number : nil
        case .found, .admit, .accept, .epoch, .grant, .unknown: return nil
        }
    }

    private mutating func addAdmission(_ admission: Admission, _ edge: Edge, _ scope: Scope) {
        guard let number = numberByDevice[admission.device] else { return }
        devices[number].keys = admission.keys
        // An earlier admission by the same author goes further in everything: it stands wherever this admission does,
        // and is as old or older.
        let isKnown = devices[number].admissions.contains {
            $0.author == edge.author && ($0.way == .copy) == (edge.way == .copy)
                && sets.contains($0.record, in: scope.records)
        }
        if !isKnown { devices[number].admissions.append(edge) }
    }

    private mutating func addEpochs(
        _ record: MemberRecord, _ own: Int, _ author: Int?, _ scope: Scope, _ greatest: UInt32
    ) -> UInt32 {
        var greatest = greatest
        for act in record.acts {
            switch act {
            case .epoch(let making) where making.number == greatest + 1:
                let isKnown = epochs.entries(of: making.epoch).contains {
                    sets.contains(epochs[$0].record, in: scope.records)
                }
                if isKnown { continue }
                let holders = holders(making.wraps, author)
                epochs.append(
                    EpochLedger.Entry(
                        record: own, epoch: making.epoch, number: making.number, maker: author,
                        holders: holders.devices, strangers: holders.strangers))
                greatest = making.number
            case .grant(let epoch, let wraps):
                let holders = holders(wraps, author)
                for entry in epochs.entries(of: epoch) {
                    let made = epochs[entry].record
                    guard made == own || sets.contains(made, in: scope.records) else { continue }
                    epochs[entry].holders = sets.union([epochs[entry].holders, holders.devices])
                    epochs[entry].strangers.formUnion(holders.strangers)
                }
            case .found, .admit, .remove, .leave, .accept, .epoch, .unknown: break
            }
        }
        return greatest
    }

    /// The holders of a secret by an act. Receivers without a number here are kept by their IDs.
    private mutating func holders(
        _ wraps: [KeyWrap], _ author: Int?
    ) -> (devices: PagedSets.Set, strangers: Set<DeviceID>) {
        var numbers = author.map { [$0] } ?? []
        var strangers: Set<DeviceID> = []
        for wrap in wraps where wrap.receiver != MemberRecord.recoveryAuthor {
            if let number = numberByDevice[wrap.receiver] {
                numbers.append(number)
            } else {
                strangers.insert(wrap.receiver)
            }
        }
        return (sets.union([], inserting: numbers), strangers)
    }

    private mutating func number(of device: DeviceID) throws(FerryError) -> Int {
        if let number = numberByDevice[device] { return number }
        guard devices.count < Self.maximumDevices else { throw Self.limit("devices", Self.maximumDevices) }
        numberByDevice[device] = devices.count
        devices.append(Device(id: device))
        return devices.count - 1
    }

    private static func limit(_ what: String, _ most: Int) -> FerryError {
        FerryError(
            .limitExceeded, "The container has more than \(most) \(what). Found its membership anew: ferry seal --anew."
        )
    }

    func number(ofKnown device: DeviceID) -> Int? { numberByDevice[device] }
}
