import FerryContent
import FerryCore
import FerryTestSupport

/// A container and its devices as far as collection goes, without SQL and files: rows as registers, logs, heads, packs, and tombstones
/// that are forgotten by the stable vector. The decisions are those of `ContentCollection`. A seed decides everything.
///
/// All devices count, and logs and heads arrive in any order. Not in the model: devices that are silent, restored or cloned, folders
/// that go back, and packs that are packed anew.
final class CollectionModel {
    /// A rule that is left out.
    enum Fault: String, CaseIterable {
        /// Rule 1: whoever sees a pack unused removes it.
        case anyonesPacks
        /// Rule 2: a chunk that some pack has is not packed.
        case reuseOfPacks
        /// Rule 2: a content that is held back keeps a chunk from being packed.
        case heldBackKeeps
        /// Rule 2: a deleted content keeps a chunk from being packed.
        case deletedKeeps
        /// Rule 2: what is packed is decided before the transaction alone.
        case staleDecision
        /// Rule 3: a new reference to a deleted content inserts and packs nothing.
        case noInsertion
        /// Rule 3: a new reference to a deleted content inserts the row, and packs nothing.
        case noPacking
        /// Rule 4: nobody looks where references lead that no foreign key checks.
        case noLook
        /// Rule 4: the look comes after the pass, when its head may be out.
        case lateLook
        /// Rule 4: contents that are held back are passed over.
        case lookPassesHeldBack
        /// Rule 4: rows that are not shown are passed over.
        case lookPassesHidden
        /// Rule 4: conflicts are passed over.
        case lookPassesConflicts
        /// Rule 4: what was deleted before the pass is inserted without its chunks.
        case lookPacksNothing
        /// Rule 5: what rows, hidden rows and conflicts use is deleted too.
        case deletionOfUsed
        /// Rule 6: only living contents keep a pack.
        case livingAlone
        /// Rule 6: a file goes although its pack's row is back.
        case returnedPacks
        /// Tombstones are forgotten without the stable vector.
        case forgetfulness
        /// Tombstones of contents are forgotten while the deletion of a version may still lose.
        case hastyWithVersions
        /// Tombstones of contents are forgotten while the deletion of a row may still lose.
        case hastyWithRows
    }

    struct Stamp: Comparable {
        var time: Int
        var device: Int
        /// The number of the transaction in its device's log, from 1 on.
        var sequence: Int

        static func < (left: Stamp, right: Stamp) -> Bool { (left.time, left.device) < (right.time, right.device) }
    }

    /// The registers of an object.
    struct Object {
        var inserted: Stamp?
        var written: Stamp?
        var deleted: Stamp?

        /// Whether the row is there by itself.
        var isAlive: Bool {
            guard inserted != nil, let written else { return false }
            return deleted.map { written > $0 } ?? true
        }

        var stamps: [Stamp] { [inserted, written, deleted].compactMap { $0 } }

        mutating func insert(_ stamp: Stamp) {
            inserted = max(inserted ?? stamp, stamp)
            write(stamp)
        }

        mutating func write(_ stamp: Stamp) { written = max(written ?? stamp, stamp) }

        mutating func delete(_ stamp: Stamp) { deleted = max(deleted ?? stamp, stamp) }
    }

    /// A row that refers to a content.
    struct Reference {
        var object = Object()
        var isVersion = false
        /// The row by which this row is shown; `nil` for one that needs none.
        var parent: Int?
        var value: (content: Int, stamp: Stamp)?
    }

    /// A pack, named as equal packs of a device are.
    struct Pack: Hashable {
        var owner: Int
        var chunks: Set<Int>
    }

    enum Write {
        case insertContent(Int)
        case deleteContent(Int)
        case insertReference(Int, isVersion: Bool, content: Int, parent: Int?)
        /// `over`: the stamp of the value that the author saw.
        case setReference(Int, content: Int, over: Stamp)
        case touchReference(Int)
        case deleteReference(Int)
        case insertParent(Int)
        case deleteParent(Int)
        case insertPack(Pack)
        case deletePack(Pack)
    }

    struct Transaction {
        var stamp: Stamp
        var writes: [Write]
    }

    struct Head {
        var sequence = 0
        var replayed: [Int]
    }

    /// Bytes that were chunked and packed for a content whose row is not inserted yet.
    struct Prepared {
        var content: Int
        var packed: Set<Int>
    }

    final class Device {
        let number: Int
        var contents: [Int: Object] = [:]
        var references: [Int: Reference] = [:]
        var parents: [Int: Object] = [:]
        var packs: [Pack: Object] = [:]
        /// Values that lost, on this device alone.
        var conflicts: [(reference: Int, content: Int)] = []
        var log: [Transaction] = []
        var replayed: [Int]
        /// The newest head known of each device.
        var heads: [Head]
        var clock = 0
        /// Contents whose bytes are here.
        var whole: Set<Int> = []
        var prepared: [Prepared] = []
        /// Packs with a row that are not in the container yet.
        var pending: Set<Pack> = []
        /// Packs whose row was deleted, by the number of the transaction.
        var removed: [Pack: Int] = [:]
        /// What was known of contents when the latest pass began.
        var before: [Int: ContentStanding] = [:]
        var owesLook = false

        init(number: Int, devices: Int) {
            self.number = number
            replayed = Array(repeating: 0, count: devices)
            heads = Array(repeating: Head(replayed: Array(repeating: 0, count: devices)), count: devices)
        }
    }

    // MARK: The world

    /// The chunks of each content. Contents share chunks.
    let lists: [Set<Int>]
    let devices: [Device]
    /// What is in the container: heads with the logs up to them, and packs.
    var published: [Head]
    var files: Set<Pack> = []
    /// What was lost.
    var losses: [String] = []
    /// What stays in the end, and should not.
    var leftovers: [String] = []
    /// What happened, a line each.
    var telling: [String] = []
    var removedFiles = 0
    var forgotten = 0
    let fault: Fault?
    /// Whether chunks in packs of a device's own are not packed again.
    let countsOwnPacks: Bool
    let isTelling: Bool
    var chance: Chance
    var nextReference = 0
    /// What devices do, as often as it stands here.
    let actions: [Action]

    init(seed: UInt64, fault: Fault? = nil, isTelling: Bool = false) {
        self.isTelling = isTelling
        var chance = Chance(seed: seed)
        let chunks = 1 + chance.below(3)
        lists = (0..<1 + chance.below(3)).map { _ in
            Set((0..<1 + chance.below(2)).map { _ in chance.below(chunks) })
        }
        let count = 2 + chance.below(3)
        devices = (0..<count).map { Device(number: $0, devices: count) }
        published = devices.map { $0.heads[0] }
        actions = Action.allCases.flatMap { action in
            let most = [.upkeep, .deleteReference, .round].contains(action) ? 10 : 4
            return Array(repeating: action, count: 1 + chance.below(most))
        }
        self.chance = chance
        self.fault = fault
        countsOwnPacks = fault == nil && !seed.isMultiple(of: 2)
    }

    /// A world for a story: whoever tells it says what each device does.
    init(lists: [Set<Int>], devices count: Int, fault: Fault? = nil) {
        (self.lists, self.fault, isTelling, actions, chance) = (lists, fault, false, [], Chance(seed: 1))
        countsOwnPacks = false
        devices = (0..<count).map { Device(number: $0, devices: count) }
        published = devices.map { $0.heads[0] }
    }

    func play() {
        for _ in 0..<40 + chance.below(160) where losses.isEmpty {
            step(chance.pick(devices))
            checkBytes()
        }
        guard losses.isEmpty else { return }
        comeToRest()
        checkRest()
    }

    func step(_ device: Device) {
        switch chance.pick(actions) {
        case .replay: replay(device)
        case .publish: publish(device)
        case .readHeads: readHeads(device)
        case .sync:
            readHeads(device, completely: true)
            replay(device, completely: true)
            publish(device)
        case .round:
            for other in devices where !chance.oneIn(5) {
                readHeads(other, completely: true)
                replay(other, completely: !chance.oneIn(3))
                publish(other)
            }
        case .forget: forget(device)
        case .collect: collect(device)
        case .removeFiles: removeFiles(device)
        case .expire: expire(device)
        case .upkeep:
            readHeads(device, completely: true)
            forget(device)
            expire(device)
            collect(device)
            if chance.oneIn(2) { publish(device) }
            removeFiles(device)
        case .prepare: prepare(device)
        case .insertPrepared: insertPrepared(device)
        case .refer: refer(device)
        case .setReference: setReference(device)
        case .deleteReference: deleteReference(device)
        case .touchReference: touchReference(device)
        case .changeParent: changeParent(device)
        case .settle: settle(device)
        }
    }

    enum Action: CaseIterable {
        case replay, publish, readHeads, sync, round, forget, collect, removeFiles, expire, upkeep, prepare,
            insertPrepared
        case refer, setReference, deleteReference, touchReference, changeParent, settle
    }

    func tell(_ device: Device, _ text: @autoclosure () -> String) {
        if isTelling { telling.append("\(device.number) \(text())") }
    }

    // MARK: What a device knows

    func standing(_ content: Int, _ device: Device) -> ContentStanding? {
        guard let object = device.contents[content], object.inserted != nil else { return nil }
        if object.isAlive { return .living }
        let isHeldBack = device.references.values.contains {
            $0.isVersion && $0.object.isAlive && $0.value?.content == content
        }
        return isHeldBack ? .heldBack : .deleted
    }

    func standings(_ chunk: ChunkID, _ device: Device) -> [ContentStanding] {
        let known = lists.indices.filter { lists[$0].contains(Int(chunk.low)) }.compactMap { standing($0, device) }
        switch fault {
        case .heldBackKeeps: return known.map { $0 == .heldBack ? .living : $0 }
        case .deletedKeeps: return known.map { _ in .living }
        case .reuseOfPacks:
            let isPacked = device.packs.contains { $0.value.isAlive && $0.key.chunks.contains(Int(chunk.low)) }
            return isPacked ? [.living] : known
        default: return known
        }
    }

    /// The chunks in packs of a device's own that have a row.
    func ownChunks(_ device: Device) -> Set<ChunkID> {
        guard countsOwnPacks else { return [] }
        let packs = device.packs.filter { $0.value.isAlive && $0.key.owner == device.number }.keys
        return Set(packs.flatMap(\.chunks).map { ChunkID(high: 0, low: UInt64($0)) })
    }

    /// All references of a device, by kind. A row is hidden where the row is not there by which it is shown.
    func references(_ device: Device) -> [(kind: ContentReference, content: Int)] {
        let rows = device.references.values.filter(\.object.isAlive).compactMap { reference in
            reference.value.map { value -> (ContentReference, Int) in
                let isShown = reference.parent.map { device.parents[$0]?.isAlive ?? false } ?? true
                return (reference.isVersion ? .version : isShown ? .row : .hiddenRow, value.content)
            }
        }
        return rows + device.conflicts.map { (.conflict, $0.content) }
    }

    func chunks(_ content: Int) -> [ChunkID] {
        lists[content].sorted().map { ChunkID(high: 0, low: UInt64($0)) }
    }

    // MARK: What must hold

    /// At any time the bytes of whatever any device refers to are in a pack: in the container, or about to come there.
    func checkBytes() {
        let packs = files.union(
            devices.flatMap { device in device.pending.filter { device.packs[$0]?.isAlive ?? false } })
        let there = Set(packs.flatMap(\.chunks))
        for device in devices {
            for reference in references(device) where !lists[reference.content].isSubset(of: there) {
                losses.append(
                    "device \(device.number) has a \(reference.kind) of content \(reference.content), whose bytes are gone"
                )
            }
        }
    }

    func comeToRest() {
        for _ in 0..<8 {
            for device in devices {
                replay(device, completely: true)
                publish(device)
            }
            for device in devices {
                readHeads(device, completely: true)
                forget(device)
                expire(device)
                collect(device)
                publish(device)
                removeFiles(device)
            }
        }
    }

    /// In the end every content that anything refers to is found by the rows of each device, and nothing else is left.
    func checkRest() {
        checkBytes()
        for device in devices {
            let packs = device.packs.filter { $0.value.isAlive && files.contains($0.key) }.keys
            let there = Set(packs.flatMap(\.chunks))
            let used = Set(references(device).map(\.content))
            for content in used {
                let standing = standing(content, device)
                if standing == nil || standing == .deleted || !lists[content].isSubset(of: there) {
                    losses.append("content \(content) is used on device \(device.number), and its rows lead nowhere")
                }
            }
            // A conflict is on one device alone. There its content is inserted again as often as others delete it.
            let isResting = devices.allSatisfy(\.conflicts.isEmpty)
            guard isResting else { continue }
            if lists.indices.contains(where: { standing($0, device) == .deleted }) {
                leftovers.append("a deletion is remembered for ever")
            }
            let needed = Set(lists.indices.filter { standing($0, device) != nil }.flatMap { lists[$0] })
            for pack in files where pack.chunks.isDisjoint(with: needed) {
                leftovers.append("pack \(pack) stays for ever")
            }
        }
    }
}
