import Dispatch
import Synchronization

#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

/// Calls a handler at the first SIGINT or SIGTERM. A second signal ends the process at once, as signals do: Ferry
/// leaves nothing half done even then.
final class TerminationSignals {
    private final class Flag: Sendable {
        let isSet = Atomic(false)
    }

    private let sources: [any DispatchSourceSignal]
    private let cancellations = DispatchGroup()
    private let flag = Flag()

    convenience init(_ handler: @escaping @Sendable () -> Void) {
        self.init { (_: Int32) in handler() }
    }

    /// - Parameter handler: gets the signal's number; the number's default action is in force again.
    init(_ handler: @escaping @Sendable (Int32) -> Void) {
        let queue = DispatchQueue(label: "ferry.signals")
        let (registrations, cancellations) = (DispatchGroup(), cancellations)
        sources = [SIGINT, SIGTERM].map { DispatchSource.makeSignalSource(signal: $0, queue: queue) }
        for (source, number) in zip(sources, [SIGINT, SIGTERM]) {
            registrations.enter()
            source.setRegistrationHandler {
                #if canImport(Darwin)
                // The default action would end the process before the source hears of the signal. Elsewhere the source
                // installs a handler of its own.
                signal(number, SIG_IGN)
                #endif
                registrations.leave()
            }
            source.setEventHandler { [flag] in
                flag.isSet.store(true, ordering: .relaxed)
                signal(SIGINT, SIG_DFL)
                signal(SIGTERM, SIG_DFL)
                handler(number)
            }
            cancellations.enter()
            source.setCancelHandler { cancellations.leave() }
            source.resume()
        }
        // An earlier signal ends the process, like a signal to any process; no later signal is lost.
        registrations.wait()
    }

    /// True if a signal has come.
    var haveCome: Bool { flag.isSet.load(ordering: .relaxed) }

    /// Ends listening: later signals end the process at once, as by default. Not for the handler.
    func cancel() {
        for source in sources { source.cancel() }
        // Nothing of the sources' puts a handler back after this.
        cancellations.wait()
        signal(SIGINT, SIG_DFL)
        signal(SIGTERM, SIG_DFL)
    }
}
