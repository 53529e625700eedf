import FerryContainer
import FerryCore
import FerryStore

/// Logs in other members' heads that differ from this folder. The folder's carrier may show each device a different
/// folder, or keep files back.
extension Replica {
    /// The logs shown differently to other members, by their authors; a log of this device by the reporting member.
    /// None in an open container, because its heads tell no ends.
    /// - Parameters:
    ///   - heads: of the remaining devices.
    ///   - abandoned: devices whose logs continue on a branch unreadable here.
    func forkedViews(
        _ heads: [DeviceID: Head], _ reading: StoreSummary, abandoned: Set<DeviceID>
    ) -> [DeviceID: FerryError] {
        guard identity.genesis != nil else { return [:] }
        let successors = Successors(heads, self: identity.device, reading.formerDevices)
        // The branches of a member that left are merged only where both are in this folder: then the log is abandoned.
        let healed = supersededDevices(reading).union(successors.all.keys).union(abandoned)
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

    /// The logs in which a second device has long had changes missing in this folder.
    /// - Parameter heads: of the remaining devices.
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
