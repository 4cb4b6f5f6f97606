/// The source of a setting's value, described so that a reader can find it.
package enum SettingsSource: Sendable, Hashable, CustomStringConvertible {
    /// The settings file.
    case file(path: String, line: Int)
    /// A variable of the process.
    case variable(String)
    /// A flag of the command line.
    case flag(String)
    /// The default: nobody set the value.
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

/// A value that has not been parsed.
struct RawSetting: Sendable, Equatable {
    let text: String
    let source: SettingsSource
}
