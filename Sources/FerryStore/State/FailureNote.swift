import FerryCore
import Foundation

/// A failure as Ferry's tables keep it: a code with arguments, and no sentence. `error` makes the sentence when somebody
/// reads it.
package struct FailureNote: Hashable, Sendable {
    /// The kind of failure.
    package var code: FerryError.Code
    /// The file or folder concerned.
    package var file: String?
    /// The sequence number concerned, in the log of a device.
    package var sequence: UInt64?
    /// The words of the operating system, of SQLite, of a storage or of the app, or names.
    package var detail: String?

    package init(_ error: FerryError) {
        code = error.code
        file = error.path
        sequence = error.sequence
        detail = error.detail
    }

    // MARK: In a table

    /// The arguments without the code. The JSON keys are fixed: databases have them.
    private struct Arguments: Codable {
        var file: String?
        var sequence: UInt64?
        var detail: String?
    }

    /// - Parameter arguments: as the property says. Any other text counts as none: an earlier Ferry kept a sentence there.
    package init(code: String, arguments: String) {
        self.code = FerryError.Code(rawValue: code)
        // A sentence of an earlier Ferry is forgotten: the code says enough until the failure comes again, or ends.
        guard let known = try? JSONDecoder().decode(Arguments.self, from: Data(arguments.utf8)) else { return }
        (file, sequence, detail) = (known.file, known.sequence, known.detail)
    }

    /// The arguments as JSON, for a column beside the code's.
    package var arguments: String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        let arguments = Arguments(file: file, sequence: sequence, detail: detail)
        // Texts and a number always have a form in JSON.
        return (try? encoder.encode(arguments)).map { String(decoding: $0, as: UTF8.self) } ?? "{}"
    }

    // MARK: For people

    /// The error, with the sentence for its code and arguments.
    /// - Parameter device: the device whose log waits; `nil` for a failure of this database's own.
    package func error(of device: DeviceID? = nil) -> FerryError {
        FerryError(
            code, device == nil ? sentence : logSentence, path: file, device: device, sequence: sequence,
            detail: detail)
    }
}
