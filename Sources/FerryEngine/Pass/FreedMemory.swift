#if canImport(Darwin)
import Darwin
#elseif canImport(Glibc)
import Glibc
#endif

/// Freed memory kept by the allocator for later.
enum FreedMemory {
    /// Returns the memory to the system, in a millisecond or two.
    /// Called between large batches: their buffers differ in size each time, so the rest of a batch would add to the
    /// next batch's memory.
    static func giveBack() {
        #if canImport(Darwin)
        malloc_zone_pressure_relief(nil, 0)
        #elseif canImport(Glibc)
        typealias Trim = @convention(c) (Int) -> Int32
        if let symbol = dlsym(nil, "malloc_trim") { _ = unsafeBitCast(symbol, to: Trim.self)(0) }
        #endif
    }
}
