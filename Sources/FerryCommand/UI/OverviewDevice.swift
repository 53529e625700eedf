import Ferry

/// A device on the overview: the standing in a word or two, and whether somebody should act. Pure.
struct OverviewDevice {
    private let peers: [String: StatusReport.Peer]
    private let devices: DevicesReport

    init(_ status: StatusReport, _ devices: DevicesReport) {
        peers = Dictionary(status.devices.map { ($0.id, $0) }, uniquingKeysWith: { first, _ in first })
        self.devices = devices
    }

    func report(_ device: DevicesReport.Device, _ page: StatusPage) -> PageReports.Overview.Device {
        guard let peer = peers[device.id] else {
            return .init(
                device: device, state: device.isThisDevice ? "this device" : device.activity.rawValue, tone: .plain)
        }
        // The age has a separate column.
        let standing = peer.standing == .inStep ? "in step" : StatusPage.standing(peer, age: "") + page.successors(peer)
        let isGone = device.activity != .active || peer.membership != nil
        let words = isGone ? DevicesPage(devices, now: page.now).state(device) : standing
        return .init(device: device, state: words, tone: tone(peer, isGone: isGone))
    }

    private func tone(_ peer: StatusReport.Peer, isGone: Bool) -> PageSentence.Tone {
        if peer.standing == .differs { return .bad }
        if isGone { return .plain }
        if peer.problem != nil { return .wait }
        return switch peer.standing {
        case .inStep: .good
        case .behind, .ahead, .apart, .waits: .wait
        case .differs: .bad
        case .unproven, nil: .plain
        }
    }
}
