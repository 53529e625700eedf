import FerryCore
import FerrySeal

/// The rules of membership, each for a scope: the past of a record, or all records (Docs/Sealing.md, "Who is a member").
extension MemberGraph {
    /// Whether a device may remove a second device now.
    package func mayRemove(_ device: DeviceID, _ other: DeviceID) -> Bool {
        guard let device = number(ofKnown: device), let other = number(ofKnown: other) else { return false }
        return isOlderOrKin(device, other, by: all)
    }

    /// The number of an epoch; 0 for an epoch made by no record here.
    package func number(of epoch: EpochID) -> UInt32 { epochs.entries(of: epoch).map { epochs[$0].number }.max() ?? 0 }

    /// Of these devices those without a wrap of an epoch, in ascending order.
    package func lacking(_ epoch: EpochID, among devices: some Sequence<DeviceID>) -> [DeviceID] {
        let entries = epochs.entries(of: epoch).map { epochs[$0] }
        return devices.filter { device in
            let number = number(ofKnown: device)
            return !entries.contains { entry in
                entry.strangers.contains(device) || number.map { sets.contains($0, in: entry.holders) } ?? false
            }
        }.sorted()
    }

    /// Whether some admission in the scope names the device.
    func isNamed(_ device: Int, by scope: Scope) -> Bool {
        devices[device].admissions.contains { sets.contains($0.record, in: scope.records) }
    }

    /// Whether a device is a member: admitted, not removed, not left.
    func isMember(_ device: Int, by scope: Scope) -> Bool {
        // The device was a member at the time of its last record, and nobody has gone since. More admissions take
        // nobody out.
        if let last = devices[device].lastRecord, nodes[last].scope.departures == scope.departures,
            sets.contains(last, in: scope.records)
        {
            return true
        }
        return !isGone(device, by: scope) && isAdmitted(device, by: scope)
    }

    /// Whether a counted removal of the device, or the device's leaving, is in the scope.
    func isGone(_ device: Int, by scope: Scope) -> Bool {
        devices[device].departures.contains { sets.contains($0, in: scope.departures) }
    }

    /// Whether a device is out, and only the accepted part of the device's log counts. Out are removed devices, former
    /// logs, and named devices without a standing admission.
    func isOut(_ device: Int, by scope: Scope) -> Bool {
        if devices[device].isFormer { return true }
        if devices[device].removals.contains(where: { sets.contains($0.record, in: scope.records) }) { return true }
        return isNamed(device, by: scope) && !isAdmitted(device, by: scope)
    }

    /// Whether the acts of an author in a record stand. If the author is gone, acts stand only if every departure of
    /// the author knew the record. Acts of the recovery key always stand.
    func stands(_ record: Int, _ author: Int?, by scope: Scope) -> Bool {
        guard let author else { return true }
        return devices[author].departures.allSatisfy { number in
            guard sets.contains(number, in: scope.departures) else { return true }
            let departure = departures[number].record
            return departure == record || sets.contains(record, in: nodes[departure].scope.records)
        }
    }

    /// Whether a chain of standing admissions leads to the device from the founder or the recovery key.
    func isAdmitted(_ device: Int, by scope: Scope) -> Bool {
        var (seen, rest): (Set<Int>, [Int]) = ([device], [device])
        while let next = rest.popLast() {
            for edge in devices[next].admissions where sets.contains(edge.record, in: scope.records) {
                guard stands(edge.record, edge.author, by: scope) else { continue }
                guard let author = edge.author else { return true }
                if seen.insert(author).inserted { rest.append(author) }
            }
        }
        return false
    }

    /// The admitted among all devices, found from the founder on.
    func admitted(by scope: Scope) -> Set<Int> {
        var next: [Int: [Int]] = [:]
        var (found, rest): (Set<Int>, [Int]) = ([], [])
        for (number, device) in devices.enumerated() {
            for edge in device.admissions
            where sets.contains(edge.record, in: scope.records) && stands(edge.record, edge.author, by: scope) {
                if let author = edge.author {
                    next[author, default: []].append(number)
                } else if found.insert(number).inserted {
                    rest.append(number)
                }
            }
        }
        while let author = rest.popLast() {
            for device in next[author, default: []] where found.insert(device).inserted { rest.append(device) }
        }
        return found
    }

    /// Whether a device may remove a second device. This needs a seat in the past of every seat of the second device,
    /// or the same seats for both devices.
    func isOlderOrKin(_ device: Int, _ other: Int, by scope: Scope) -> Bool {
        let (own, others) = (seats(of: device, by: scope), seats(of: other, by: scope))
        guard !own.isEmpty, !others.isEmpty else { return false }
        if own == others { return true }
        return own.contains { seat in others.allSatisfy { sets.contains(seat, in: nodes[$0].scope.records) } }
    }

    /// The seats of a device, ascending: the device's admissions, and for an admission by copy the seats of the author.
    /// An admission that follows another admission of the device is no seat.
    func seats(of device: Int, by scope: Scope) -> [Int] {
        var (seen, rest): (Set<Int>, [Int]) = ([device], [device])
        var all: Set<Int> = []
        while let next = rest.popLast() {
            for edge in devices[next].admissions where sets.contains(edge.record, in: scope.records) {
                if edge.way == .copy, let author = edge.author {
                    // A late statement of a departed device raises nobody.
                    guard stands(edge.record, author, by: scope) else { continue }
                    if seen.insert(author).inserted { rest.append(author) }
                } else {
                    all.insert(edge.record)
                }
            }
        }
        var earliest: [Int] = []
        for seat in all.sorted() where !earliest.contains(where: { sets.contains($0, in: nodes[seat].scope.records) }) {
            earliest.append(seat)
        }
        return earliest
    }
}
