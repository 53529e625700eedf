import Ferry

/// The status as a page of text: important lines first, details below. A pure function of the report and the time.
struct StatusPage {
    let report: StatusReport
    let database: String
    let now: Int64
    /// The names of devices on the page.
    private let labels: DeviceLabels

    init(_ report: StatusReport, database: String, now: Int64) {
        self.report = report
        self.database = database
        self.now = now
        labels = DeviceLabels(
            [(report.device.id, report.device.name)] + report.devices.map { ($0.id, $0.name) })
    }

    func lines(_ console: Console) -> [String] {
        let style = console.style
        return news(style) + losses + documents(style) + membership(style) + place(console) + devices(style)
            + TableListing(report.tables, report.leftOut).lines(console)
            + exceptions(style) + policies(style) + PlainReferenceListing(report.plainReferences).lines(style)
    }

    /// The lines about sending, receiving and waiting. The first line says whether all is well.
    func news(_ style: Style) -> [String] {
        var news: [String] = []
        news += containerFailure(style)
        let behind = report.devices.reduce(0) { $0 + $1.behind }
        if report.unpublished > 0 {
            news.append(
                style.yellow(Wording.count(report.unpublished, "change waits", "changes wait")) + " to be published.")
        }
        if !report.unseenTables.isEmpty {
            let (isOne, names) = (report.unseenTables.count == 1, Wording.list(report.unseenTables))
            news.append(
                style.yellow("\(names) \(isOne ? "was" : "were") made anew since the last sync.")
                    + " What was written to \(isOne ? "the table" : "the tables") meanwhile is not counted here.")
        }
        if behind > 0 {
            news.append(style.yellow(Wording.changesets(behind) + (behind == 1 ? " is" : " are")) + " still to come.")
        }
        for device in report.devices {
            if let problem = device.problem {
                let age = Wording.waiting(sinceMilliseconds: device.problemSinceMilliseconds, now: now)
                news.append(style.yellow("\(labels[device.id]): ") + problem + age)
            }
            if device.activity == .silent { news.append(silence(device, style)) }
            news += difference(device, style)
        }
        if news.isEmpty {
            news.append(style.green(rest))
        } else {
            news += advice(style)
        }
        for policy in report.policies where !policy.applied {
            news.append(
                style.yellow("The policy “\(policy.policy)” of “\(policy.target)” is not known here. ")
                    + "Changes of its table wait for who knows it.")
        }
        news += report.tablesApart.map { style.yellow($0.problem) }
        if !report.tablesApart.isEmpty { news.append(TableApart.advice) }
        news += report.waitingTables.map { style.yellow($0.problem) }
        if !report.waitingTables.isEmpty { news.append(WaitingTable.advice) }
        news += report.leftOutTriggers.map { style.yellow($0.problem) }
        if !report.leftOutTriggers.isEmpty { news.append(LeftOutTrigger.advice) }
        return news
    }

    private var losses: [String] {
        var lines: [String] = []
        if report.hidden > 0 {
            lines.append(Wording.count(report.hidden, "row is", "rows are") + " hidden; see below.")
        }
        if report.conflicts > 0 {
            lines.append(Wording.count(report.conflicts, "conflict") + "; `ferry conflicts` shows what lost.")
        }
        return lines
    }

    /// The lines about documents and attachments.
    func documents(_ style: Style) -> [String] {
        guard let found = report.documents else { return [] }
        let folders = found.folders > 0 ? " in \(Wording.count(found.folders, "folder"))" : ""
        var lines = [
            "Documents: \(Wording.grouped(found.documents))\(folders); "
                + "\(Wording.bytes(found.hereBytes)) of \(Wording.bytes(found.bytes)) here."
        ]
        if found.pendingPacks > 0 {
            lines.append(
                style.yellow("\(Wording.bytes(found.pendingBytes)) of documents wait") + " to be published.")
        }
        if found.waiting > 0 {
            lines.append(
                style.yellow("\(Wording.count(found.waiting, "content is", "contents are")) still to come:")
                    + " \(found.obstacle)\(Wording.waiting(sinceMilliseconds: found.sinceMilliseconds, now: now))."
            )
        }
        if found.lost > 0 {
            lines.append(
                style.red("\(Wording.count(found.lost, "content is", "contents are")) lost;")
                    + " `ferry documents list --state lost` names the documents.")
        }
        if found.conflicts > 0 {
            lines.append(
                style.yellow("\(Wording.count(found.conflicts, "document has", "documents have")) rival versions;")
                    + " `ferry documents conflicts` shows them.")
        }
        if let strange = found.strangeSentence { lines.append(style.yellow(strange)) }
        return lines
    }

    /// The lines about the members of a sealed container.
    func membership(_ style: Style) -> [String] {
        guard report.container.sealed ?? false else { return [] }
        var lines: [String] = []
        if let members = report.container.members {
            lines.append("Sealed; \(Wording.count(members, "member")).")
        }
        if let claims = report.container.claims {
            lines.append(
                style.yellow(Wording.count(claims, "device asks", "devices ask")) + " to be let in: "
                    + style.bold("ferry approve \(Wording.shellWord(database))") + ".")
        }
        if let claims = report.container.codeClaims {
            lines.append(
                style.yellow(Wording.count(claims, "device asks", "devices ask"))
                    + " to be let in by a code, and no member has let it in: "
                    + style.bold("ferry approve \(Wording.shellWord(database))") + " says why.")
        }
        for copy in report.container.copies ?? [] {
            lines.append(
                style.yellow(
                    "A copy of \(copy.of) came in \(Wording.age(sinceMilliseconds: copy.admittedMilliseconds, now: now))."
                )
                    + " If that was not you, remove it: "
                    + style.bold("ferry devices \(Wording.shellWord(database)) remove \(copy.id.prefix(8))") + ".")
        }
        return lines
    }

    /// The line for a status without anything to do.
    private var rest: String {
        if report.devices.isEmpty { return "Everything is published; no other device has joined yet." }
        // A device with a new ID reads no more under the old ID, unless the device was copied.
        let late = report.devices.filter {
            ($0.unacknowledged > 0 || $0.changesetsAhead ?? 0 > 0) && $0.activity == .active && $0.successors == nil
        }
        if late.isEmpty {
            let isProven =
                report.waitingTables.isEmpty
                && !report.devices.contains { $0.standing == .unproven || $0.standing == .waits }
            return isProven ? "Everything is in step." : "Everything is sent and received here."
        }
        let names = Wording.list(late.map { labels[$0.id] })
        return
            "Everything is sent and received here; \(names) \(late.count == 1 ? "has" : "have") not read all of it yet."
    }

    /// Advice. A sync fetches nothing from a device without files here.
    private func advice(_ style: Style) -> [String] {
        var lines: [String] = []
        let word = Wording.shellWord(database)
        let canReceive = report.devices.contains { $0.behind > 0 && $0.problem == nil }
        if report.container.problem == nil, report.unpublished > 0 || canReceive || !report.unseenTables.isEmpty {
            lines.append("Run " + style.bold("ferry sync \(word)") + " to send and receive.")
        }
        if report.devices.contains(where: { Self.isDamage($0.problemCode) }) {
            lines.append("Run " + style.bold("ferry doctor \(word)") + " to see what to do.")
        }
        return lines
    }

    /// True if `ferry doctor` has more to say.
    private static func isDamage(_ code: String?) -> Bool {
        code.map {
            [.damagedFile, .foreignFile, .incompatibleSchema, .unknownPolicy, .limitExceeded].contains(
                FerryError.Code(rawValue: $0))
        } ?? false
    }

    /// Names a device for which nothing is held back any more, so nobody is surprised by the device's return.
    private func silence(_ device: StatusReport.Peer, _ style: Style) -> String {
        let since = device.lastSeenMilliseconds.map {
            ": it wrote last " + Wording.age(sinceMilliseconds: $0, now: now)
        }
        let rest =
            device.isLeftBehind
            ? "it was left behind, and starts from a snapshot when it returns." : "nothing is kept for it any more."
        return style.yellow("\(labels[device.id]) is silent") + (since ?? "") + "; " + rest
    }

    private func containerFailure(_ style: Style) -> [String] {
        let place = report.container
        let age = Wording.waiting(sinceMilliseconds: place.failingSinceMilliseconds, now: now)
        if let problem = place.problem {
            return [
                style.red(place.reachable ? "This device cannot sync. " : "The container is not reachable. ") + problem
                    + age
            ]
        }
        // The folder may be well by now: the next sync tells.
        return place.failure.map { [style.yellow("The last sync failed. ") + $0 + age] } ?? []
    }

    /// For a device with the same changes, but without proof of equal rows: the difference, the reason, and advice.
    private func difference(_ device: StatusReport.Peer, _ style: Style) -> [String] {
        let name = labels[device.id]
        let difference = report.difference(
            from: device, named: name, database: " " + Wording.shellWord(database))
        var lines = difference.problems.map(style.red)
        if let waiting = device.waitingTables, report.waitingTables.isEmpty {
            lines.append(
                style.yellow("\(name) has replayed the same changes, and rows of \(Wording.list(waiting)) wait there.")
                    + " Its app shows them once it has synced.")
        }
        if !difference.problems.isEmpty {
            lines.append(difference.explanation)
        } else if let schemas = device.differingSchemas {
            let which = "\(Wording.list(schemas)) by another schema"
            lines.append(
                lines.isEmpty
                    ? style.yellow("\(name) has replayed the same changes, and has \(which).")
                        + " Rows are not compared there until both schemas are in line."
                    : "It has \(which): bring both in line, and sync.")
        }
        return lines
    }

    private func place(_ console: Console) -> [String] {
        let style = console.style
        var rows = [
            ("database", database), ("device", labels[report.device.id]),
            ("container", "\(report.container.name), in \(report.container.path)"),
        ]
        if console.isVerbose {
            rows.insert(("device ID", report.device.id), at: 2)
            rows.append(("container ID", report.container.id))
        }
        let width = rows.map(\.0.cellWidth).max() ?? 0
        return [""]
            + rows.map { "  " + style.dim($0.0.padded(to: width)) + "   " + $0.1 }
    }

    private func devices(_ style: Style) -> [String] {
        if report.devices.isEmpty { return [] }
        var table = TextTable("Other device", "Behind#", "Unacknowledged#", "Last seen", "State")
        for device in report.devices {
            let age = device.lastSeenMilliseconds.map { Wording.age(sinceMilliseconds: $0, now: now) } ?? "never"
            // Without the container nothing tells how far another device has read.
            let unacknowledged = report.container.problem == nil ? Wording.grouped(device.unacknowledged) : ""
            table.add(
                labels[device.id], Wording.grouped(device.behind), unacknowledged, age,
                [Self.standing(device, age: age), successors(device)].filter { !$0.isEmpty }.joined(separator: "; "))
        }
        return [""] + table.lines(style)
    }

    func successors(_ device: StatusReport.Peer) -> String {
        guard let successors = device.successors else { return "" }
        return "copied or restored as " + Wording.list(successors.map { labels[$0] })
    }

    static func standing(_ device: StatusReport.Peer, age: String) -> String {
        let behind = Wording.changesets(device.changesetsBehind ?? 0)
        let ahead = Wording.changesets(device.changesetsAhead ?? 0)
        let word = standing(device.standing, age: age, behind: behind, ahead: ahead)
        if let membership = device.membership { return membership }
        return device.activity == .retired ? [word, "retired"].filter { !$0.isEmpty }.joined(separator: ", ") : word
    }

    private static func standing(_ standing: StatusReport.Peer.Standing?, age: String, behind: String, ahead: String)
        -> String
    {
        switch standing {
        case .inStep: age == Wording.inTheFuture ? "in step, by its clock \(age)" : "in step as of \(age)"
        case .behind: "has \(behind) not read here"
        case .ahead: "lacks \(ahead)"
        case .apart: "has \(behind) not read here, lacks \(ahead)"
        case .differs: "differs"
        case .waits: "has the same changes; rows wait for the app"
        case .unproven: "has the same changes, not compared"
        case nil: ""
        }
    }

    private func exceptions(_ style: Style) -> [String] {
        if report.exceptions.isEmpty { return [] }
        var table = TextTable("Hidden or changed", "Rows#", "What", "Why")
        for one in report.exceptions {
            table.add(one.table, Wording.grouped(one.count), Self.word(one.kind), one.reason)
        }
        return [""] + table.lines(style)
    }

    private func policies(_ style: Style) -> [String] {
        if report.policies.isEmpty { return [] }
        var table = TextTable("Merges by a policy", "Which")
        for policy in report.policies { table.add(policy.target, policy.policy) }
        return [""] + table.lines(style)
    }

    static func word(_ kind: StatusReport.Exceptional.Kind) -> String {
        switch kind {
        case .waiting, .outranked, .refused, .missing, .awaitingApp: "hidden"
        case .heldBack, .stranded: "kept"
        case .clearedReference: "shown as NULL"
        case .joined: "joined"
        case .outdated: "shown as before"
        case .left: "not here"
        case .joining, .resolvedKey: kind.rawValue
        }
    }
}
