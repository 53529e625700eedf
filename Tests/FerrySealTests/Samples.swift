import Crypto
import FerryCore

@testable import FerrySeal

/// What the vectors of Docs/Format.md are made of.
enum Samples {
    static let container = ContainerID(bytes: bytes(0x00, 16))!
    static let epoch = EpochSecret(SymmetricKey(data: bytes(0x40, 32)), container: container)

    static func keys() throws -> DeviceKeys {
        try DeviceKeys(
            signingSeed: SymmetricKey(data: bytes(0x80, 32)), boxSeed: SymmetricKey(data: bytes(0xa0, 32)),
            container: container)
    }

    static func otherKeys(_ first: UInt8 = 0x20) throws -> DeviceKeys {
        try DeviceKeys(
            signingSeed: SymmetricKey(data: bytes(first, 32)), boxSeed: SymmetricKey(data: bytes(first &+ 1, 32)),
            container: container)
    }

    static func code(_ purpose: SecretCode.Purpose) -> SecretCode {
        SecretCode(SymmetricKey(data: bytes(0xf0, 16)), purpose)
    }

    /// Bytes that count up.
    static func bytes(_ first: UInt8, _ count: Int) -> [UInt8] { (0..<count).map { first &+ UInt8($0 & 0xff) } }

    /// A reader that knows one device and one epoch.
    static func reader(
        _ keys: DeviceKeys, _ epoch: EpochSecret? = epoch, container: ContainerID = container
    ) -> EnvelopeReader {
        let (device, publicKeys) = (keys.device, keys.publicKeys)
        return EnvelopeReader(
            container: container, keys: { $0 == device ? publicKeys : nil },
            epoch: { id in epoch.flatMap { $0.id == id ? $0 : nil } })
    }
}

/// The bytes of hexadecimal digits.
func unhex(_ text: String) -> [UInt8] {
    let digits = text.utf8.compactMap { hexDigitValue($0) }
    return stride(from: 0, to: digits.count - 1, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
}

/// The code of the error that `body` throws; `nil` where it throws none of Ferry's.
func errorCode(_ body: () throws -> Void) -> FerryError.Code? {
    do { try body() } catch { return (error as? FerryError)?.code }
    return nil
}
