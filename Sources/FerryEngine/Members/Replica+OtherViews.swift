import FerryContainer
import FerryCore
import FerryStore

/// What other members' heads tell of logs, and this folder does not show. Whoever carries the folder may show each device another one,
/// or keep files back.
extension Replica {
    /// The logs that other members were shown otherwise, by their authors; a log of this device's by the member that tells of it. None in
    /// an open container, whose heads tell no ends.
    /// - Parameters:
    ///   - heads: the other devices'.
    ///   - abandoned: devices whose logs continue on a branch unreadable here.
    func forkedViews(
        _ heads: [DeviceID: Head], _ reading: StoreSummary, abandoned: Set<DeviceID>
    ) -> [DeviceID: FerryError] {
        guard identity.genesis != nil else { return [:] }
        let successors = Successors(heads, self: identity.device, reading.formerDevices)
        let healed = endedDevices(reading).union(successors.all.keys).union(abandoned)
        var found: [DeviceID: FerryError] = [:]
        for view in ForkedViews(heads, reading, except: healed).all {
            let isOwn = view.author == identity.device
            let subject = isOwn ? view.reader : view.author
            let reader = isOwn ? "It" : heads[view.reader]?.deviceName ?? view.reader.description
            let author = isOwn ? "this device" : "it"
            found[subject] =
                found[subject]
                ?? FerryError(
                    .deviceForked,
                    "\(reader) replayed other changes of \(author) than this device, up to the same number, \(view.sequence): the log "
                        + "was written twice, and each device was shown another one. Look whether two computers write with the "
                        + "same keys, and whether all devices share one folder. If somebody else may have the keys, remove the device.",
                    device: view.author, sequence: view.sequence)
        }
        return found
    }

    /// The logs of which another device has had changes for long that are not in this folder.
    /// - Parameter heads: the other devices'.
    func withheldLogs(_ heads: [DeviceID: Head], _ reading: StoreSummary) -> [DeviceID: FerryError] {
        let now = environment.clock.milliseconds()
        var found: [DeviceID: FerryError] = [:]
        for (author, since) in reading.undelivered.lacked {
            let age = now.milliseconds(since: since)
            let known = reading.vector[author].sequence
            let reader = heads.filter { $0.key != author }.max {
                let (left, right) = (
                    $0.value.acknowledgements[author]?.sequence, $1.value.acknowledgements[author]?.sequence
                )
                return (left ?? 0, $1.key) < (right ?? 0, $0.key)
            }
            guard age >= retention.undeliveredMilliseconds, let reader,
                let there = reader.value.acknowledgements[author]?.sequence, there > known
            else { continue }
            let days = max(age / 86_400_000, 1)
            found[author] = FerryError(
                .fileNotThereYet,
                "\(reader.value.deviceName) has changes of it, up to number \(there), that have not been in this folder for "
                    + "\(days == 1 ? "a day" : "\(days) days"). Look whether both devices share the folder, and whether its syncer "
                    + "keeps files back.", device: author, sequence: known + 1)
        }
        return found
    }
}
