import FerryCore

/// The two forms in which a key's value can be its object's ID. Text is made without a `String`, because a bulk load
/// makes and compares the text of every row.
extension ObjectID {
    func appendBytes(to bytes: inout [UInt8]) {
        withUnsafeBytes(of: high.bigEndian) { bytes.append(contentsOf: $0) }
        withUnsafeBytes(of: low.bigEndian) { bytes.append(contentsOf: $0) }
    }

    /// Appends 32 lower-case hexadecimal digits with hyphens after 8, 12, 16 and 20 of them.
    func appendText(to bytes: inout [UInt8]) {
        for digit in 0..<32 {
            if digit == 8 || digit == 12 || digit == 16 || digit == 20 { bytes.append(UInt8(ascii: "-")) }
            bytes.append(self.digit(digit))
        }
    }

    /// True if 16 bytes are this ID.
    func isBytes(_ content: ArraySlice<UInt8>) -> Bool {
        guard content.count == 16 else { return false }
        let start = content.startIndex
        for index in 0..<8 {
            guard content[start + index] == UInt8(truncatingIfNeeded: high >> UInt64(56 - 8 * index)),
                content[start + 8 + index] == UInt8(truncatingIfNeeded: low >> UInt64(56 - 8 * index))
            else { return false }
        }
        return true
    }

    /// True if a content equals the output of `appendText`.
    func isText(_ content: ArraySlice<UInt8>) -> Bool {
        guard content.count == CellTag.objectTextBytes else { return false }
        var position = content.startIndex
        for digit in 0..<32 {
            if digit == 8 || digit == 12 || digit == 16 || digit == 20 {
                guard content[position] == UInt8(ascii: "-") else { return false }
                position += 1
            }
            guard content[position] == self.digit(digit) else { return false }
            position += 1
        }
        return true
    }

    private func digit(_ index: Int) -> UInt8 {
        let half = index < 16 ? high : low
        let value = UInt8(truncatingIfNeeded: half >> UInt64(60 - 4 * (index & 15))) & 15
        return value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "a") + value - 10
    }
}
