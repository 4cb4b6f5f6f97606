/// Where a setting's value came from, in the words its reader can look it up by.
package enum SettingsSource: Sendable, Hashable, CustomStringConvertible {
    /// The settings file.
    case file(path: String, line: Int)
    /// A variable of the process.
    case variable(String)
    /// A flag of the command line.
    case flag(String)
    /// Nobody set it.
    case standard

    package var description: String {
        switch self {
        case .file(let path, let line): "\(path):\(line)"
        case .variable(let name): "variable \(name)"
        case .flag(let name): "flag \(name)"
        case .standard: "default"
        }
    }
}

/// A value before its form is known.
struct RawSetting: Sendable, Equatable {
    let text: String
    let source: SettingsSource
}
