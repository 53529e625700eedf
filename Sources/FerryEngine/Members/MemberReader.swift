import FerryContainer
import FerryCore
import FerryMembers

/// Reads records and claims from the directories of a container (Docs/Sealing.md, "Who is a member").
///
/// A fault of a file concerns this file alone: an unreadable record counts as not yet there. A record's name is the hash of its content,
/// so a file with anything else is damaged, and a member with the record mends the file (`Replica.putBack`).
struct MemberReader {
    /// The most records for reading in a directory outside all records.
    static let maximumStrangersRecords = 16
    /// The most claims for reading.
    static let maximumClaims = 64
    /// The most scanned directories outside all records.
    static let maximumStrangers = 1024
    /// The greatest age of a claim, in milliseconds. An older claim does not count.
    static let claimLifeMilliseconds: Int64 = 7 * 86_400_000
    /// The most files of counted records that a look reads again with `Checking.some`.
    static let maximumChecked = 1024

    let container: Container
    /// Now, in milliseconds since the Unix epoch.
    let now: Int64
    /// The results of earlier scans; `nil`: every directory is listed.
    var listings: MemberListings?
    /// Whether files of counted records are read again.
    var checking = Checking.none

    /// The files of counted records that a look holds against the known bytes.
    enum Checking {
        /// No file: a present name is a present record.
        case none
        /// Files that look changed since a look of this process before: `maximumChecked` of these in a folder. In a storage, a file
        /// with a different length.
        case some
        /// Every file.
        case all
    }

    /// A file with something else than the record of its name.
    struct Damaged {
        let name: RecordName
        /// The device of the directory.
        let device: DeviceID
        let problem: FerryError

        /// The problem for a device without the record.
        var stall: FerryError {
            var stall = problem
            stall.message += " A device that has the record puts it back with a sync."
            return stall
        }
    }

    /// The result of a scan of the container.
    struct Look {
        /// The directories of all devices and strangers.
        var directories: [DeviceID] = []
        /// Records that do not count yet.
        var records: [MemberRecord] = []
        /// The files with the records that do not count yet, for `MemberListings.note`. A failure may come before the records are kept: then
        /// the next look must read them again.
        var read: [MemberListings.ReadFile] = []
        /// The names of all records in any directory, without damaged files.
        var present: Set<RecordName> = []
        /// Damaged files of counted records.
        var damaged: [Damaged] = []
        /// Damaged files of further records.
        var unread: [Damaged] = []
        /// The number of files of counted records that were read again.
        fileprivate var checked = 0
        /// Claims of devices outside all records, the oldest first.
        var claims: [Claim] = []
        /// Claims that are too old to count, by this computer's clock.
        var lateClaims: [Claim] = []
        /// The directories without a record or a claim to explain them.
        var strangers: [DeviceID] = []
        /// The errors of unreadable directories and claims.
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
            var names = try names(of: device, maximumCount)
            if checking == .some, names.count > Self.maximumChecked {
                // Each look begins at a different place, so that in time every file is read again.
                let start = Int(truncatingIfNeeded: UInt64(bitPattern: now) % UInt64(names.count))
                names = Array(names[start...] + names[..<start])
            }
            for name in names { try read(name, of: device, membership, &look) }
        } catch let error as FerryError where error.isOfOneRecord {
            look.problems.append(error)
        } catch {
            look.problems.append(FerryError(.inputOutput, "\(error)", device: device))
        }
    }

    private func read(
        _ name: RecordName, of device: DeviceID, _ membership: Membership, _ look: inout Look
    ) throws {
        let known = membership.record(named: name)
        do {
            if let known {
                guard try holds(known, name, of: device, membership, &look) else { return }
            } else {
                let version = try container.recordVersion(name, of: device)
                let count = membership.graph.count
                if listings?.hasRead(name, of: device, version, at: count) != true {
                    guard let bytes = try container.readRecord(name, of: device) else { return }
                    look.records.append(try record(bytes, name, membership))
                    look.read.append(.init(name: name, device: device, version: version, count: count))
                }
            }
            look.present.insert(name)
        } catch let error as FerryError where error.isOfOneRecord {
            let problem = Self.problem(error, path: container.path(of: name, device), device)
            let damaged = Damaged(name: name, device: device, problem: problem)
            if known == nil { look.unread.append(damaged) } else { look.damaged.append(damaged) }
        }
    }

    /// Holds a file against a counted record.
    /// - Returns: false where the file is gone meanwhile.
    /// - Throws: if the file has anything else than the record.
    private func holds(
        _ known: MemberRecord, _ name: RecordName, of device: DeviceID, _ membership: Membership, _ look: inout Look
    ) throws -> Bool {
        if checking == .none { return true }
        let version = try container.recordVersion(name, of: device)
        if checking == .some {
            if listings?.hasRead(name, of: device, version, at: MemberListings.known) == true { return true }
            if container.answersFromListing {
                // A reading costs a request.
                if version.map({ $0.size == known.bytes.count }) ?? true { return true }
            } else if look.checked >= Self.maximumChecked {
                return true
            }
        }
        look.checked += 1
        guard let bytes = try container.readRecord(name, of: device) else { return false }
        // A record may have several signatures that hold.
        if bytes != known.bytes { _ = try record(bytes, name, membership) }
        listings?.note([.init(name: name, device: device, version: version, count: MemberListings.known)], now)
        return true
    }

    /// Decodes a record, and checks everything that can be checked now.
    private func record(_ bytes: [UInt8], _ name: RecordName, _ membership: Membership) throws -> MemberRecord {
        let record = try MemberRecord(decoding: bytes, container: container.id)
        guard RecordName(record.hash) == name else { throw ByteReader.malformed("it is not the record of its name") }
        if membership.hasFalseSignature(record) { throw ByteReader.malformed("its signature is wrong") }
        return record
    }

    private static func problem(_ error: FerryError, path: String, _ device: DeviceID) -> FerryError {
        var problem = error
        switch error.code {
        case .fileNotThereYet: problem.message = "A record of the members has not arrived whole yet."
        case .damagedFile: problem.message = "A record of the members: \(error.message)"
        default: break
        }
        problem.path = error.path ?? path
        problem.device = device
        return problem
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
