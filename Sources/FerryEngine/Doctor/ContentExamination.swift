import FerryContainer
import FerryContent
import FerryCore
import FerryStore

/// Examines packs and contents: whether the container has every pack that a row names, and whether every content has its bytes.
struct ContentExamination {
    let replica: Replica
    let container: Container

    func run(_ report: inout DoctorReport) throws {
        guard try replica.store.hasDocumentTables() else { return }
        try replica.store.updateChunkIndex()
        let names = try replica.store.reading().names
        var (count, missing, wrong): (Int, [DeviceID: [PackID]], [DeviceID: [PackID]]) = (0, [:], [:])
        var packs: [(PackID, DeviceID, Int)] = []
        try replica.store.readContents { rows, _ in try rows.forEachPack { packs.append(($0, $1, $2)) } }
        for (pack, device, byteCount) in packs {
            count += 1
            if try replica.shelf.openPending(pack) != nil { continue }
            switch try container.packByteCount(pack, of: device) {
            case nil: missing[device, default: []].append(pack)
            case byteCount: break
            default: wrong[device, default: []].append(pack)
            }
        }
        let contents = try replica.store.readContents { rows, _ in try rows.total() }
        report.examined.append(
            "\(DoctorReport.count(contents.contents, "content")) in \(DoctorReport.count(count, "pack"))")
        for (found, what) in [(missing, "not in the container"), (wrong, "of another length than their rows say")] {
            for (device, packs) in found.sorted(by: { $0.key < $1.key }) {
                tell(packs, what, of: device, names, &report)
            }
        }
        try tellLost(&report)
        try tellDamagedRows(&report)
        for problem in try replica.store.readContents({ _, index in try index.problems() }) {
            report.add(
                .init(
                    .warning, "database", "A row of a content or a pack is not Ferry's: \(problem.reason).",
                    advice: "Look who writes to Ferry's tables. The row \(problem.row) is not used."))
        }
    }

    private func tell(
        _ packs: [PackID], _ what: String, of device: DeviceID, _ names: [DeviceID: String],
        _ report: inout DoctorReport
    ) {
        let isOwn = device == replica.identity.device
        let subject = isOwn ? "this device" : names[device] ?? device.description
        let plural = packs.count == 1 ? "pack is" : "packs are"
        report.add(
            .init(
                isOwn ? .fault : .warning, subject, "\(packs.count) \(plural) \(what).",
                advice: isOwn
                    ? "`ferry doctor --repair` packs what is on this device again. Devices that have the rest can do the same."
                    : "Wait for the folder's syncer, or run `ferry doctor --repair` on a device that has the documents.",
                file: container.packPath(packs[0], of: device), canBeRepaired: true))
    }

    /// Adds rows of contents that no Ferry writes, and versions whose content has no row.
    private func tellDamagedRows(_ report: inout DoctorReport) throws {
        var damaged: [ContentID] = []
        for id in try replica.store.readContents({ rows, _ in try rows.contents() }) {
            do {
                _ = try replica.store.readContents { rows, _ in try rows.content(id) }
            } catch let error as FerryError where error.code == .damagedFile {
                damaged.append(id)
            }
        }
        let advice =
            "Look who writes to Ferry's tables. `ferry documents list --state waiting` names the documents; put them again."
        if let first = damaged.first {
            let rows = DoctorReport.count(damaged.count, "row")
            report.add(
                .init(
                    .fault, "documents", "\(rows) of contents cannot be right, the first of them x'\(first.hex)'.",
                    advice: advice))
        }
        let missing = try replica.store.readContents { rows, _ in try rows.versionsWithoutContent() }
        if missing > 0 {
            let versions = DoctorReport.count(missing, "version")
            report.add(
                .init(.fault, "documents", "\(versions) of documents refer to contents without a row.", advice: advice))
        }
    }

    private func tellLost(_ report: inout DoctorReport) throws {
        let obstacles = try replica.store.readContentStates { try $0.obstacles() }
        let lost = obstacles.filter { $0.obstacle.code == .contentLost }
        if lost.isEmpty { return }
        report.add(
            .init(
                .fault, "documents",
                "\(DoctorReport.count(lost.count, "content")) has bytes that no pack has and that are not on this device.",
                advice:
                    "`ferry documents list --state lost` names the documents. A device that has one mends it by `ferry doctor --repair`.",
                since: lost.map(\.obstacle.sinceMilliseconds).min()))
    }
}
