#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

/// Tells the wall-clock time. Injected, so that tests and the simulator decide the time.
package protocol WallClock: Sendable {
    /// Milliseconds since the Unix epoch.
    func milliseconds() -> Int64
    /// The time of a change that a trigger recorded at `captured` milliseconds by SQLite's clock. The live clock is the
    /// same clock and answers `captured`.
    func milliseconds(captured: Int64) -> Int64
}

/// Gives random bytes. Injected, so that a simulation can be repeated.
package protocol RandomSource: Sendable {
    func next() -> UInt64
}

/// The computer's clock.
package struct SystemClock: WallClock {
    package init() {}

    package func milliseconds() -> Int64 {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000
    }

    package func milliseconds(captured: Int64) -> Int64 { captured }
}

/// The operating system's random numbers.
package struct SystemRandom: RandomSource {
    package init() {}

    package func next() -> UInt64 {
        var generator = SystemRandomNumberGenerator()
        return generator.next()
    }
}

extension RandomSource {
    /// Mints a random ID (RFC 9562, version 4).
    package func makeID<Kind>() -> UniqueID<Kind> {
        UniqueID(high: next() & ~0xf000 | 0x4000, low: next() & ~(3 << 62) | 2 << 62)
    }
}
