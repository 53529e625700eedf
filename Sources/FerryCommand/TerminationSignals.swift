import Dispatch
import Synchronization

#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

/// Calls a handler at the first SIGINT or SIGTERM. A second one ends the process at once, as signals do: nothing that
/// Ferry writes is left half done by that.
final class TerminationSignals {
    private final class Flag: Sendable {
        let isSet = Atomic(false)
    }

    private let sources: [any DispatchSourceSignal]
    private let flag = Flag()

    init(_ handler: @escaping @Sendable () -> Void) {
        let queue = DispatchQueue(label: "ferry.signals")
        sources = [SIGINT, SIGTERM].map { number in
            // The default action would end the process before the source hears of it.
            signal(number, SIG_IGN)
            return DispatchSource.makeSignalSource(signal: number, queue: queue)
        }
        for source in sources {
            source.setEventHandler { [flag] in
                flag.isSet.store(true, ordering: .relaxed)
                signal(SIGINT, SIG_DFL)
                signal(SIGTERM, SIG_DFL)
                handler()
            }
            source.resume()
        }
    }

    /// Whether a signal has come.
    var haveCome: Bool { flag.isSet.load(ordering: .relaxed) }

    /// Ends listening.
    func cancel() { for source in sources { source.cancel() } }
}
