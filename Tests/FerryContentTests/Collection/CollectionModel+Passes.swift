import FerryContent
import FerryCore
import FerryTestSupport

/// What devices hear of each other, and what they forget and remove.
extension CollectionModel {
    // MARK: Passes

    func replay(_ device: Device, completely: Bool = false) {
        var ends: [Int: Int] = [:]
        for other in devices where other !== device && (completely || chance.oneIn(2)) {
            let (from, there) = (device.replayed[other.number], published[other.number].sequence)
            if there > from { ends[other.number] = completely ? there : from + 1 + chance.below(there - from) }
        }
        pass(device, replaying: ends)
    }

    /// Replays logs up to these numbers, and looks where references lead.
    func pass(_ device: Device, replaying ends: [Int: Int]) {
        if device.owesLook { look(device, before: device.before) }
        device.before = Dictionary(
            uniqueKeysWithValues: lists.indices.compactMap { content in standing(content, device).map { (content, $0) }
            })
        for (other, end) in ends.sorted(by: { $0.key < $1.key }) {
            for transaction in devices[other].log[device.replayed[other]..<end] { apply(transaction, device) }
            tell(device, "replays \(device.replayed[other] + 1)...\(end) of \(other)")
            device.replayed[other] = end
        }
        if fault == .lateLook { device.owesLook = true } else { look(device, before: device.before) }
    }

    /// Rule 4, at the end of a pass.
    func look(_ device: Device, before: [Int: ContentStanding]) {
        device.owesLook = false
        if fault == .noLook { return }
        let references = references(device).filter { reference in
            if reference.kind.isCheckedByForeignKey { return false }
            if reference.kind == .hiddenRow, fault == .lookPassesHidden { return false }
            return reference.kind != .conflict || fault != .lookPassesConflicts
        }
        let again = ContentCollection.insertedAgain(
            references: references.map { id($0.content) }, before: { before[Int($0.low)] },
            standing: { content in
                let known = standing(Int(content.low), device)
                return known == .heldBack && fault == .lookPassesHeldBack ? .living : known
            })
        var rows = again.rows
        if fault == .lookPacksNothing { rows.formUnion(again.rowsWithChunks) }
        commit(rows.sorted().map { .insertContent(Int($0.low)) }, device)
        for content in again.rowsWithChunks.subtracting(rows).sorted() {
            commit(writes(referringTo: Int(content.low), packed: [], device, isStored: false) ?? [], device)
        }
    }

    func id(_ content: Int) -> ContentID { ContentID(high: 0, low: UInt64(content)) }

    /// Packs first, then the log, then the head: rule 1.
    func publish(_ device: Device) {
        files.formUnion(device.pending.filter { device.packs[$0]?.isAlive ?? false })
        device.pending = []
        var replayed = device.replayed
        replayed[device.number] = device.log.count
        published[device.number] = Head(sequence: device.log.count, replayed: replayed)
        tell(device, "publishes, with \(replayed)")
        // What is in the container may go from here.
        if chance.oneIn(2) { device.whole = [] }
    }

    func readHeads(_ device: Device, completely: Bool = false) {
        for other in devices where completely || chance.oneIn(2) {
            let head = published[other.number]
            if head.sequence >= device.heads[other.number].sequence { device.heads[other.number] = head }
        }
        tell(device, "knows heads \(device.heads.map { [$0.sequence] + $0.replayed })")
    }

    // MARK: Collection

    /// Forgets what all devices have replayed, where everything is known that they wrote before they said so.
    func forget(_ device: Device) {
        let others = devices.filter { $0 !== device }
        guard
            fault == .forgetfulness
                || others.allSatisfy({ device.replayed[$0.number] >= device.heads[$0.number].sequence })
        else { return }
        var stable = device.replayed
        stable[device.number] = device.log.count
        if fault != .forgetfulness {
            for other in others {
                for log in devices.indices { stable[log] = min(stable[log], device.heads[other.number].replayed[log]) }
            }
        }
        func isOver(_ object: Object) -> Bool {
            !object.isAlive && object.deleted != nil && object.stamps.allSatisfy { $0.sequence <= stable[$0.device] }
        }
        for (id, reference) in device.references
        where isOver(reference.object) && reference.value.map({ $0.stamp.sequence <= stable[$0.stamp.device] }) ?? true
        {
            device.references[id] = nil
        }
        for (id, parent) in device.parents where isOver(parent) { device.parents[id] = nil }
        for (content, object) in device.contents where isOver(object) {
            let remembered = device.references.values.compactMap { reference in
                let isHasty = fault == (reference.isVersion ? .hastyWithVersions : .hastyWithRows)
                return isHasty && !reference.object.isAlive ? nil : reference.value.map { id($0.content) }
            }
            guard ContentCollection.mayForget(id(content), remembered: remembered) else { continue }
            device.contents[content] = nil
            forgotten += 1
            tell(device, "forgets content \(content)")
        }
        for (pack, object) in device.packs where isOver(object) { device.packs[pack] = nil }
    }

    /// Deletes what nothing uses here: rule 5, without the thirty days.
    func expire(_ device: Device) {
        let used = Set(references(device).filter { fault != .deletionOfUsed || $0.kind == .version }.map(\.content))
        let living = lists.indices.filter { standing($0, device) == .living }
        let look = ContentCollection.look(
            at: living.map(id), since: { _ in nil }, nowMilliseconds: 0, unusedMilliseconds: 0,
            isUsed: { used.contains(Int($0.low)) })
        commit(look.deleted.sorted().map { .deleteContent(Int($0.low)) }, device)
    }

    /// Deletes the rows of packs that nothing needs: rule 6.
    func collect(_ device: Device) {
        let owned = device.packs.filter {
            $0.value.isAlive && ($0.key.owner == device.number || fault == .anyonesPacks)
        }.keys
        let names = Dictionary(uniqueKeysWithValues: owned.map { (name($0), $0) })
        let known = lists.indices.filter { content in
            let standing = standing(content, device)
            return fault == .livingAlone ? standing == .living : standing != nil
        }
        let unused = ContentCollection.unusedPacks(
            names.map { (id: $0.key, chunks: $0.value.chunks.map { ChunkID(high: 0, low: UInt64($0)) }) }
        ) { chunk in known.contains { lists[$0].contains(Int(chunk.low)) } }
        commit(unused.sorted().compactMap { names[$0] }.map { .deletePack($0) }, device)
    }

    func name(_ pack: Pack) -> PackID {
        PackID(high: UInt64(pack.owner), low: pack.chunks.reduce(0) { $0 | 1 << UInt64($1) })
    }

    func removeFiles(_ device: Device) {
        let names = Dictionary(uniqueKeysWithValues: device.removed.keys.map { (name($0), $0) })
        let removed = Dictionary(uniqueKeysWithValues: device.removed.map { (name($0.key), UInt64($0.value)) })
        let going = ContentCollection.filesToRemove(
            removed, published: UInt64(published[device.number].sequence),
            hasRow: { pack in
                fault != .returnedPacks && names[pack].map { device.packs[$0]?.isAlive ?? false } ?? false
            })
        for pack in going.compactMap({ names[$0] }) {
            if files.remove(pack) != nil { removedFiles += 1 }
            tell(device, "removes \(pack)")
            device.removed[pack] = nil
        }
    }
}
