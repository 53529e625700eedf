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
        try evidence(file, of: device, container) {
            try decode(
                $0, container: container.id, device: device, parts: container.partSource(of: device, under: $1))
        }
    }

    /// Reads what a segment's file says of its changesets without their content; as `decoded`.
    static func decodedSchemas(
        _ file: SegmentFile, of device: DeviceID, _ container: Container
    ) throws -> (SegmentHeader, [Changeset])? {
        try evidence(file, of: device, container) { bytes, _ in
            try decodeSchemas(bytes, container: container.id, device: device)
        }
    }

    private static func evidence<Result>(
        _ file: SegmentFile, of device: DeviceID, _ container: Container, _ decode: ([UInt8], EpochID?) throws -> Result
    ) throws -> Result? {
        let found: (bytes: [UInt8], epoch: EpochID?)?
        do {
            found = try container.readSegmentFile(file, of: device)
        } catch let error as FerryError where container.isSealed && error.saysNothing {
            return nil
        }
        return found.flatMap { try? decode($0.bytes, $0.epoch) }  // as said above
    }
}
