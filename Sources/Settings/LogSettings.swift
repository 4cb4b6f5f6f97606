/// The settings for the log.
package struct LogSettings: Sendable {
    package let level: Level
    package let format: Format

    /// The levels of swift-log.
    package enum Level: String, CaseIterable, Sendable {
        case trace, debug, info, notice, warning, error, critical
    }

    /// The format of a log line.
    package enum Format: String, CaseIterable, Sendable {
        /// JSON unless standard error is a terminal.
        case auto
        case json, text
    }

    init(_ reader: inout SettingsReader) {
        level = reader.read("log.level", .choice, default: .info, "The lowest level that is logged.")
        format = reader.read(
            "log.format",
            .choice,
            default: .auto,
            "JSON or text; auto is text on a terminal, JSON elsewhere."
        )
    }
}
