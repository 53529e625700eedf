import FerryCore
import FerryMerge

/// The state of an object that its row shows, that was never deleted and has nothing kept beside its row, as most are; not
/// decoded.
struct PlainState {
    var object: ObjectID
    /// The local row's key.
    var key: [FieldValue]
    var check: UInt64
    /// As `StateCodec` has them.
    var stamps: [UInt8]
}

extension ObjectTable {
    /// Reads a state from `stateColumns`, if it may be a plain one. The stamps may still tell of a policy.
    func readPlain(_ object: ObjectID, _ statement: SQLStatement, from first: Int32) -> PlainState? {
        let base = first + Int32(keyWidth)
        guard statement.int(base) == Shown.row.rawValue, statement.isNull(base + 3) else { return nil }
        return PlainState(
            object: object, key: key(of: object, statement, from: first),
            check: UInt64(bitPattern: statement.integer(base + 1)), stamps: statement.bytes(base + 2))
    }

    /// A state, decoded.
    func state(of known: StatesAhead.Known) throws -> ObjectState {
        let plain: PlainState
        switch known.state {
        case .whole(let state): return state
        case .plain(let state): plain = state
        }
        var state = new(plain.object)
        state.isStored = true
        state.shown = .row
        state.key = plain.key
        state.check = plain.check
        state.storedCheck = plain.check
        (state.registers, state.policies) = try StateCodec.decode(plain.stamps) { try devices.device($0) }
        state.registers.deletionWins = table.deletionWins
        if table.isMapped { state.givenKey = state.ownKey }
        return state
    }
}

extension StateCodec {
    /// A field's stamp where it lies in a state.
    struct PlacedStamp {
        var time: HybridTime
        var device: Int
        /// Its entry; empty, where it would be, for one that has the insertion's stamp.
        var entry: Range<Int>
    }

    /// Finds the stamp of a field.
    /// - Returns: `nil` where it has none, or the state tells of a deletion or a policy.
    /// - Throws: `databaseCorrupt` for what `encode` does not write.
    static func find(_ column: Int, in state: [UInt8]) throws -> PlacedStamp? {
        if state.isEmpty { return nil }
        return try state.withUnsafeBytes { bytes in
            var reader = StateReader(bytes)
            guard let head = try readPlainHead(&reader), column < head.span else { return nil }
            var found = PlacedStamp(time: head.time, device: head.device, entry: bytes.count..<bytes.count)
            var isPassed = false
            while !reader.isAtEnd {
                let start = reader.position
                let code = try reader.readVarint()
                if code >= columns { return nil }
                let device = try readDevice(&reader)
                let time = device == 0 ? 0 : try reader.read64()
                if isPassed || code < column { continue }
                isPassed = true
                if code > column {
                    found.entry = start..<start
                } else if device == 0 {
                    return nil
                } else {
                    found = PlacedStamp(
                        time: HybridTime(rawValue: time), device: device - 1, entry: start..<reader.position)
                }
            }
            return found
        }
    }

    private static func readPlainHead(
        _ reader: inout StateReader
    ) throws -> (span: Int, time: HybridTime, device: Int)? {
        let head = try reader.readVarint()
        guard head % spanUnit == insertionKnown, head / spanUnit <= columns else { return nil }
        let time = HybridTime(rawValue: try reader.read64())
        return (Int(head / spanUnit), time, try readDevice(&reader))
    }

    /// Gives a field a stamp.
    static func set(
        _ column: Int, to time: HybridTime, device: Int, in state: inout [UInt8], at entry: Range<Int>
    ) {
        var writer = ByteWriter(reservingCapacity: 16)
        writer.writeVarint(UInt64(column))
        writer.writeVarint(UInt64(device + 1))
        writer.write64(time.rawValue)
        state.replaceSubrange(entry, with: writer.bytes)
    }
}
