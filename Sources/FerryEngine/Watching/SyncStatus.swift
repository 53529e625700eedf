import FerryCore
import Foundation
import Observation

/// What a person wants to know of a sync, for a view: SwiftUI and whoever else observes follow it by themselves.
///
///     struct SyncLine: View {
///         let sync: SyncStatus
///         var body: some View { Text(sync.failure?.message ?? "\(sync.unpublished) changes to send") }
///     }
///
/// The object belongs to the main actor and follows an engine from its making on, whether the engine watches or not. Reading the
/// report is done elsewhere, and never more than a fifth of the time. Released, it stops following; the engine goes on.
@MainActor
@Observable
public final class SyncStatus {
    @ObservationIgnored public let engine: SyncEngine
    /// What the engine does.
    public private(set) var state: SyncEngine.State
    /// When a sync last succeeded, with or without news; `nil` if none has since the engine was made.
    public private(set) var lastSync: Date?
    /// Why the last sync failed, or why the report could not be read; `nil` after a success. The message says what to do.
    public private(set) var failure: FerryError?
    /// How far a sync with many changes is; `nil` while there is none.
    public private(set) var progress: SyncProgress?
    /// Devices, what waits, conflicts and hidden rows; `nil` until it was read for the first time.
    public private(set) var report: StatusReport?
    @ObservationIgnored private var tasks: [Task<Void, Never>] = []

    public init(_ engine: SyncEngine) {
        self.engine = engine
        state = engine.state
        let activities = engine.core.makeActivityStream()
        let news = engine.core.makeNewsStream()
        takeActivity()
        tasks.append(
            Task { [weak self] in
                for await _ in activities { self?.takeActivity() }
            })
        tasks.append(
            Task { [weak self] in
                await self?.refresh()
                for await _ in news {
                    let beginning = ContinuousClock.now
                    await self?.refresh()
                    let rest = beginning.duration(to: .now) * 4
                    try? await Task.sleep(for: rest)  // throws where the task was cancelled, and then the loop ends
                }
            })
    }

    deinit {
        for task in tasks { task.cancel() }
    }

    /// The other devices, and how each compares with this one; empty until the report is there.
    public var devices: [StatusReport.Peer] { report?.devices ?? [] }

    /// The number of this device's changes that are not in the container yet.
    public var unpublished: Int { report?.unpublished ?? 0 }

    /// What a person should be told, the worst first; empty if all is well.
    public var concerns: [StatusReport.Concern] { report?.concerns ?? [] }

    /// True if nothing waits here, and each device is known to show the same rows.
    public var isInStep: Bool {
        guard let report, failure == nil else { return false }
        return report.unpublished == 0 && report.devices.allSatisfy { $0.membership != nil || $0.standing == .inStep }
    }

    /// Reads the report now. A view does not need it: news bring the report by themselves.
    public func refresh() async {
        do {
            report = try await engine.status()
            takeActivity()
        } catch let error as FerryError {
            failure = error
        } catch {
            failure = FerryError(.inputOutput, "The status cannot be read: \(error).", cause: error)
        }
    }
}

extension SyncStatus {
    /// Takes what the engine does now. Observers hear of a property only if it is another one.
    private func takeActivity() {
        let activity = engine.core.activity
        if state.word != engine.state.word { state = engine.state }
        if failure != nil || activity.failure != nil { failure = activity.failure }
        if progress != nil || activity.progress != nil { progress = activity.progress }
        if let milliseconds = activity.successMilliseconds {
            let date = Date(timeIntervalSince1970: TimeInterval(milliseconds) / 1000)
            if lastSync != date { lastSync = date }
        }
    }
}

extension SyncEngine.State {
    /// What tells one state from another.
    fileprivate var word: String {
        switch self {
        case .stopped: "stopped"
        case .running: "running"
        case .following: "following"
        case .failing(let error): "failing " + error.message
        }
    }
}
