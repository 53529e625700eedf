import FerryContainer
import FerryCore
import FerryLog

/// Segments as evidence: who wrote what, and where logs part. A file that is cut off, garbled, foreign, plain where all is sealed, or
/// of a newer format proves nothing. The readers of its log report the file.
extension SegmentDecoder {
    /// Reads a segment's file.
    /// - Returns: `nil` if the file is gone or proves nothing.
    /// - Throws: `inputOutput` and the like.
    static func decoded(
        _ file: SegmentFile, of device: DeviceID, _ container: Container
    ) throws -> (SegmentHeader, [Changeset])? {
        try evidence(file, of: device, container) { try decode($0, container: container.id, device: device) }
    }

    /// Reads what a segment's file says of its changesets without their content; as `decoded`.
    static func decodedSchemas(
        _ file: SegmentFile, of device: DeviceID, _ container: Container
    ) throws -> (SegmentHeader, [Changeset])? {
        try evidence(file, of: device, container) { try decodeSchemas($0, container: container.id, device: device) }
    }

    private static func evidence<Result>(
        _ file: SegmentFile, of device: DeviceID, _ container: Container, _ decode: ([UInt8]) throws -> Result
    ) throws -> Result? {
        let bytes: [UInt8]?
        do {
            bytes = try container.readSegment(file, of: device)
        } catch let error as FerryError where container.isSealed && error.saysNothing {
            return nil
        }
        return bytes.flatMap { try? decode($0) }  // as said above
    }
}
