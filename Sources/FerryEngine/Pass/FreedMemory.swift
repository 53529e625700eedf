#if canImport(Darwin)
import Darwin
#elseif canImport(Glibc)
import Glibc
#endif

/// Memory that was freed and that the allocator keeps for later.
enum FreedMemory {
    /// Gives it back to the system: between large batches, whose buffers come in other sizes each time, so that what one left
    /// does not add to what the next one needs. Takes a millisecond or two.
    static func giveBack() {
        #if canImport(Darwin)
        malloc_zone_pressure_relief(nil, 0)
        #elseif canImport(Glibc)
        typealias Trim = @convention(c) (Int) -> Int32
        if let symbol = dlsym(nil, "malloc_trim") { _ = unsafeBitCast(symbol, to: Trim.self)(0) }
        #endif
    }
}
