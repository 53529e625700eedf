import FerryCore
import Foundation

/// An answer of the site. Every answer has the same protective headers.
package struct PageResponse: Sendable {
    package enum Body: Sendable {
        case data(Data)
        /// Events until the browser goes or the page ends.
        case events(AsyncStream<[UInt8]>)
    }

    package var status: Int
    package var contentType: String
    package var body: Body
    /// Further headers.
    package var headers: [(name: String, value: String)] = []

    package init(status: Int = 200, contentType: String, body: Body) {
        self.status = status
        self.contentType = contentType
        self.body = body
    }

    package static func json(_ data: Data, status: Int = 200) -> PageResponse {
        PageResponse(status: status, contentType: "application/json", body: .data(data))
    }

    /// An error in the command's form for scripts: `{"error": {"code", "message"}}`.
    package static func failure(_ status: Int, _ code: FerryError.Code, _ message: String) -> PageResponse {
        struct Report: Encodable {
            struct Detail: Encodable {
                var code: String
                var message: String
            }

            var error: Detail
        }
        let report = Report(error: .init(code: code.rawValue, message: message))
        // Two texts can always be encoded.
        return .json((try? JSONEncoder().encode(report)) ?? Data(), status: status)
    }

    package static func failure(_ error: FerryError) -> PageResponse {
        failure(status(of: error.code), error.code, error.message)
    }

    private static func status(of code: FerryError.Code) -> Int {
        switch code {
        case .invalidArgument: 400
        case .accessDenied: 403
        case .nothingFound: 404
        case .restoreRefused: 409
        case .databaseMissing, .databaseReplaced: 410
        case .busy: 503
        default: 500
        }
    }

    /// The headers of every answer. Nothing but the page's own files is loaded, nothing is kept, and nothing is told elsewhere.
    package static let protection: [(name: String, value: String)] = [
        (
            "Content-Security-Policy",
            "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; "
                + "form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
        ),
        ("X-Content-Type-Options", "nosniff"),
        ("Referrer-Policy", "no-referrer"),
        ("X-Frame-Options", "DENY"),
        ("Cross-Origin-Opener-Policy", "same-origin"),
        ("Cross-Origin-Resource-Policy", "same-origin"),
        ("Permissions-Policy", "camera=(), geolocation=(), microphone=()"),
        ("Cache-Control", "no-store"),
    ]
}
