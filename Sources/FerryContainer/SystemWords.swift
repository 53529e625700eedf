import FerryCore
import Foundation

#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

extension Error {
    /// The operating system's words for the error, such as "No space left on device".
    ///
    /// The frameworks' own texts name a domain and a number for most errors, which help nobody.
    package var systemWords: String {
        if let call = self as? SystemCallError { return String(cString: strerror(call.number)) }
        if let number = systemNumber { return String(cString: strerror(number)) }
        let text = localizedDescription
        return text.contains("ErrorDomain error") || text.contains("could not be completed")
            ? String(describing: self) : text
    }

    /// The value of `errno` behind an error of the frameworks; `nil` where there is none.
    private var systemNumber: Int32? {
        var error: any Error = self
        // An error names an error behind it, and no chain is long.
        for _ in 0..<8 {
            let plain = error as NSError
            if plain.domain == NSPOSIXErrorDomain { return Int32(clamping: plain.code) }
            guard let next = plain.userInfo[NSUnderlyingErrorKey] as? any Error else { break }
            error = next
        }
        guard let code = (self as? CocoaError)?.code else { return nil }
        return Self.numbers[code]
    }

    /// Errors of the frameworks that name no error of the system behind them.
    private static var numbers: [CocoaError.Code: Int32] {
        [
            .fileNoSuchFile: ENOENT, .fileReadNoSuchFile: ENOENT, .fileReadNoPermission: EACCES,
            .fileWriteNoPermission: EACCES, .fileWriteFileExists: EEXIST, .fileWriteOutOfSpace: ENOSPC,
            .fileWriteVolumeReadOnly: EROFS, .fileReadUnknown: EIO, .fileWriteUnknown: EIO,
        ]
    }
}
