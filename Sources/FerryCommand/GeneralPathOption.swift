import ArgumentParser
import Ferry

/// `--general-path`: for finding out whether a fast path is at fault.
struct GeneralPathOption: ParsableArguments {
    @Flag(
        name: .customLong("general-path"),
        help: "Take no fast paths. Slower, with the same result; where the result differs, report a fault.")
    var isGeneral = false

    func apply(to replica: Replica) {
        if isGeneral { replica.store.fastPaths = .none }
    }
}
