import Foundation

/// The folder of `Package.swift`, seen from a test's file. Tests find golden files, pages and data from there.
package let packageRoot: URL = {
    var folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
    while folder.path != "/", !FileManager.default.fileExists(atPath: folder.appending(path: "Package.swift").path) {
        folder.deleteLastPathComponent()
    }
    return folder
}()
