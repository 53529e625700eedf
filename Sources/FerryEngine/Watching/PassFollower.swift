/// Follows the passes of a `WatchLoop`, those without news too. Called on the loop's thread.
package struct PassFollower: Sendable {
    /// The handler of the progress of a pass that begins; `nil` if nobody looks.
    package var progress: @Sendable () -> ProgressHandler?
    /// A pass has ended; true: with success.
    package var ended: @Sendable (Bool) -> Void

    package init(
        progress: @escaping @Sendable () -> ProgressHandler? = { nil },
        ended: @escaping @Sendable (Bool) -> Void = { _ in }
    ) {
        self.progress = progress
        self.ended = ended
    }
}
