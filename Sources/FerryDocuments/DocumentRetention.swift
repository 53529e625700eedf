import FerryCore

/// Which versions and documents go, by their age: a pure function of the tables and the time.
///
/// - A version that another stands in the place of stays for a day. Then the last one of each day stays for thirty days.
/// - A deleted document stays for thirty days, with everything that it takes to put it back.
/// - Leaves stay for ever, and so does what a merge of them begins with.
///
/// A version's age counts from when another was put in its place. Ages come from the clocks of those who made versions. So a clock
/// that is ahead keeps longer; one that is behind may let go of what is in no leaf, and of nothing else.
package struct DocumentRetention: Hashable, Sendable {
    package static let dayMilliseconds: Int64 = 86_400_000

    /// How long every superseded version stays.
    package var versionMilliseconds = dayMilliseconds
    /// How long one version a day stays.
    package var dailyMilliseconds = 30 * dayMilliseconds
    /// How long a deleted document stays.
    package var trashMilliseconds = 30 * dayMilliseconds

    package init() {}

    package static let maximumDays = 36_500

    /// Nothing goes.
    package static let forever: DocumentRetention = {
        var retention = DocumentRetention()
        retention.versionMilliseconds = .max
        retention.dailyMilliseconds = .max
        retention.trashMilliseconds = .max
        return retention
    }()

    /// One version a day and deleted documents stay for so many days; `nil` for none, or too many.
    package init?(days: Int64) {
        guard (1...Int64(Self.maximumDays)).contains(days) else { return nil }
        dailyMilliseconds = days * Self.dayMilliseconds
        trashMilliseconds = dailyMilliseconds
    }

    /// How many days deleted documents stay; `nil`: for ever.
    package var days: Int? { self == .forever ? nil : Int(trashMilliseconds / Self.dayMilliseconds) }

    /// What goes, as a plan. One transaction carries it out.
    package struct Plan: Hashable, Sendable {
        /// By ascending ID. Whatever lies in one of them goes as well.
        package var documents: [DocumentID] = []
        /// By ascending ID; all versions of those documents are among them.
        package var versions: [VersionID] = []
        /// Versions whose `superseded` becomes 1: no leaves, and without the mark. The versions that say so may go.
        package var superseded: [VersionID] = []

        package init() {}
    }

    /// - Parameters:
    ///   - documents: all rows of `ferry_document`.
    ///   - versions: all rows of `ferry_version`.
    ///   - nowMilliseconds: milliseconds since the Unix epoch.
    package func plan(documents: [DocumentRow], versions: [VersionRow], nowMilliseconds: Int64) -> Plan {
        let byDocument = Dictionary(grouping: versions, by: \.document)
        let gone = expired(documents, byDocument, nowMilliseconds)
        var plan = Plan()
        for row in documents {
            let own = byDocument[row.id] ?? []
            if gone.contains(row.id) {
                plan.documents.append(row.id)
                plan.versions += own.map(\.id)
            } else if own.count > 1 {
                let leaves = DocumentLeaves(own)
                let isLeaf = Set(leaves.all.map(\.id))
                let going = Set(superfluous(own, leaves, nowMilliseconds))
                plan.versions += going
                plan.superseded += own.filter { !$0.isSuperseded && !isLeaf.contains($0.id) && !going.contains($0.id) }
                    .map(\.id)
            }
        }
        plan.documents.sort()
        plan.versions.sort()
        plan.superseded.sort()
        return plan
    }

    // MARK: Trash

    /// The deleted documents whose time is over, and in which nothing lies that stays.
    private func expired(
        _ documents: [DocumentRow], _ versions: [DocumentID: [VersionRow]], _ now: Int64
    ) -> Set<DocumentID> {
        var folders: [DocumentID: DocumentID] = [:]
        var gone: Set<DocumentID> = []
        for row in documents {
            folders[row.id] = row.folder
            if isExpired(row, versions[row.id] ?? [], now) { gone.insert(row.id) }
        }
        for row in documents where !gone.contains(row.id) {
            var next = row.folder
            while let folder = next, gone.remove(folder) != nil { next = folders[folder] }
        }
        return gone
    }

    private func isExpired(_ row: DocumentRow, _ versions: [VersionRow], _ now: Int64) -> Bool {
        let leaves = DocumentLeaves(versions)
        guard leaves.isDeleted else { return false }
        // Without a leaf nothing says when. Such a row is what is left where somebody renamed what somebody else removed.
        let since = leaves.current?.madeMilliseconds ?? row.namedMilliseconds ?? .min
        return isOver(since, trashMilliseconds, now)
    }

    private func isOver(_ since: Int64, _ period: Int64, _ now: Int64) -> Bool {
        let (end, overflows) = since.addingReportingOverflow(period)
        return !overflows && end <= now
    }

    // MARK: Versions

    /// The versions of one document that go.
    private func superfluous(_ versions: [VersionRow], _ leaves: DocumentLeaves, _ now: Int64) -> [VersionID] {
        let (needed, daily) = (needed(versions, leaves), lastOfDays(versions))
        let ends = endings(versions)
        return versions.filter { version in
            if needed.contains(version.id) { return false }
            let period = daily.contains(version.id) ? dailyMilliseconds : versionMilliseconds
            return isOver(ends[version.id] ?? version.madeMilliseconds, period, now)
        }.map(\.id)
    }

    /// The leaves, what they deleted, and what merges of them begin with.
    private func needed(_ versions: [VersionRow], _ leaves: DocumentLeaves) -> Set<VersionID> {
        var needed = Set(leaves.all.map(\.id))
        for deletion in leaves.all where deletion.content == nil { needed.formUnion(deletion.supersedes) }
        guard leaves.isDeleted || !leaves.rivals.isEmpty else { return needed }
        let history = VersionHistory(versions)
        if leaves.isDeleted, let version = history.beforeDeletion { needed.insert(version.id) }
        for pair in history.mergePairs { if let base = pair.base { needed.insert(base.id) } }
        return needed
    }

    /// Of each day the last version with content that was made then.
    private func lastOfDays(_ versions: [VersionRow]) -> Set<VersionID> {
        var last: [Int64: VersionRow] = [:]
        for version in versions where version.content != nil {
            let made = version.madeMilliseconds
            let day = made / Self.dayMilliseconds - (made % Self.dayMilliseconds < 0 ? 1 : 0)
            if last[day].map({ VersionRow.isEarlier($0, version) }) ?? true { last[day] = version }
        }
        return Set(last.values.map(\.id))
    }

    /// When another version was put in the place of each, in milliseconds since the Unix epoch. Where that version is gone, the next
    /// one that is left says when.
    private func endings(_ versions: [VersionRow]) -> [VersionID: Int64] {
        var ends: [VersionID: Int64] = [:]
        for version in versions {
            for other in version.supersedes {
                ends[other] = min(ends[other] ?? .max, version.madeMilliseconds)
            }
        }
        let times = versions.map(\.madeMilliseconds).sorted()
        for version in versions {
            let made = version.madeMilliseconds
            ends[version.id] = max(ends[version.id] ?? Self.first(after: made, in: times) ?? made, made)
        }
        return ends
    }

    private static func first(after time: Int64, in times: [Int64]) -> Int64? {
        var (low, high) = (0, times.count)
        while low < high {
            let middle = (low + high) / 2
            if times[middle] <= time { low = middle + 1 } else { high = middle }
        }
        return low < times.count ? times[low] : nil
    }
}
