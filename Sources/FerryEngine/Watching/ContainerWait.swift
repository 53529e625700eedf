import FerryContainer
import FerryCore
import FerryMembers
import FerrySeal

/// Waits until a look into containers finds what somebody waits for: a newcomer its admission, and a member the newcomer.
///
/// Changes of the watched directories wake the thread. The poll is for folders that tell of no changes, as network folders, and for
/// events that are lost.
///
/// `until` works on the calling thread; `stop` may be called from any thread.
package final class ContainerWait: Sendable {
    private let watcher: any ChangeWatching
    private let poll: PollSchedule
    private let isStopped = Locked(false)

    /// - Parameters:
    ///   - watcher: wakes the thread, and gives the clock for waiting.
    ///   - poll: how long to wait without an event.
    package init(
        watcher: any ChangeWatching = ChangeWatcher(),
        poll: PollSchedule = PollSchedule(
            minimumMilliseconds: 1000, maximumMilliseconds: 4000, maximumWithoutEventsMilliseconds: 1000)
    ) {
        self.watcher = watcher
        self.poll = poll
    }

    /// Ends `until`, now or when called. A look under way is finished first.
    package func stop() {
        isStopped.withLock { $0 = true }
        watcher.wake()
    }

    private var hasToStop: Bool { isStopped.withLock { $0 } }

    /// Looks, and waits between looks, until a look finds something.
    /// - Parameters:
    ///   - milliseconds: the longest wait; `nil`: without end.
    ///   - places: the directories to watch, asked for before each look.
    ///   - look: a look; `nil` where nothing is found yet.
    /// - Returns: what was found; `nil` after `stop`, and where the time is over.
    /// - Throws: what `places` and `look` throw.
    package func until<Found>(
        milliseconds: Int? = nil, places: () throws -> [String], look: () throws -> Found?
    ) throws -> Found? {
        var poll = poll
        let start = watcher.now
        while true {
            // Watches before looking, so that no change falls between.
            watcher.setDirectories(try places())
            if let found = try look() { return found }
            var interval = poll.next(foundNews: false, eventsAreDelivered: watcher.deliversEvents)
            if let milliseconds {
                let rest = milliseconds - start.duration(to: watcher.now).wholeMilliseconds
                if rest <= 0 { return nil }
                interval = min(interval, rest)
            }
            if hasToStop { return nil }
            let reason = watcher.wait(timeoutMilliseconds: interval)
            if hasToStop { return nil }
            if reason != .timedOut { _ = poll.next(foundNews: true, eventsAreDelivered: watcher.deliversEvents) }
        }
    }
}

extension Container {
    /// The folders in which newcomers, records and heads appear.
    func placesOfMembers() throws -> [String] { try watchedMemberDirectories(of: directories()) }
}

extension Replica {
    /// The folders to watch for a newcomer; none where the container cannot be read now.
    /// - Throws: as `Container.open`.
    package func placesOfMembers() throws -> [String] { try plainContainer().placesOfMembers() }

    /// The device that a code of this device's has let in; `nil` until somebody has used the code. Another process may have answered.
    /// - Throws: `keyMissing`; `invalidArgument` for an open container.
    package func guest(of code: SecretCode) throws -> DeviceID? {
        try refreshIdentity()
        let membership = try requiredMembership()
        let key = code.claimKey(in: membership.container)
        let claims = try keyFile().invitations.filter { $0.claimKey == key }.compactMap(\.claim)
        for record in membership.records.values where record.author == membership.device {
            for case .admit(let admission) in record.acts where claims.contains(admission.claim) {
                return admission.device
            }
        }
        return nil
    }
}

extension Enrolment {
    /// The folders to watch for an admission.
    /// - Throws: as `begin`.
    package func placesOfMembers() throws -> [String] { try openPlain().placesOfMembers() }
}
