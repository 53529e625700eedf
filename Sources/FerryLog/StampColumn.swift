import FerryCore

/// Columns of stamps (Docs/Format.md, "Chunks"): runs of forms, then the times of those that have one.
///
/// A form is 0 for what `zero` stands for, otherwise the index of a device plus 1.
enum StampColumn {
    /// Writes stamps; `nil` is what form 0 stands for.
    static func write(_ stamps: [Stamp?], devices: [DeviceID: Int], to writer: inout ByteWriter) {
        var forms = RunLength()
        var times: [Int64] = []
        for stamp in stamps {
            guard let stamp, let index = devices[stamp.device] else {
                forms.append(0)
                continue
            }
            forms.append(index + 1)
            times.append(Int64(bitPattern: stamp.time.rawValue))
        }
        forms.write(to: &writer)
        IntegerColumn.write(times, to: &writer)
    }

    /// Reads `count` stamps, which the caller has held against a limit.
    static func read(
        _ count: Int, devices: [DeviceID], from reader: inout ByteReader
    ) throws(FerryError) -> [Stamp?] {
        let forms = try RunLength.read(count, below: devices.count + 1, from: &reader).runs
        var stamped = 0
        for run in forms where run.value > 0 { stamped += run.count }
        let times = try IntegerColumn.read(stamped, from: &reader)
        var stamps: [Stamp?] = []
        stamps.reserveCapacity(count)
        var next = 0
        for run in forms {
            if run.value == 0 {
                stamps.append(contentsOf: repeatElement(nil, count: run.count))
                continue
            }
            let device = devices[run.value - 1]
            for _ in 0..<run.count {
                let time = times[next]
                next += 1
                guard time >= 0, time <= Int64(HybridTime.latest.rawValue) else {
                    throw ByteReader.malformed("a time is out of range")
                }
                stamps.append(Stamp(time: HybridTime(rawValue: UInt64(time)), device: device))
            }
        }
        return stamps
    }
}
