import Ferry
import FerryContainer
import FerryUI
import Foundation

/// Answers the page's questions by the calls of the verbs: `status`, `devices`, `log`, `conflicts`, `history`, `restore`,
/// `compact --dry-run`, `verify`.
final class PageAnswers: PageSource {
    /// The most rows of a page, and conflicts and hidden rows of a list.
    private static let pageLength = 50
    /// The most changes for the plot.
    static let countedChanges = 2000
    /// The changes listed as the newest.
    private static let latestChanges = 12

    private let database: OpenDatabase
    private let isReadOnly: Bool
    private let clock: any WallClock = ReplicaEnvironment.live.clock
    /// The last log, with the status at the same time: an equal status means an equal log.
    private let lastLog = Locked<(status: StatusReport, log: Result<[LogEntry], FerryError>)?>(nil)
    /// Called after an act.
    private let onChange: @Sendable () -> Void

    init(_ database: OpenDatabase, isReadOnly: Bool, onChange: @escaping @Sendable () -> Void) {
        self.database = database
        self.isReadOnly = isReadOnly
        self.onChange = onChange
    }

    func answer(_ question: PageQuestion) async throws -> Data {
        switch question {
        case .summary: try await database.perform { try PageJSON.encode(self.summary($0)) }
        case .overview: try await database.perform { try PageJSON.encode(self.overview($0)) }
        case .conflicts(let table, let isResolved, let before):
            try await database.perform { replica in
                let filter = ConflictFilter(table: table, resolution: isResolved ? .resolved : .unresolved)
                return try PageJSON.encode(self.conflicts(replica.store, filter, before))
            }
        case .tables: try await database.perform { try PageJSON.encode(self.tables($0.store)) }
        case .rows(let table, let after, let search):
            try await database.perform { replica in
                let page = try replica.store.rows(
                    ofTable: table, after: after.map(RowPlace.key), search: search, limit: Self.pageLength)
                return try PageJSON.encode(PageReports.Rows(page))
            }
        case .row(let table, let key): try await database.perform { try PageJSON.encode(self.row($0, table, key)) }
        case .object(let table, let id):
            try await database.perform { replica in
                guard let object = ObjectID(id) else {
                    throw FerryError(.invalidArgument, "“\(id)” is no ID of a row.")
                }
                let detail = try replica.store.rowDetail(table: table, object: object)
                return try PageJSON.encode(
                    PageReports.RowPast(rows: [PageReports.Row(detail, nil)], gaps: [], unpacked: 0))
            }
        case .hidden(let table): try await database.perform { try PageJSON.encode(self.hidden($0, table)) }
        case .container: try await database.perform { try PageJSON.encode(self.container($0)) }
        case .verify: try await database.perform { try PageJSON.encode(PageReports.Verification($0.verify())) }
        }
    }

    func perform(_ act: PageAct) async throws -> Data {
        let data: Data
        switch act {
        case .resolve(let numbers):
            data = try await database.perform {
                try PageJSON.encode(PageReports.Resolved(resolved: $0.store.resolveConflicts(numbers)))
            }
        case .restoreConflict(let number):
            data = try await database.perform { replica in
                let row = try replica.restoreConflict(number)
                return try PageJSON.encode(
                    PageReports.Restored(
                        restored: RestoredRowReport(row), sentence: RestoredRowReport.sentence(row), gaps: []))
            }
        case .restoreRow(let moment):
            data = try await database.perform { try PageJSON.encode(self.restore($0, moment)) }
        }
        onChange()
        return data
    }

    private func restore(_ replica: Replica, _ moment: PageAct.RowMoment) throws -> PageReports.Restored {
        let isDryRun = moment.dryRun ?? false
        var options: RestoreOptions = isDryRun ? [.isDryRun] : []
        if moment.allowDelete ?? false { options.insert(.allowsDeletion) }
        let object = try moment.object.map { text in
            guard let object = ObjectID(text) else {
                throw FerryError(.invalidArgument, "“\(text)” is no ID of a row.")
            }
            return object
        }
        let time = try moment.at.map { text in
            do throws(PointInTime.Refusal) {
                return try PointInTime(text, now: clock.milliseconds()).time
            } catch {
                throw FerryError(.invalidArgument, "“\(text)” is no time of a change.")
            }
        }
        let restoration = try replica.restoreRow(
            table: moment.table, key: moment.key, asOf: time ?? .end(ofMillisecond: moment.atMilliseconds),
            object: object, options: options)
        let row = restoration.row
        return PageReports.Restored(
            restored: RestoredRowReport(row, atMilliseconds: moment.atMilliseconds, dryRun: isDryRun),
            sentence: RestoredRowReport.sentence(row, isDryRun: isDryRun), gaps: Self.gaps(restoration.gaps))
    }

    // MARK: Views

    private func summary(_ replica: Replica) throws -> PageReports.Summary {
        let status = try replica.store.status(counting: false)
        let names = status.devices.filter { !$0.isSelf }.map(\.name).filter { !$0.isEmpty }
        return PageReports.Summary(
            database: database.path.split(separator: "/").last.map(String.init) ?? database.path,
            nowMilliseconds: clock.milliseconds(), readOnly: isReadOnly, conflicts: status.conflicts,
            notShown: status.exceptional.reduce(0) { $0 + $1.count } + status.stranded.reduce(0) { $0 + $1.rows },
            devices: [replica.identity.deviceName] + names)
    }

    private func overview(_ replica: Replica) throws -> PageReports.Overview {
        let status = try replica.status()
        let devices = try replica.devices()
        let page = StatusPage(status, database: database.path, now: clock.milliseconds())
        let style = PageSentence.style
        let lines = page.news(style) + page.documents(style) + page.membership(style)
        let log = try log(replica, status)
        let changes = (try? log.get()) ?? []  // the report has the reason
        return PageReports.Overview(
            status: status, concerns: status.concerns, sentences: lines.map(PageSentence.init),
            devices: devices.devices.map { OverviewDevice(status, devices).report($0, page) },
            reachable: devices.reachable, activity: activity(changes), activityProblem: log.failure?.message,
            // Rows of documents say nothing to a person: the sentences above tell of documents.
            latest: changes.filter { !DocumentTables.contains(foldedName($0.table)) }.prefix(Self.latestChanges).map {
                .init(LogCommand.Change($0), $0.key)
            })
    }

    private func activity(_ changes: [LogEntry]) -> ActivityPlot? {
        let now = clock.milliseconds()
        return ActivityPlot(
            changes.compactMap { entry in
                entry.timeMilliseconds.map { .init(device: entry.device, timeMilliseconds: $0) }
            }, now: now, offset: Int64(TimeZone.current.secondsFromGMT()) * 1000,
            isWhole: changes.count < Self.countedChanges)
    }

    /// The newest changes, or why they cannot be read.
    private func log(_ replica: Replica, _ status: StatusReport) throws -> Result<[LogEntry], FerryError> {
        if let known = lastLog.withLock({ $0 }), known.status == status { return known.log }
        let log: Result<[LogEntry], FerryError>
        do {
            log = .success(try replica.log(limit: Self.countedChanges))
        } catch let error as FerryError {
            log = .failure(error)
        }
        lastLog.withLock { $0 = (status, log) }
        return log
    }

    private func conflicts(
        _ store: Store, _ filter: ConflictFilter, _ before: Int64?
    ) throws -> PageReports.Conflicts {
        // An additional conflict tells whether there is a next page.
        let found = try store.conflicts(filter, limit: Self.pageLength + 1, before: before)
        let shown = found.prefix(Self.pageLength)
        return PageReports.Conflicts(
            conflicts: try shown.map { .init($0, try Self.detail(of: $0, store)) },
            total: try store.conflictCount(filter),
            tables: try store.status(counting: false).tables.map(\.name),
            nextBefore: found.count > shown.count ? shown.last?.number : nil)
    }

    /// The present row of a conflict; `nil` if the row is unknown by now.
    private static func detail(of conflict: Conflict, _ store: Store) throws -> RowDetail? {
        do {
            return try store.rowDetail(table: conflict.table, object: conflict.object)
        } catch let error as FerryError where error.code == .nothingFound || error.code == .invalidArgument {
            return nil
        }
    }

    private func tables(_ store: Store) throws -> PageReports.Tables {
        PageReports.Tables(tables: try store.status().tables.map { .init($0) })
    }

    private func row(_ replica: Replica, _ table: String, _ key: [String]) throws -> PageReports.RowPast {
        let details = try replica.store.rowDetails(table: table, key: key)
        var histories: RowHistories?
        var gaps: [PageReports.Gap] = []
        do {
            histories = try replica.history(table: table, key: key)
        } catch let error as FerryError where error.code != .nothingFound {
            // Without the container, the row is shown without a past.
            gaps = [PageReports.Gap(device: replica.identity.containerName, reason: error.message)]
        }
        return PageReports.RowPast(
            rows: details.map { detail in
                PageReports.Row(detail, histories?.rows.first { $0.row.object == detail.row.object })
            }, gaps: gaps + Self.gaps(histories?.gaps ?? []), unpacked: histories?.unpacked ?? 0)
    }

    private static func gaps(_ gaps: [RowHistories.Gap]) -> [PageReports.Gap] {
        gaps.map { PageReports.Gap(device: $0.device, reason: $0.reason) }
    }

    private func hidden(_ replica: Replica, _ table: String?) throws -> PageReports.Hidden {
        let status = try replica.status()
        let rows = try replica.store.hiddenRows(table: table, limit: Self.pageLength)
        return PageReports.Hidden(
            groups: status.exceptions.map { .init(exception: $0) },
            hidden: rows.map { .init(HiddenRowReport($0), $0.key) },
            hiddenTotal: try replica.store.hiddenRowCount(table: table),
            tablesApart: status.tablesApart.map { .init(problem: $0.problem, advice: TableApart.advice) },
            waitingTables: status.waitingTables.map { .init(problem: $0.problem, advice: WaitingTable.advice) },
            leftOutTriggers: status.leftOutTriggers.map { .init(problem: $0.problem, advice: LeftOutTrigger.advice) },
            plainReferences: status.plainReferences)
    }

    private func container(_ replica: Replica) throws -> PageReports.Container {
        let identity = replica.identity
        var report = PageReports.Container(
            name: identity.containerName, path: identity.containerPath, compactionSentences: [])
        do {
            report.files = try replica.containerFiles()
        } catch let error as FerryError {
            report.filesProblem = error.message
        }
        do {
            let plan = try replica.compact(isDryRun: true)
            report.compaction = plan
            report.compactionSentences = CompactionPage(plan).lines(Style(isOn: false))
        } catch let error as FerryError {
            report.compactionProblem = error.message
        }
        return report
    }
}

extension Result {
    fileprivate var failure: Failure? {
        if case .failure(let error) = self { return error }
        return nil
    }
}
