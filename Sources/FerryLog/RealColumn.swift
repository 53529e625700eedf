import FerryCore

/// A column of reals (Docs/Format.md, "Columns"): bit patterns, or integers. Integers serve if every value is the
/// double nearest to a decimal number of few places (prices, ratings).
///
/// Both forms give back the same bits: dividing an integer below 2^53 by an exact power of ten rounds correctly (IEEE
/// 754), on every machine.
enum RealColumn {
    private static let maximumPlaces = 9
    private static let maximumInteger = 9_007_199_254_740_992.0
    private static let powersOfTen: [Double] = [1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9]
    /// The form byte of bit patterns; below it, the number of decimal places.
    private static let bitPatterns: UInt8 = 0xff

    static func write(_ values: [Double], to writer: inout ByteWriter) {
        guard !values.isEmpty else { return }
        if let (places, integers) = decimals(values) {
            writer.write(UInt8(places))
            IntegerColumn.write(integers, to: &writer)
        } else {
            writer.write(bitPatterns)
            for value in values { writer.write64(value.bitPattern) }
        }
    }

    static func read(_ count: Int, from reader: inout ByteReader) throws(FerryError) -> [Double] {
        guard count > 0 else { return [] }
        let form = try reader.readByte()
        var values: [Double] = []
        if form == bitPatterns {
            guard count <= reader.remaining / 8 else { throw ByteReader.malformed("it ends too early") }
            values.reserveCapacity(count)
            for _ in 0..<count { values.append(Double(bitPattern: try reader.read64())) }
        } else {
            guard form <= maximumPlaces else { throw ByteReader.malformed("a column of reals has an unknown form") }
            let divisor = powersOfTen[Int(form)]
            values.reserveCapacity(count)
            for integer in try IntegerColumn.read(count, from: &reader) {
                guard integer.magnitude <= 1 << 53 else { throw ByteReader.malformed("a decimal number is too large") }
                values.append(Double(integer) / divisor)
            }
        }
        return values
    }

    /// The fewest places with which all values are decimals, and the values as integers of that unit; nil if some value
    /// is no decimal.
    private static func decimals(_ values: [Double]) -> (places: Int, integers: [Int64])? {
        var places = 0
        for value in values {
            while integer(value, places) == nil {
                places += 1
                if places > maximumPlaces { return nil }
            }
        }
        var integers: [Int64] = []
        integers.reserveCapacity(values.count)
        for value in values {
            guard let integer = integer(value, places) else { return nil }
            integers.append(integer)
        }
        return (places, integers)
    }

    private static func integer(_ value: Double, _ places: Int) -> Int64? {
        let scaled = (value * powersOfTen[places]).rounded()
        // False for NaN, too.
        guard scaled.magnitude <= maximumInteger else { return nil }
        let integer = Int64(scaled)
        // A negative zero would come back as zero, so it has no decimal form.
        return (Double(integer) / powersOfTen[places]).bitPattern == value.bitPattern ? integer : nil
    }
}
