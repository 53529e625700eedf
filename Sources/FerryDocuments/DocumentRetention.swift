import FerryCore

/// The versions and documents to remove by age: a pure function of the tables and the time.
///
/// - A replaced version stays for a day. Then the last version of each day stays for thirty days.
/// - A deleted document stays for thirty days, with all versions needed to put the document back.
/// - Leaves stay for ever, and so do the bases of their merges.
///
/// A version's age counts from the time of the replacement. Ages come from the clocks of the versions' authors. A clock
/// that is ahead keeps versions longer. A clock that is behind may release versions too early, but never a leaf.
package struct DocumentRetention: Hashable, Sendable {
    package static let dayMilliseconds: Int64 = 86_400_000

    /// How long every superseded version stays.
    package var versionMilliseconds = dayMilliseconds
    /// How long the last version of each day stays.
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

    /// Keeps a version a day and deleted documents for so many days; `nil` for no days, or too many.
    package init?(days: Int64) {
        guard (1...Int64(Self.maximumDays)).contains(days) else { return nil }
        dailyMilliseconds = days * Self.dayMilliseconds
        trashMilliseconds = dailyMilliseconds
    }

    /// How many days deleted documents stay; `nil`: for ever.
    package var days: Int? { self == .forever ? nil : Int(trashMilliseconds / Self.dayMilliseconds) }

    /// The rows to remove, as a plan. A single transaction carries the plan out.
    package struct Plan: Hashable, Sendable {
        /// By ascending ID. Everything inside these documents goes as well.
        package var documents: [DocumentID] = []
        /// By ascending ID; all versions of those documents are among them.
        package var versions: [VersionID] = []
        /// Versions that get the mark `superseded`: no leaves, but without the mark so far. The versions that supersede
        /// them may go.
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

    /// The expired deleted documents with no remaining document inside.
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
        // Without a leaf the time of the deletion is unknown. Such a row remains after a rename and a removal on two
        // devices.
        let since = leaves.current?.madeMilliseconds ?? row.namedMilliseconds ?? .min
        return isOver(since, trashMilliseconds, now)
    }

    private func isOver(_ since: Int64, _ period: Int64, _ now: Int64) -> Bool {
        let (end, overflows) = since.addingReportingOverflow(period)
        return !overflows && end <= now
    }

    // MARK: Versions

    /// The versions of a document to remove.
    private func superfluous(_ versions: [VersionRow], _ leaves: DocumentLeaves, _ now: Int64) -> [VersionID] {
        let (needed, daily) = (needed(versions, leaves), lastOfDays(versions))
        let ends = endings(versions)
        return versions.filter { version in
            if needed.contains(version.id) { return false }
            let period = daily.contains(version.id) ? dailyMilliseconds : versionMilliseconds
            return isOver(ends[version.id] ?? version.madeMilliseconds, period, now)
        }.map(\.id)
    }

    /// The leaves, the versions deleted by them, and the bases of their merges.
    private func needed(_ versions: [VersionRow], _ leaves: DocumentLeaves) -> Set<VersionID> {
        var needed = Set(leaves.all.map(\.id))
        for deletion in leaves.all where deletion.content == nil { needed.formUnion(deletion.supersedes) }
        guard leaves.isDeleted || !leaves.rivals.isEmpty else { return needed }
        let history = VersionHistory(versions)
        if leaves.isDeleted, let version = history.beforeDeletion { needed.insert(version.id) }
        for pair in history.mergePairs { if let base = pair.base { needed.insert(base.id) } }
        return needed
    }

    /// Of each day the last version with content made on the day.
    private func lastOfDays(_ versions: [VersionRow]) -> Set<VersionID> {
        var last: [Int64: VersionRow] = [:]
        for version in versions where version.content != nil {
            let made = version.madeMilliseconds
            let day = made / Self.dayMilliseconds - (made % Self.dayMilliseconds < 0 ? 1 : 0)
            if last[day].map({ VersionRow.isEarlier($0, version) }) ?? true { last[day] = version }
        }
        return Set(last.values.map(\.id))
    }

    /// The time of each version's replacement, in milliseconds since the Unix epoch. If the replacing version is gone,
    /// the time of the next remaining version counts.
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
