import FerryCore

/// The objects of a region, as the rules look at them: in a few arrays, because a region may have a hundred thousand.
struct RegionMembers {
    private struct Flags: OptionSet {
        let rawValue: UInt8
        static let alive = Flags(rawValue: 1)
        static let restorable = Flags(rawValue: 2)
        static let heldFromOutside = Flags(rawValue: 4)
        static let refused = Flags(rawValue: 8)
    }

    private(set) var tokens: [RowToken] = []
    private var flags: [Flags] = []
    /// The times of deletions.
    private var deletions: [Int: Stamp] = [:]
    private var allReferences: [RuleReference] = []
    private var allParentKeys: [RowToken] = []
    /// For each object the places behind its last references.
    private var referencesEnds: [Int32] = []
    private var parentKeysEnds: [Int32] = []

    /// - Parameter inserted: is given each object's newest insertion.
    init(_ objects: some Collection<RuleObject>, inserted: inout [Stamp]) {
        tokens.reserveCapacity(objects.count)
        flags.reserveCapacity(objects.count)
        referencesEnds.reserveCapacity(objects.count)
        parentKeysEnds.reserveCapacity(objects.count)
        inserted.reserveCapacity(objects.count)
        for object in objects {
            if let deleted = object.deleted { deletions[tokens.count] = deleted }
            tokens.append(object.token)
            inserted.append(object.inserted)
            var flags: Flags = []
            if object.isAlive { flags.insert(.alive) }
            if object.isRestorable { flags.insert(.restorable) }
            if object.isHeldFromOutside { flags.insert(.heldFromOutside) }
            if object.isRefused { flags.insert(.refused) }
            self.flags.append(flags)
            allReferences += object.references
            allParentKeys += object.parentKeys
            referencesEnds.append(Int32(allReferences.count))
            parentKeysEnds.append(Int32(allParentKeys.count))
        }
    }

    var indices: Range<Int> { tokens.indices }
    var count: Int { tokens.count }
    var parentKeysCount: Int { allParentKeys.count }

    func isAlive(_ index: Int) -> Bool { flags[index].contains(.alive) }
    func isRestorable(_ index: Int) -> Bool { flags[index].contains(.restorable) }
    func isHeldFromOutside(_ index: Int) -> Bool { flags[index].contains(.heldFromOutside) }
    func isRefused(_ index: Int) -> Bool { flags[index].contains(.refused) }
    func deleted(_ index: Int) -> Stamp? { deletions[index] }

    /// In the object's own order; numbered from 0.
    func references(_ index: Int) -> some RandomAccessCollection<RuleReference> {
        let start = index == 0 ? 0 : Int(referencesEnds[index - 1])
        return allReferences[start..<Int(referencesEnds[index])]
    }

    func reference(_ index: Int, _ place: Int) -> RuleReference {
        allReferences[(index == 0 ? 0 : Int(referencesEnds[index - 1])) + place]
    }

    func parentKeys(_ index: Int) -> ArraySlice<RowToken> {
        allParentKeys[(index == 0 ? 0 : Int(parentKeysEnds[index - 1]))..<Int(parentKeysEnds[index])]
    }
}
