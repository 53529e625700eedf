import FerryContent
import FerryCore
import FerryTestSupport

/// What apps do, and what of that becomes a transaction.
extension CollectionModel {
    // MARK: Writing

    func commit(_ writes: [Write], _ device: Device) {
        guard !writes.isEmpty else { return }
        device.clock += 1
        let stamp = Stamp(time: device.clock, device: device.number, sequence: device.log.count + 1)
        let transaction = Transaction(stamp: stamp, writes: writes)
        apply(transaction, device)
        device.log.append(transaction)
        tell(device, "writes \(stamp.sequence) at \(stamp.time): \(writes)")
        for case .deletePack(let pack) in writes { device.removed[pack] = stamp.sequence }
        for case .insertPack(let pack) in writes { device.pending.insert(pack) }
    }

    func apply(_ transaction: Transaction, _ device: Device) {
        let stamp = transaction.stamp
        device.clock = max(device.clock, stamp.time)
        for write in transaction.writes {
            switch write {
            case .insertContent(let content): device.contents[content, default: Object()].insert(stamp)
            case .deleteContent(let content): device.contents[content, default: Object()].delete(stamp)
            case .insertReference(let id, let isVersion, let content, let parent):
                var reference = device.references[id, default: Reference()]
                reference.object.insert(stamp)
                (reference.isVersion, reference.parent) = (isVersion, parent)
                if reference.value.map({ $0.stamp < stamp }) ?? true { reference.value = (content, stamp) }
                device.references[id] = reference
            case .setReference(let id, let content, let over): set(id, content, over: over, stamp, device)
            case .touchReference(let id): device.references[id, default: Reference()].object.write(stamp)
            case .deleteReference(let id): device.references[id, default: Reference()].object.delete(stamp)
            case .insertParent(let id): device.parents[id, default: Object()].insert(stamp)
            case .deleteParent(let id): device.parents[id, default: Object()].delete(stamp)
            case .insertPack(let pack): device.packs[pack, default: Object()].insert(stamp)
            case .deletePack(let pack): device.packs[pack, default: Object()].delete(stamp)
            }
        }
    }

    /// The later value wins. Of values that do not know of each other the other one is kept as a conflict.
    func set(_ id: Int, _ content: Int, over: Stamp, _ stamp: Stamp, _ device: Device) {
        var reference = device.references[id, default: Reference()]
        reference.object.write(stamp)
        let known = reference.value
        if known.map({ $0.stamp < stamp }) ?? true { reference.value = (content, stamp) }
        if let known, known.stamp != over, known.content != content, reference.object.isAlive {
            device.conflicts.append((id, known.stamp < stamp ? known.content : content))
        }
        device.references[id] = reference
    }

    // MARK: Storing, and new references

    /// Reads a content's bytes, and packs what has to be packed. The row comes later.
    func prepare(_ device: Device) {
        let content = chance.below(lists.count)
        let missing = ContentCollection.chunksToPack(chunks(content), packed: ownChunks(device)) {
            standings($0, device)
        }
        device.whole.insert(content)
        device.prepared.append(Prepared(content: content, packed: Set(missing.map { Int($0.low) })))
    }

    func insertPrepared(_ device: Device) {
        guard !device.prepared.isEmpty else { return }
        let prepared = device.prepared.remove(at: chance.below(device.prepared.count))
        makeReference(to: prepared.content, packed: prepared.packed, device, isStored: true)
    }

    /// Refers to a content that is known, living or not.
    func refer(_ device: Device) {
        guard let content = lists.indices.filter({ standing($0, device) != nil }).randomElement(using: &chance) else {
            return
        }
        makeReference(to: content, packed: [], device, isStored: false)
    }

    func makeReference(to content: Int, packed: Set<Int>, _ device: Device, isStored: Bool) {
        let isVersion = chance.oneIn(3)
        guard let writes = writes(referringTo: content, packed: packed, device, isStored: isStored) else { return }
        let known = device.contents[content].map { _ in standing(content, device) } ?? nil
        // SQLite refuses a version of a content that has no row.
        let hasRow =
            known == .living || known == .heldBack
            || writes.contains { if case .insertContent = $0 { true } else { false } }
        if isVersion, !hasRow { return }
        let parents = device.parents.filter(\.value.isAlive).keys.sorted()
        let parent = isVersion || parents.isEmpty || chance.oneIn(2) ? nil : chance.pick(parents)
        nextReference += 1
        commit(
            writes + [.insertReference(nextReference, isVersion: isVersion, content: content, parent: parent)], device)
    }

    /// What a transaction writes beside a new reference: rules 2 and 3.
    /// - Returns: `nil` where bytes are needed that are not here and that no pack has.
    func writes(referringTo content: Int, packed: Set<Int>, _ device: Device, isStored: Bool) -> [Write]? {
        let known = standing(content, device)
        // What somebody else's row has already needs nothing more. Packs that were made for it are left to themselves.
        if let known, !ContentCollection.isInsertedAgain(byReferenceTo: known) { return [] }
        if !isStored, fault == .noInsertion { return [] }
        var writes: [Write] = [.insertContent(content)]
        if !isStored, fault == .noPacking { return writes }
        var chunks = packed
        if !isStored || fault != .staleDecision {
            let ids = ownChunks(device).union(packed.map { ChunkID(high: 0, low: UInt64($0)) })
            let missing = ContentCollection.chunksToPack(self.chunks(content), packed: ids) { standings($0, device) }
            let numbers = Set(missing.map { Int($0.low) })
            let canRead = device.packs.filter { $0.value.isAlive && files.contains($0.key) }.keys
            let hasBytes = device.whole.contains(content)
            guard numbers.allSatisfy({ chunk in hasBytes || canRead.contains { $0.chunks.contains(chunk) } }) else {
                return nil
            }
            chunks.formUnion(numbers)
        }
        let pack = Pack(owner: device.number, chunks: chunks)
        if !chunks.isEmpty, device.packs[pack]?.isAlive != true { writes.insert(.insertPack(pack), at: 0) }
        return writes
    }

    func setReference(_ device: Device) {
        guard let id = rows(device).randomElement(using: &chance), let value = device.references[id]?.value,
            let content = lists.indices.filter({ standing($0, device) != nil }).randomElement(using: &chance),
            let writes = writes(referringTo: content, packed: [], device, isStored: false)
        else { return }
        commit(writes + [.setReference(id, content: content, over: value.stamp)], device)
    }

    /// Ends a conflict: the value that lost goes, or comes back.
    func settle(_ device: Device) {
        guard !device.conflicts.isEmpty else { return }
        let place = chance.below(device.conflicts.count)
        let (id, content) = device.conflicts[place]
        if chance.oneIn(2), let reference = device.references[id], reference.object.isAlive, let value = reference.value
        {
            guard let writes = writes(referringTo: content, packed: [], device, isStored: false) else { return }
            commit(writes + [.setReference(id, content: content, over: value.stamp)], device)
        }
        device.conflicts.remove(at: place)
    }

    /// The rows of the app's that are shown.
    func rows(_ device: Device) -> [Int] {
        device.references.filter { _, reference in
            reference.object.isAlive && !reference.isVersion
                && reference.parent.map { device.parents[$0]?.isAlive ?? false } ?? true
        }.keys.sorted()
    }

    func deleteReference(_ device: Device) {
        let alive = device.references.filter(\.value.object.isAlive)
        guard
            let id = alive.keys.sorted().filter({ alive[$0]?.isVersion ?? false || rows(device).contains($0) })
                .randomElement(using: &chance)
        else { return }
        commit([.deleteReference(id)], device)
    }

    /// Writes to another column: a later deletion loses to it no more.
    func touchReference(_ device: Device) {
        guard let id = rows(device).randomElement(using: &chance) else { return }
        commit([.touchReference(id)], device)
    }

    /// Inserts a row by which others are shown, or deletes it with those that are known here.
    func changeParent(_ device: Device) {
        let id = chance.below(2)
        guard device.parents[id]?.isAlive == true else { return commit([.insertParent(id)], device) }
        let children = rows(device).filter { device.references[$0]?.parent == id }
        commit([.deleteParent(id)] + children.map { .deleteReference($0) }, device)
    }
}
