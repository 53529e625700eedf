import Ferry

/// The data for the views of `ferry ui`, made of the reports of the verbs. The keys stay: the page's scripts rely on
/// them.
enum PageReports {
    /// A report about a row, with the row's key in the form for `ferry history`.
    struct KeyedReport<Report: Encodable>: Encodable {
        var report: Report
        var keyWords: [String]

        private enum CodingKeys: String, CodingKey { case keyWords }

        init(_ report: Report, _ key: [FieldValue]) {
            self.report = report
            keyWords = key.map(\.text)
        }

        func encode(to encoder: any Encoder) throws {
            try report.encode(to: encoder)
            var container = encoder.container(keyedBy: CodingKeys.self)
            try container.encode(keyWords, forKey: .keyWords)
        }
    }

    struct Summary: Encodable {
        var database: String
        var nowMilliseconds: Int64
        var readOnly: Bool
        var conflicts: Int
        var notShown: Int
        /// The names of all devices, with this device first.
        var devices: [String]
    }

    struct Overview: Encodable {
        struct Device: Encodable {
            var device: DevicesReport.Device
            var state: String
            var tone: PageSentence.Tone

            private enum CodingKeys: String, CodingKey {
                case state
                case tone
            }

            func encode(to encoder: any Encoder) throws {
                try device.encode(to: encoder)
                var container = encoder.container(keyedBy: CodingKeys.self)
                try container.encode(state, forKey: .state)
                try container.encode(tone, forKey: .tone)
            }
        }

        var status: StatusReport
        var concerns: [StatusReport.Concern]
        var sentences: [PageSentence]
        var devices: [Device]
        var reachable: Bool
        var activity: ActivityPlot?
        /// Why the log cannot be read.
        var activityProblem: String?
        var latest: [KeyedReport<LogCommand.Change>]
    }

    /// A conflict with the present row.
    struct ListedConflict: Encodable {
        /// The most columns of the row around a conflict.
        static let maximumColumns = 12

        var conflict: KeyedReport<ConflictReport>
        var around: [Row.Field]

        private enum CodingKeys: String, CodingKey { case around }

        /// - Parameter detail: `nil` where nothing is known of the row any more.
        init(_ conflict: Conflict, _ detail: RowDetail?) {
            self.conflict = KeyedReport(ConflictReport(conflict), conflict.key)
            let fields = (detail?.fields ?? []).enumerated().filter {
                $0.offset < Self.maximumColumns || String?.areEqualBytes($0.element.column, conflict.column)
            }
            around = fields.map { Row.Field($0.element) }
        }

        func encode(to encoder: any Encoder) throws {
            try conflict.encode(to: encoder)
            var container = encoder.container(keyedBy: CodingKeys.self)
            try container.encode(around, forKey: .around)
        }
    }

    struct Conflicts: Encodable {
        var conflicts: [ListedConflict]
        var total: Int
        /// The travelling tables.
        var tables: [String]
        var nextBefore: Int64?
    }

    struct Tables: Encodable {
        var tables: [StatusReport.Table]
    }

    struct Rows: Encodable {
        struct Row: Encodable {
            var key: [JSONValue]
            var keyWords: [String]
            var values: [JSONValue]
        }

        var table: String
        var keyColumns: [String]
        var columns: [String]
        var furtherColumns: Int
        var rows: [Row]
        var next: String?
        var searched: Int

        init(_ page: RowPage) {
            table = page.table
            keyColumns = page.keyColumns
            columns = page.columns
            furtherColumns = page.furtherColumns
            rows = page.rows.map { row in
                Row(
                    key: row.key.map { JSONValue($0) }, keyWords: row.key.map(\.text),
                    values: row.cells.map(PageJSON.cell))
            }
            next = page.next.map(RowPlace.text)
            searched = page.searched
        }
    }

    struct Row: Encodable {
        struct Field: Encodable {
            var column: String
            var value: JSONValue?
            var device: String?
            var timeMilliseconds: Int64?
            var policy: String?

            init(_ field: RowDetail.Field) {
                column = field.column
                value = field.value.map { JSONValue($0) }
                device = field.deviceName
                timeMilliseconds = field.timeMilliseconds
                policy = field.policy
            }
        }

        var table: String
        var key: [JSONValue]
        var keyWords: [String]
        var object: String
        var presence: String
        var presenceSentence: String
        var fields: [Field]
        var isUnpacked: Bool
        var changes: [HistoryCommand.Change]
        /// The number of older changes left out.
        var furtherChanges: Int

        /// The most changes of a row.
        static let maximumChanges = 200

        init(_ detail: RowDetail, _ history: RowHistory?) {
            let row = detail.row
            table = row.table
            key = row.key.map { JSONValue($0) }
            keyWords = row.key.map(\.text)
            object = row.object.description
            let words = HistoryCommand.presence(row.presence)
            presence = words.name
            presenceSentence = "The row " + words.sentence + "."
            fields = detail.fields.map(Field.init)
            isUnpacked = detail.isUnpacked
            let all = history.map { HistoryCommand.report($0).changes } ?? []
            changes = Array(all.suffix(Self.maximumChanges))
            furtherChanges = all.count - changes.count
        }
    }

    /// A log with a gap, or the unreadable container.
    struct Gap: Encodable {
        var device: String
        var reason: String
    }

    struct RowPast: Encodable {
        var rows: [Row]
        var gaps: [Gap]
        var unpacked: Int
    }

    struct Hidden: Encodable {
        struct Group: Encodable {
            var exception: StatusReport.Exceptional

            private enum CodingKeys: String, CodingKey {
                case word
                case advice
                case isHidden
            }

            func encode(to encoder: any Encoder) throws {
                try exception.encode(to: encoder)
                var container = encoder.container(keyedBy: CodingKeys.self)
                let word = StatusPage.word(exception.kind)
                try container.encode(word, forKey: .word)
                try container.encode(word == "hidden", forKey: .isHidden)
                try container.encode(ShownAgain.advice(exception.kind), forKey: .advice)
            }
        }

        struct Note: Encodable {
            var problem: String
            var advice: String
        }

        var groups: [Group]
        var hidden: [KeyedReport<HiddenRowReport>]
        var hiddenTotal: Int
        var tablesApart: [Note]
        var waitingTables: [Note]
        var leftOutTriggers: [Note]
        var plainReferences: [PlainReference]
    }

    struct Container: Encodable {
        var name: String
        var path: String
        var files: ContainerFilesReport?
        var filesProblem: String?
        var compaction: CompactionReport?
        var compactionProblem: String?
        var compactionSentences: [String]
    }

    struct Verification: Encodable {
        var report: VerificationReport
        var sentence: String
        var advice: [String]

        private enum CodingKeys: String, CodingKey {
            case sentence
            case advice
            case isSound
        }

        init(_ report: VerificationReport) {
            self.report = report
            let page = VerificationPage(report)
            sentence = page.failure?.message ?? page.success(Style(isOn: false))
            advice = report.remedies.map(\.advice)
        }

        func encode(to encoder: any Encoder) throws {
            try report.encode(to: encoder)
            var container = encoder.container(keyedBy: CodingKeys.self)
            try container.encode(sentence, forKey: .sentence)
            try container.encode(advice, forKey: .advice)
            try container.encode(report.isSound, forKey: .isSound)
        }
    }

    struct Restored: Encodable {
        var restored: RestoredRowReport
        var sentence: String
        var gaps: [Gap]

        private enum CodingKeys: String, CodingKey {
            case sentence
            case gaps
        }

        func encode(to encoder: any Encoder) throws {
            try restored.encode(to: encoder)
            var container = encoder.container(keyedBy: CodingKeys.self)
            try container.encode(sentence, forKey: .sentence)
            try container.encode(gaps, forKey: .gaps)
        }
    }

    struct Resolved: Encodable {
        var resolved: Int
    }
}
