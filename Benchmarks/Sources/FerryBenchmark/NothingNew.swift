/// What a sync costs that finds nothing to do.
struct NothingNew {
    /// Medians, in milliseconds.
    var glance: Double
    var thorough: Double

    /// Measures a device that has all there is.
    init(_ device: Device, times: Int = 50) throws {
        try device.sync()
        func measure(isThorough: Bool) throws -> Double {
            median(
                try (0..<times).map { _ in
                    var hadNews = false
                    let time = try seconds { hadNews = try device.sync(isThorough: isThorough).hasNews }
                    if hadNews { throw BenchmarkError("a sync that should have found nothing had news") }
                    return time * 1000
                }) ?? 0
        }
        glance = try measure(isThorough: false)
        thorough = try measure(isThorough: true)
    }
}
