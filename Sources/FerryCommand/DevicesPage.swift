import Ferry

/// The devices as a page of text: a pure function of the report and the time.
struct DevicesPage {
    let report: DevicesReport
    let now: Int64

    init(_ report: DevicesReport, now: Int64) {
        self.report = report
        self.now = now
    }

    func lines(_ console: Console) -> [String] {
        var table = TextTable(
            "Device", "ID", "Last seen", "Behind#", "Unacknowledged#", "Holds back", "Let in by", "State")
        for device in report.devices {
            let id = console.isVerbose ? device.id : String(device.id.prefix(8))
            if device.isThisDevice {
                table.add(device.name, id, "", "", "", "", admitter(device), "this device")
                continue
            }
            let age = device.lastSeenMilliseconds.map { Wording.age(sinceMilliseconds: $0, now: now) } ?? "never"
            let held =
                device.holdsBackSegments == 0
                ? "" : "\(Wording.count(device.holdsBackSegments, "file")), \(Wording.bytes(device.holdsBackBytes))"
            // Without the container nothing tells how far another device has read.
            let unacknowledged = report.reachable ? Wording.grouped(device.unacknowledged) : ""
            table.add(
                device.name, id, age, Wording.grouped(device.behind), unacknowledged, held, admitter(device),
                state(device))
        }
        var lines = table.lines(console.style)
        if !report.reachable {
            lines.append("The container cannot be read now; this is what was known at the last sync.")
        }
        return lines
    }

    /// Who let a device into a sealed container: a device's name, or the recovery code; empty for the founder and in an open container.
    func admitter(_ device: DevicesReport.Device) -> String {
        if let by = device.admittedBy { return DeviceLabels(report.devices.map { ($0.id, $0.name) })[by] }
        return device.way == "recovery" ? "the recovery code" : ""
    }

    func state(_ device: DevicesReport.Device) -> String {
        let labels = DeviceLabels(report.devices.map { ($0.id, $0.name) })
        let successors = device.successors.map { "; copied or restored as " + Wording.list($0.map { labels[$0] }) }
        if let membership = device.membership, membership == "removed" || membership == "left" { return membership }
        return device.activity.rawValue + (device.membership == "copy" ? ", a copy" : "")
            + (device.isLeftBehind ? ", starts from a snapshot when it returns" : "")
            + (successors ?? "")
    }
}
