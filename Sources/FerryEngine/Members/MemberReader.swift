import FerryContainer
import FerryCore
import FerryMembers

/// Reads records and claims from the directories of a container (Docs/Sealing.md, "Who is a member").
///
/// A fault of a file concerns this file alone: an unreadable record counts as not yet there.
struct MemberReader {
    /// The most records for reading in a directory outside all records.
    static let maximumStrangersRecords = 16
    /// The most claims for reading.
    static let maximumClaims = 64
    /// The most scanned directories outside all records.
    static let maximumStrangers = 1024
    /// The greatest age of a claim, in milliseconds. An older claim does not count.
    static let claimLifeMilliseconds: Int64 = 7 * 86_400_000

    let container: Container
    /// Now, in milliseconds since the Unix epoch.
    let now: Int64
    /// The results of earlier scans; `nil`: every directory is listed.
    var listings: MemberListings?

    /// The result of a scan of the container.
    struct Look {
        /// The directories of all devices and strangers.
        var directories: [DeviceID] = []
        /// Records not read before.
        var records: [MemberRecord] = []
        /// The names of all records in any directory.
        var present: Set<RecordName> = []
        /// Claims of devices outside all records, the oldest first.
        var claims: [Claim] = []
        /// Claims that are too old to count, by this computer's clock.
        var lateClaims: [Claim] = []
        /// The directories without a record or a claim to explain them.
        var strangers: [DeviceID] = []
        /// The errors of unreadable records and claims.
        var problems: [FerryError] = []
    }

    /// Looks at all directories.
    /// - Parameter membership: the known membership; its records are not read again.
    func look(_ membership: Membership) throws -> Look {
        var look = Look()
        look.directories = try listings?.directories(in: container, now) ?? container.directories()
        let roster = membership.roster
        var strangers: [DeviceID] = []
        for device in look.directories {
            let isNamed =
                roster.members[device] != nil || roster.left[device] != nil || roster.removed[device] != nil
                || device == membership.device
            if isNamed {
                read(device, MemberGraph.maximumRecords, membership, &look)
            } else {
                strangers.append(device)
            }
        }
        for device in strangers.prefix(Self.maximumStrangers) {
            let before = look.records.count
            read(device, Self.maximumStrangersRecords, membership, &look)
            if let claim = claim(of: device, membership.genesis, &look) {
                if look.claims.count < Self.maximumClaims { look.claims.append(claim) }
            } else if look.records.count == before {
                look.strangers.append(device)
            }
        }
        look.claims.sort { ($0.milliseconds, $0.device) < ($1.milliseconds, $1.device) }
        return look
    }

    private func read(_ device: DeviceID, _ maximumCount: Int, _ membership: Membership, _ look: inout Look) {
        do {
            for name in try names(of: device, maximumCount) {
                guard look.present.insert(name).inserted, !membership.hasRead(name) else { continue }
                do {
                    guard let bytes = try container.readRecord(name, of: device) else { continue }
                    let record = try MemberRecord(decoding: bytes, container: container.id)
                    guard RecordName(record.hash) == name else {
                        throw FerryError(.damagedFile, "The record has another hash than its name.", device: device)
                    }
                    look.records.append(record)
                } catch let error as FerryError where error.isOfOneRecord {
                    look.present.remove(name)
                    look.problems.append(error)
                }
            }
        } catch let error as FerryError where error.isOfOneRecord {
            look.problems.append(error)
        } catch {
            look.problems.append(FerryError(.inputOutput, "\(error)", device: device))
        }
    }

    private func names(of device: DeviceID, _ maximumCount: Int) throws -> [RecordName] {
        try listings?.records(of: device, maximumCount: maximumCount, in: container, now)
            ?? container.records(of: device, maximumCount: maximumCount)
    }

    /// True if a claim is too old to count.
    static func isOver(_ claim: Claim, now: Int64) -> Bool {
        now.milliseconds(since: Int64(clamping: claim.milliseconds)) > claimLifeMilliseconds
    }

    private func claim(of device: DeviceID, _ genesis: RecordHash, _ look: inout Look) -> Claim? {
        do {
            guard let bytes = try container.readClaim(of: device) else { return nil }
            let claim = try Claim(decoding: bytes, container: container.id)
            guard claim.device == device, claim.genesis == genesis else { return nil }
            if !Self.isOver(claim, now: now) { return claim }
            if look.lateClaims.count < Self.maximumClaims { look.lateClaims.append(claim) }
            return nil
        } catch {
            look.problems.append(
                (error as? FerryError) ?? FerryError(.inputOutput, "\(error)", device: device))
            return nil
        }
    }
}

extension FerryError {
    /// Whether an error concerns a single record, claim or directory, and reading goes on with the rest.
    fileprivate var isOfOneRecord: Bool {
        [.damagedFile, .formatTooNew, .foreignFile, .limitExceeded, .inputOutput, .fileNotThereYet].contains(code)
    }
}
