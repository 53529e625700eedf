import FerryCore

/// One kind of bytes that come from outside, and what must hold whatever they are: they are refused with a `FerryError`, or
/// give a value that is the same after it was encoded and decoded again.
///
/// Bytes behind a checksum or a compression would never be reached by chance. So where a target takes a body, it makes the
/// file around it; where it takes a file, it makes the checksum right.
public enum FuzzTarget: String, CaseIterable, Sendable {
    /// A whole segment but for its checksum: header, compression, body.
    case segment
    /// The body of a segment: `BodyInput` says how its header is told.
    case segmentBody = "segment-body"
    /// A whole manifest or chunk but for its checksum.
    case snapshot
    /// The body of a manifest.
    case manifest
    /// The body of a chunk.
    case chunk
    /// The body of a manifest and the bytes of chunks, as an archive.
    case archive
    /// The same and records, as the archive of a sealed container.
    case sealedArchive = "sealed-archive"
    /// A head but for its checksum.
    case head
    /// `container.json`.
    case container
    /// Names of files.
    case names
    /// A value that stands alone.
    case value
    /// A payload of a column under a policy; the first byte is its kind.
    case payload
    /// Registers in a chunk or in the state.
    case registers
    /// A JSON array under the policy `set`.
    case array
    /// What the state keeps of an object's fields and of values that no row shows.
    case state
    /// Statements of a schema, each ended by a zero byte.
    case schema
    /// What a changeset says, by choices in the grammar of the format: it is replayed into a database.
    case meaning
    /// A sealed file, or the stream that one is made of.
    case envelope
    /// A record of a membership.
    case record
    /// A newcomer's claim but for its keys and signature.
    case claim
    /// A key file but for its ID and checksum.
    case keyFile = "key-file"
    /// What a person types as a code.
    case code
    /// A pack but for its header and checksum.
    case pack
    /// A list of a content.
    case list
    /// A part of a large value, a file but for its checksum.
    case part
    /// The list of large values in a segment or a chunk, and the bytes of their parts.
    case largeValues = "large-values"
    /// The ignore file of a mirror, and a path.
    case ignore

    /// Checks one input.
    /// - Returns: whether the bytes gave a value.
    /// - Throws: `FuzzFailure` where a value is another one after its way there and back; whatever else is thrown is one
    ///   that should have been a `FerryError`.
    public func check(_ input: [UInt8]) throws -> Bool {
        do {
            try run(input)
            return true
        } catch is FerryError {
            return false
        } catch is Nothing {
            return false
        }
    }

    private func run(_ input: [UInt8]) throws {
        switch self {
        case .segment: try checkSegment(input)
        case .segmentBody: try checkSegmentBody(input)
        case .snapshot: try checkSnapshotFile(input)
        case .manifest: try checkManifest(input)
        case .chunk: try checkChunk(input)
        case .archive: try checkArchive(input)
        case .sealedArchive: try checkSealedArchive(input)
        case .head: try checkHead(input)
        case .container: try checkContainer(input)
        case .names: try checkNames(input)
        case .value: try checkValue(input)
        case .payload: try checkPayload(input)
        case .registers: try checkRegisters(input)
        case .array: try checkArray(input)
        case .state: try checkState(input)
        case .schema: try checkSchema(input)
        case .meaning: try checkMeaning(input)
        case .envelope: try checkEnvelope(input)
        case .record: try checkRecord(input)
        case .claim: try checkClaim(input)
        case .keyFile: try checkKeyFile(input)
        case .code: try checkCode(input)
        case .pack: try checkPack(input)
        case .list: try checkList(input)
        case .part: try checkPart(input)
        case .largeValues: try checkLargeValues(input)
        case .ignore: try checkIgnoreRules(input)
        }
    }
}

/// A property that does not hold.
public struct FuzzFailure: Error, CustomStringConvertible {
    public let description: String

    init(_ description: String) { self.description = description }
}

/// The input stands for nothing, and was refused by other means than an error.
struct Nothing: Error {}

func require(_ condition: Bool, _ what: @autoclosure () -> String) throws {
    if !condition { throw FuzzFailure(what()) }
}

/// Runs what must not be refused, because it was made from a value that was read.
func mustSucceed<Result>(_ what: String, _ body: () throws -> Result) throws -> Result {
    do { return try body() } catch { throw FuzzFailure("\(what) fails: \(error)") }
}

/// The input with the checksum of what stands before it in place of its last 16 bytes.
func withChecksum(_ input: [UInt8]) throws -> [UInt8] {
    guard input.count >= 16 else { throw Nothing() }
    let content = Array(input.dropLast(16))
    return content + ContentHash.checksum(content).bytes
}

/// An ID from a place in the input.
func id<Kind>(_ input: [UInt8], at place: Int) throws -> UniqueID<Kind> {
    guard input.count >= place + 16, let id = UniqueID<Kind>(bytes: input[place..<place + 16]) else { throw Nothing() }
    return id
}
