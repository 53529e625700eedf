import ArgumentParser
import Ferry
import FerryMirror

/// `ferry status`.
struct StatusCommand: DatabaseCommand {
    static let configuration = CommandConfiguration(
        commandName: "status",
        abstract: "Show devices, tables, and what is still to come or go.",
        discussion: """
            Changes nothing, and needs no lock. "In step" is proven: both devices have replayed the same changes, and the \
            digests of their states and rows agree. "standing" is inStep, behind, ahead, apart (both), unproven (the other \
            one tells no digests of its rows, or has "differingSchemas"), waits (rows of "waitingTables" wait here or there for \
            the app, which has a collation or a function that they need) or differs: "differing" names the tables, \
            "differingRows" those in which only the rows differ, "differingByKeys" those with an index on integer keys.

            JSON: {"device": {"id", "name"}, "container": {"id", "name", "path", "reachable", "problem", \
            "failure", "failingSinceMilliseconds", and in a sealed container "sealed", "epoch", "members", "claims", \
            "copies": [{"id", "of", "admittedMilliseconds"}]}, \
            "tables": [{"name", "identity", "objects"}], "leftOut": [{"name", "reason"}], "devices": [{"id", "name", \
            "behind", "unacknowledged", "lastSeenMilliseconds", "activity", "isLeftBehind", "problem", "problemCode", \
            "problemSinceMilliseconds", "problemFile", "standing", "changesetsBehind", \
            "changesetsAhead", "differing", "waitingTables", "differingRows", "differingSchemas", "differingByKeys", "successors", "membership"}], \
            "waitingTables": [{"table", "rows", "unpacked", "missing"}], "unpublished", "hidden", \
            "exceptions": [{"table", "kind", "reason", "columns", "count"}], "conflicts", \
            "policies": [{"target", "policy", "applied"}], \
            "plainReferences": [{"table", "columns", "parent", "reason"}], "mirrors": [{"directory", "gone", "conflicts", \
            "absent", "blocked", "left", …}] (as `documents mirror` lists them)}. Problems, failures, "lastSeenMilliseconds" and \
            what begins with "differing" are left out where there is nothing to say.

            For monitoring, --check tells only what somebody should know, and ends with 0 where that is nothing. 65: rows differ, \
            a log is damaged, or a table waits for the app. 69: the container is not reachable, or the last sync failed. 75: \
            changes wait, or another device's files are late; that passes, so alarm where it lasts. Silent devices, conflicts and \
            hidden rows are no reason. With --json also "concerns": [{"kind", "device", "message", "sinceMilliseconds"}].

            Examples:
              ferry status music.sqlite
              ferry status music.sqlite --check || notify-send "music is not in step"
              ferry status music.sqlite --json | jq '.devices[] | select(.behind > 0)'
            """)

    @OptionGroup var argument: DatabaseArgument

    @Flag(help: "Tell only what a monitor should report, and end with a status that says it.")
    var check = false

    @OptionGroup var output: OutputOptions

    func perform(_ console: Console) throws {
        let replica = try Replica(path: argument.database)
        let report = try replica.status()
        let mirrors = try Mirrors(replica).list()
        if check { return try StatusCheck(report, mirrors, of: argument.database).tell(console) }
        if console.isJSON {
            return try console.emit(StatusJSON(report: report, mirrors: mirrors.map { MirrorJSON($0) }))
        }
        let page = StatusPage(report, database: argument.database, now: ReplicaEnvironment.live.clock.milliseconds())
        for line in page.lines(console) { try console.answer(line) }
        for mirror in mirrors { MirrorPage.tellRest(mirror, argument.database, console) }
    }
}

/// A status with the mirrors of the database on this device.
private struct StatusJSON: Encodable {
    let report: StatusReport
    let mirrors: [MirrorJSON]

    private enum CodingKeys: String, CodingKey { case mirrors }

    func encode(to encoder: any Encoder) throws {
        try report.encode(to: encoder)
        if mirrors.isEmpty { return }
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(mirrors, forKey: .mirrors)
    }
}
