import Foundation

/// This account's home directory: `$HOME`, as shells and other programs take it, else the account's entry. A relative `$HOME` counts
/// as missing.
/// - Parameter variables: the process's environment.
package func homeDirectory(_ variables: [String: String]) -> String {
    if let home = variables["HOME"], home.hasPrefix("/") { return home }
    return NSHomeDirectory()
}
