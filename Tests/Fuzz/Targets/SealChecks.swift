import Crypto
import FerryCore

@testable import FerryMembers
@testable import FerrySeal

/// Keys that every input is sealed and signed with: no input would hold a signature by chance.
private enum FuzzKeys {
    static let container = ContainerID(high: 0x6665_7272_7920_6675, low: 0x7a7a_206b_6579_7321)

    static func keys() throws -> DeviceKeys {
        try DeviceKeys(
            signingSeed: SymmetricKey(data: [UInt8](repeating: 1, count: 32)),
            boxSeed: SymmetricKey(data: [UInt8](repeating: 2, count: 32)), container: container)
    }

    static let epoch = EpochSecret(SymmetricKey(data: [UInt8](repeating: 3, count: 32)), container: container)

    static func reader() throws -> EnvelopeReader {
        let keys = try keys()
        let (device, publicKeys) = (keys.device, keys.publicKeys)
        return EnvelopeReader(
            container: container, keys: { $0 == device ? publicKeys : nil }, epoch: { $0 == epoch.id ? epoch : nil })
    }
}

/// The only member of a membership, and its seal.
struct FuzzMember {
    let container = FuzzKeys.container
    let device: DeviceID
    let seal: MembershipSealing
    var epoch: EpochID { FuzzKeys.epoch.id }

    init() throws {
        let keys = try FuzzKeys.keys()
        let first = try MemberRecord.first(by: keys, recovery: nil, milliseconds: 1)
        var graph = MemberGraph(genesis: first.hash, container: FuzzKeys.container)
        try graph.insert(first)
        var keyring = EpochKeyring()
        keyring.add(FuzzKeys.epoch)
        device = keys.device
        seal = MembershipSealing(keys: keys, graph: graph, roster: Roster(graph), keyring: keyring)
    }
}

/// The first byte says what the others are: 0 a whole file; else, its low bits being the kind, a stream, which is encrypted and
/// signed as a member would do it that keeps no other rule.
func checkEnvelope(_ input: [UInt8]) throws {
    guard let first = input.first else { throw Nothing() }
    let (keys, epoch, rest) = (try FuzzKeys.keys(), FuzzKeys.epoch, Array(input.dropFirst()))
    guard first > 0 else {
        _ = try FuzzKeys.reader().open(rest, .segment, of: keys.device)
        return
    }
    guard let kind = FileKind(rawValue: first & 7), !rest.isEmpty, rest.count <= 65_536 else { throw Nothing() }
    var file = Envelope.magic + [Envelope.currentVersion, kind.rawValue, 0, 0]
    file += FuzzKeys.container.bytes + keys.device.bytes + epoch.id.bytes
    file += Envelope.seed(file, rest, epoch)
    let (key, commitment) = Envelope.fileKey(file, epoch)
    var length = ByteWriter()
    length.write64(UInt64(rest.count + Envelope.tagLength))
    file += commitment + length.bytes
    let box = try AES.GCM.seal(rest, using: key, nonce: Envelope.nonce(0, isLast: true))
    file += Array(box.ciphertext) + Array(box.tag)
    file += try keys.sign("file", digest: SealSuite.digest(file))
    let opened = try FuzzKeys.reader().open(file, kind, of: keys.device)
    let again = try mustSucceed("sealing what was opened") {
        try Envelope.seal(opened.content, kind, under: epoch, by: keys)
    }
    try require(again.dropLast(64) == file.dropLast(64), "the same content was sealed as other bytes")
}

/// A record; its signature is nobody's business here.
func checkRecord(_ input: [UInt8]) throws {
    let container: ContainerID = try id(input, at: 8)
    let record = try MemberRecord(decoding: input, container: container)
    let again = try mustSucceed("writing what was read") {
        try MemberRecordCodec.encode(
            .init(
                container: record.container, author: record.author, milliseconds: record.milliseconds,
                genesis: record.genesis, follows: record.follows, acts: record.acts), recovery: nil)
    }
    let second = try mustSucceed("reading what was written") {
        try MemberRecord(decoding: again + input.suffix(64), container: container)
    }
    try require(second.acts == record.acts && second.follows == record.follows, "the record changed")
    // What a stranger says changes no membership.
    var graph = MemberGraph(genesis: record.membership, container: container)
    _ = try mustSucceed("taking a record") { try graph.insert(record) }
    _ = Roster(graph).digest
}

/// A claim but for keys, ID and signature.
func checkClaim(_ input: [UInt8]) throws {
    guard input.count >= Claim.length else { throw Nothing() }
    let keys = try FuzzKeys.keys()
    var bytes = input
    bytes.replaceSubrange(8..<24, with: FuzzKeys.container.bytes)
    bytes.replaceSubrange(24..<104, with: keys.device.bytes + keys.publicKeys.signing + keys.publicKeys.box)
    let signature = try keys.sign("claim", digest: SealSuite.digest(bytes[..<176]))
    bytes.replaceSubrange(176..<Claim.length, with: signature)
    let claim = try Claim(decoding: bytes, container: FuzzKeys.container)
    try require(claim.bytes == bytes, "the claim changed")
    try require(claim.words.split(separator: " ").count == 6, "a claim has other than six words")
}

/// A key file but for its ID and checksum.
func checkKeyFile(_ input: [UInt8]) throws {
    guard input.count >= 120 else { throw Nothing() }
    var bytes = Array(input.dropLast(16))
    let keys = try DeviceKeys(
        signingSeed: SymmetricKey(data: bytes[40..<72]), boxSeed: SymmetricKey(data: bytes[72..<104]),
        container: try id(bytes, at: 8))
    bytes.replaceSubrange(24..<40, with: keys.device.bytes)
    bytes = try withChecksum(bytes + [UInt8](repeating: 0, count: 16))
    let file = try KeyFile(decoding: &bytes)
    try require(bytes.allSatisfy { $0 == 0 }, "the bytes of a key file were left")
    var again = try mustSucceed("writing what was read") { try file.withEncoded { $0.map { $0 } } }
    let second = try mustSucceed("reading what was written") { try KeyFile(decoding: &again) }
    try require(second == file, "the key file changed")
}

/// What a person typed.
func checkCode(_ input: [UInt8]) throws {
    let text = String(decoding: input, as: UTF8.self)
    var isCode = false
    for purpose in SecretCode.Purpose.allCases {
        guard let code = try? SecretCode(parsing: text, as: purpose) else { continue }  // refused, which is well
        isCode = true
        let words = try mustSucceed("reading words") { try SecretCode(parsing: code.words, as: purpose) }
        let scanned = try mustSucceed("reading a text") { try SecretCode(parsing: code.text, as: purpose) }
        try require(words == code && scanned == code, "the code changed")
    }
    if !isCode { throw Nothing() }
}
