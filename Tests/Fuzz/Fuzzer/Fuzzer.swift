import Foundation
import FuzzTargets

/// The target of this process: `FERRY_FUZZ_TARGET` names it.
private let target: FuzzTarget = {
    let name = ProcessInfo.processInfo.environment["FERRY_FUZZ_TARGET"] ?? ""
    guard let target = FuzzTarget(rawValue: name) else {
        let names = FuzzTarget.allCases.map(\.rawValue).joined(separator: ", ")
        fatalError("Set FERRY_FUZZ_TARGET to one of \(names).")
    }
    return target
}()

/// What libFuzzer calls for every input (https://llvm.org/docs/LibFuzzer.html). The bytes are its own and stay valid until
/// the call returns.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzz(_ bytes: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    do {
        _ = try target.check([UInt8](UnsafeBufferPointer(start: bytes, count: count)))
    } catch {
        fatalError("\(error)")
    }
    return 0
}
