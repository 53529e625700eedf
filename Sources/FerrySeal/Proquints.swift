/// Sixteen bits as a speakable word: consonant, vowel, consonant, vowel, consonant (Wilkerson, "A Proposal for
/// Proquints", 2009).
package enum Proquints {
    private static let consonants = Array("bdfghjklmnprstvz".utf8)
    private static let vowels = Array("aiou".utf8)
    private static let wordLength = 5

    /// Words of an even count of bytes, with a space between them.
    package static func encode(_ bytes: [UInt8]) -> String {
        var text: [UInt8] = []
        text.reserveCapacity(bytes.count * 3)
        for start in stride(from: 0, to: bytes.count - 1, by: 2) {
            if start > 0 { text.append(UInt8(ascii: " ")) }
            let bits = Int(bytes[start]) << 8 | Int(bytes[start + 1])
            text += [
                consonants[bits >> 12], vowels[bits >> 10 & 3], consonants[bits >> 6 & 15], vowels[bits >> 4 & 3],
                consonants[bits & 15],
            ]
        }
        return String(decoding: text, as: UTF8.self)
    }

    /// Reads words in small letters without anything between them; `nil` where a letter is none of a proquint's.
    static func decode(_ letters: [UInt8]) -> [UInt8]? {
        guard letters.count.isMultiple(of: wordLength) else { return nil }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(letters.count / wordLength * 2)
        for start in stride(from: 0, to: letters.count, by: wordLength) {
            var bits = 0
            for index in 0..<wordLength {
                let isVowel = index % 2 == 1
                guard let value = (isVowel ? vowels : consonants).firstIndex(of: letters[start + index]) else {
                    return nil
                }
                bits = bits << (isVowel ? 2 : 4) | value
            }
            bytes += [UInt8(bits >> 8), UInt8(bits & 0xff)]
        }
        return bytes
    }
}

/// Base32 of RFC 4648 in capitals, without padding.
enum Base32 {
    private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567".utf8)

    static func encode(_ bytes: [UInt8]) -> String {
        var text: [UInt8] = []
        text.reserveCapacity(bytes.count * 8 / 5 + 1)
        var (bits, count) = (0, 0)
        for byte in bytes {
            (bits, count) = (bits << 8 | Int(byte), count + 8)
            while count >= 5 {
                count -= 5
                text.append(alphabet[bits >> count & 31])
            }
            bits &= 1 << count - 1
        }
        if count > 0 { text.append(alphabet[bits << (5 - count) & 31]) }
        return String(decoding: text, as: UTF8.self)
    }

    /// Reads small letters and digits. `nil` for further characters, and for remaining bits that are not zero or make a
    /// whole letter.
    static func decode(_ letters: some Sequence<UInt8>) -> [UInt8]? {
        var bytes: [UInt8] = []
        var (bits, count) = (0, 0)
        for letter in letters {
            let capital = (0x61...0x7a).contains(letter) ? letter - 0x20 : letter
            guard let value = alphabet.firstIndex(of: capital) else { return nil }
            (bits, count) = (bits << 5 | value, count + 5)
            if count >= 8 {
                count -= 8
                bytes.append(UInt8(bits >> count & 0xff))
                bits &= 1 << count - 1
            }
        }
        return count < 5 && bits == 0 ? bytes : nil
    }
}
