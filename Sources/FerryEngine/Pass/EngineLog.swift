import Logging

/// Writes the events of a watch to an app's log (swift-log, label `ferry`): failures as warnings, most of the rest for
/// debugging. Messages name paths and counts, never a row's values.
struct EngineLog: Sendable {
    private let logger: Logger

    init(database: String) {
        var logger = Logger(label: "ferry")
        logger[metadataKey: "database"] = .string(database)
        self.logger = logger
    }

    func note(_ event: SyncEvent) {
        switch event {
        case .started: logger.debug("watching")
        case .stopped: logger.debug("ended")
        case .following: logger.debug("another process keeps the database in step")
        case .leading: logger.info("keeps the database in step from now on")
        case .reopened: logger.notice("another file was put in the database's place; goes on with that")
        case .databaseChanged: logger.trace("somebody committed")
        case .synced(let report):
            if let renewed = report.renewed {
                logger.notice(
                    "\(renewed.sentence)",
                    metadata: ["formerDevice": "\(renewed.formerDevice)", "device": "\(renewed.device)"])
            }
            logger.debug(
                "synced",
                metadata: [
                    "published": "\(report.published.changes)", "replayed": "\(report.replayed.changes)",
                    "conflicts": "\(report.conflicts)", "waiting": "\(report.waiting.count)",
                ])
        case .failed(let error):
            logger.warning(
                "\(error.message)", metadata: ["code": "\(error.code.rawValue)", "path": "\(error.path ?? "-")"])
        }
    }
}
