/// Rounds lengths up, so a file's size tells little of the content. Source: Nikitin and others, "Reducing Metadata
/// Leakage from Encrypted Files and Communication with PURBs", 2019. Padding adds at most 12 per cent, and less for
/// longer files.
package enum Padme {
    /// Nothing is shorter.
    package static let minimumLength = 256

    /// The padded length for content of a length.
    /// - Parameter length: from 0 to 2^62.
    package static func padded(_ length: Int) -> Int {
        if length <= minimumLength { return minimumLength }
        let exponent = Int.bitWidth - 1 - length.leadingZeroBitCount
        let kept = Int.bitWidth - exponent.leadingZeroBitCount
        let mask = 1 << (exponent - kept) - 1
        return (length + mask) & ~mask
    }
}
