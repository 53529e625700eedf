import FerryCore
import FerrySeal

/// The secrets of epochs within reach of a device or the recovery key: by wraps for the receiver, and by the rings of
/// those epochs.
///
/// Records may come in any order, and again. Callers pass only records in the graph (`MemberGraph.contains`).
package struct EpochKeyring: Sendable {
    private var secrets: [EpochID: EpochSecret] = [:]
    /// Rings whose epochs' secrets are not here.
    private var closedRings: [EpochID: [[UInt8]]] = [:]
    /// For each epoch in an opened ring: the epoch of the ring. Of several the last one.
    private var carriers: [EpochID: EpochID] = [:]
    /// Failures to open a wrap for this device or a ring. Of each epoch the last failure.
    package private(set) var faults: [EpochID: FerryError] = [:]

    package init() {}

    /// The secret of an epoch; `nil` if unknown.
    package subscript(_ epoch: EpochID) -> EpochSecret? { secrets[epoch] }

    /// The epoch whose ring has an epoch of a former membership; `nil` for an epoch in no opened ring.
    package func carrier(of epoch: EpochID) -> EpochID? { carriers[epoch] }

    /// All secrets, in the order of their IDs.
    package var all: [EpochSecret] { secrets.values.sorted { $0.id < $1.id } }

    /// Takes the epochs of a record in the graph for a receiver.
    /// - Parameter receiver: the device of the keys, or `MemberRecord.recoveryAuthor` with the recovery key's.
    package mutating func take(_ record: MemberRecord, with keys: DeviceKeys, as receiver: DeviceID) {
        for act in record.acts {
            switch act {
            case .epoch(let making):
                if !making.ring.isEmpty { closedRings[making.epoch, default: []].append(making.ring) }
                open(making.wraps, making.epoch, keys, receiver)
                if secrets[making.epoch] != nil { openRings(of: making.epoch) }
            case .grant(let epoch, let wraps): open(wraps, epoch, keys, receiver)
            case .found, .admit, .remove, .leave, .accept, .unknown: break
            }
        }
    }

    /// Adds the secret of an epoch, such as an epoch of this device's making.
    package mutating func add(_ secret: EpochSecret) {
        if secrets.updateValue(secret, forKey: secret.id) == nil { openRings(of: secret.id) }
    }

    private mutating func open(_ wraps: [KeyWrap], _ epoch: EpochID, _ keys: DeviceKeys, _ receiver: DeviceID) {
        guard secrets[epoch] == nil else { return }
        for wrap in wraps where wrap.receiver == receiver {
            do throws(FerryError) {
                add(try wrap.open(epoch, with: keys))
            } catch {
                faults[epoch] = error
            }
        }
    }

    /// Opens the rings of an epoch, and those of the epochs in them.
    private mutating func openRings(of epoch: EpochID) {
        var opened = [epoch]
        while let next = opened.popLast() {
            guard let secret = secrets[next], let rings = closedRings.removeValue(forKey: next) else { continue }
            for ring in rings {
                do throws(FerryError) {
                    for earlier in try secret.openRing(ring) {
                        carriers[earlier.id] = next
                        guard secrets[earlier.id] == nil else { continue }
                        secrets[earlier.id] = earlier
                        opened.append(earlier.id)
                    }
                } catch {
                    faults[next] = error
                }
            }
        }
    }
}

extension EpochKeyring: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    package var description: String { "\(secrets.count) epochs" }
    package var debugDescription: String { description }
    package var customMirror: Mirror { Mirror(self, children: ["count": secrets.count]) }
}
