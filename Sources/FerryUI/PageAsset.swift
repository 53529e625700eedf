import Foundation

/// A file of the page. All are part of the program.
package struct PageAsset: Sendable {
    package let contentType: String
    package let data: Data

    /// The file of a path; `nil` if there is none. Only whole paths lead to a file.
    package init?(path: String) {
        guard let found = Self.all[path] else { return nil }
        (contentType, data) = (found.contentType, Data(found.bytes))
    }

    /// The paths of all files.
    package static var paths: [String] { all.keys.sorted() }

    private static let html = "text/html; charset=utf-8"
    private static let css = "text/css; charset=utf-8"
    private static let script = "text/javascript; charset=utf-8"

    private static let all: [String: (contentType: String, bytes: [UInt8])] = [
        "/": (html, PackageResources.index_html),
        "/page.css": (css, PackageResources.page_css),
        "/icon.svg": ("image/svg+xml", PackageResources.icon_svg),
        "/page.js": (script, PackageResources.page_js),
        "/elements.js": (script, PackageResources.elements_js),
        "/requests.js": (script, PackageResources.requests_js),
        "/words.js": (script, PackageResources.words_js),
        "/plot.js": (script, PackageResources.plot_js),
        "/overview.js": (script, PackageResources.overview_js),
        "/conflicts.js": (script, PackageResources.conflicts_js),
        "/rows.js": (script, PackageResources.rows_js),
        "/row.js": (script, PackageResources.row_js),
        "/hidden.js": (script, PackageResources.hidden_js),
        "/container.js": (script, PackageResources.container_js),
    ]
}
