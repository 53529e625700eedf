import Crypto
import FerryCore
import Foundation

/// A code for people to carry from screen to screen: 16 random bytes, and two more bytes for finding mistakes in
/// typing.
///
/// Spoken, a code is nine proquints. As text for a QR code, a code is `FERRY1`, the purpose and base32. A code prints
/// as "(a code)".
public struct SecretCode: Sendable {
    /// The purpose of a code. The check bytes depend on the purpose, so a code of a wrong purpose is refused.
    public enum Purpose: UInt8, CaseIterable, Sendable {
        /// Lets a single device in, once.
        case invitation = 0x49
        /// The recovery key: everything.
        case recovery = 0x52
    }

    private static let length = 16
    private static let checkLength = 2
    private static let textMark = Array("FERRY1".utf8)
    /// The longest text for parsing, in bytes: nobody types more.
    private static let maximumTextBytes = 1024

    package let purpose: Purpose
    let secret: SymmetricKey

    init(_ secret: SymmetricKey, _ purpose: Purpose) {
        self.secret = secret
        self.purpose = purpose
    }

    /// Makes a new code.
    package init(minted purpose: Purpose, random: any RandomSource) {
        self.init(SecretBytes.draw(Self.length, from: random), purpose)
    }

    /// Reads a typed or scanned code in any letter case. The text is nine words, with or without spaces or hyphens
    /// between them, or begins with `FERRY1`.
    /// - Throws: `codeRefused` for text that is no code, for a mistyped code, and for a code of a different purpose.
    ///   The message tells the cause, and nothing of the code.
    public init(parsing text: String, as purpose: Purpose) throws(FerryError) {
        guard text.utf8.count <= Self.maximumTextBytes else { throw Self.refused("This is not a code.") }
        var characters = text.utf8.filter { !Self.separators.contains($0) }
            .map { (0x41...0x5a).contains($0) ? $0 + 0x20 : $0 }
        defer { SecretBytes.overwrite(&characters) }
        let mark = Self.textMark.map { $0 + ((0x41...0x5a).contains($0) ? 0x20 : 0) }
        var bytes: [UInt8]
        if characters.starts(with: mark) {
            let rest = characters.dropFirst(mark.count)
            guard let letter = rest.first, let told = Purpose(rawValue: letter &- 0x20),
                let read = Base32.decode(rest.dropFirst())
            else { throw Self.refused("This is not a code.") }
            bytes = read
            guard told == purpose else {
                SecretBytes.overwrite(&bytes)
                throw Self.otherPurpose(told)
            }
        } else {
            guard let read = Proquints.decode(characters) else {
                throw Self.refused("This is not a code: it has nine words of five letters, such as \"zagud\".")
            }
            bytes = read
        }
        defer { SecretBytes.overwrite(&bytes) }
        guard bytes.count == Self.length + Self.checkLength else {
            throw Self.refused("This is not a code: it has nine words of five letters.")
        }
        let secret = bytes.withUnsafeBytes {
            SymmetricKey(data: UnsafeRawBufferPointer(rebasing: $0.prefix(Self.length)))
        }
        if Self.check(secret, purpose) != Array(bytes.suffix(Self.checkLength)) {
            for other in Purpose.allCases where Self.check(secret, other) == Array(bytes.suffix(Self.checkLength)) {
                throw Self.otherPurpose(other)
            }
            throw Self.refused("The code has a mistake in it. Compare it letter by letter.")
        }
        self.init(secret, purpose)
    }

    /// Nine words, with a space between them: for a person, once. Never for a log or for a file with further readers.
    public var words: String { withAllBytes { Proquints.encode($0) } }

    /// The text for a QR code.
    public var text: String {
        withAllBytes { String(decoding: Self.textMark + [purpose.rawValue], as: UTF8.self) + Base32.encode($0) }
    }

    /// The key for proving a claim: only a holder of the code can make the proof.
    package func claimKey(in container: ContainerID) -> SecretKey {
        SecretKey(SealSuite.derive(from: secret, container, "claim"))
    }

    /// Proves the container to the newcomer.
    package func answerKey(in container: ContainerID) -> SecretKey {
        SecretKey(SealSuite.derive(from: secret, container, "answer"))
    }

    /// Passes the code with the check bytes to `body`. `body` must keep no copy of the array.
    private func withAllBytes(_ body: ([UInt8]) -> String) -> String {
        var bytes = secret.withUnsafeBytes { Array($0) } + Self.check(secret, purpose)
        defer { SecretBytes.overwrite(&bytes) }
        return body(bytes)
    }

    private static func check(_ secret: SymmetricKey, _ purpose: Purpose) -> [UInt8] {
        var bytes = secret.withUnsafeBytes { Array($0) }
        defer { SecretBytes.overwrite(&bytes) }
        return Array(SealSuite.hash("check", [purpose.rawValue], bytes).prefix(checkLength))
    }

    /// Space, tab, line ends and hyphens. Typographic characters do not count, because no keyboard types them by
    /// mistake.
    private static let separators = Set(" \t\r\n-".utf8)

    private static func refused(_ message: String) -> FerryError { FerryError(.codeRefused, message) }

    private static func otherPurpose(_ purpose: Purpose) -> FerryError {
        switch purpose {
        case .invitation: refused("This is the code of an invitation, not a recovery code.")
        case .recovery: refused("This is a recovery code, not that of an invitation.")
        }
    }
}

extension SecretCode: Equatable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    public static func == (left: SecretCode, right: SecretCode) -> Bool {
        left.purpose == right.purpose && left.secret == right.secret
    }

    public var description: String { "(a code)" }
    public var debugDescription: String { description }
    public var customMirror: Mirror { Mirror(self, children: []) }
}
