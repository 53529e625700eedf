import FerryContainer
import FerryCore
import FerryMembers
import FerrySeal

/// The public keys in records and claims. A device's ID is a hash of the keys, so any source of the keys will do.
enum StatedKeys {
    /// - Returns: `nil` for bytes that are no whole record and no claim.
    static func all(
        in bytes: [UInt8], _ file: DeviceFile, _ container: ContainerID
    ) -> [DeviceID: DevicePublicKeys]? {
        var keys: [DeviceID: DevicePublicKeys] = [:]
        switch file {
        case .record:
            // Bytes that are no record state no keys.
            guard let record = try? MemberRecord(decoding: bytes, container: container) else { return nil }
            for act in record.acts {
                switch act {
                case .found(let founding): keys[founding.founder.device(in: container)] = founding.founder
                case .admit(let admission): keys[admission.keys.device(in: container)] = admission.keys
                default: continue
                }
            }
        case .claim:
            // As above.
            guard let claim = try? Claim(decoding: bytes, container: container) else { return nil }
            keys[claim.device] = claim.keys
        default: break
        }
        return keys
    }
}
