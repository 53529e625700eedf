import FerryCore

/// A 64-bit hash of a sequence of words: quick and well mixed, without protection against deliberate collisions.
///
/// Each word is absorbed by a step that loses nothing of the state (exclusive or, multiplication by an odd number,
/// shift). The end is MurmurHash3's finalizer (Austin Appleby, public domain).
@frozen @usableFromInline package struct WordHash {
    @usableFromInline var state: UInt64 = 0x9e37_79b9_7f4a_7c15

    @inlinable package mutating func absorb(_ word: UInt64) {
        state = (state ^ word) &* 0xff51_afd7_ed55_8ccd
        state ^= state >> 32
    }

    /// Absorbs a string's UTF-8.
    @inlinable package mutating func absorb(_ string: String) { absorb(Array(string.utf8)[...]) }

    /// Absorbs the count, then words of eight bytes, least significant byte first; fills the last word with zeros.
    @inlinable package mutating func absorb(_ bytes: ArraySlice<UInt8>) {
        absorb(UInt64(bytes.count))
        bytes.withUnsafeBytes { buffer in
            var offset = 0
            while offset + 8 <= buffer.count {
                absorb(UInt64(littleEndian: buffer.loadUnaligned(fromByteOffset: offset, as: UInt64.self)))
                offset += 8
            }
            if offset == buffer.count { return }
            var last: UInt64 = 0
            for position in offset..<buffer.count {
                last |= UInt64(buffer[position]) << UInt64(8 * (position - offset))
            }
            absorb(last)
        }
    }

    /// Absorbs the tag, then the content.
    @inlinable package mutating func absorb(_ value: FieldValue) {
        absorb(UInt64(value.tag))
        switch value {
        case .null: break
        case .integer(let integer): absorb(UInt64(bitPattern: integer))
        // SQLite takes the negative zero for zero, so an update from one to the other is none.
        case .real(let real): absorb(real == 0 ? 0 : real.bitPattern)
        case .text(let bytes), .blob(let bytes): absorb(bytes)
        case .reference(let object):
            absorb(object.high)
            absorb(object.low)
        }
    }

    @inlinable package var value: UInt64 {
        var hash = state
        hash ^= hash >> 33
        hash = hash &* 0xff51_afd7_ed55_8ccd
        hash ^= hash >> 33
        hash = hash &* 0xc4ce_b9fe_1a85_ec53
        hash ^= hash >> 33
        return hash
    }

    /// The hash after a further word.
    @inlinable package func adding(_ word: UInt64) -> UInt64 {
        var hash = self
        hash.absorb(word)
        return hash.value
    }

    @inlinable package init() {}
}
