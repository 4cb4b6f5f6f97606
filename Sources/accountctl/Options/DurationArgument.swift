import Settings
import Terminal

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Parses durations and moments on the command line.
enum DurationArgument {
    /// The error for a text that is not a duration.
    static let form = "must be a length of time such as 90s, 15m, 24h or 7d"

    /// A duration such as `90s`, `12h` or `30d`; any other text throws an error that names the option.
    static func required(_ text: String, _ option: String) throws -> Duration {
        guard let duration = DurationText.read(text) else {
            throw CommandError(.usage, "\(option) \(form)")
        }
        return duration
    }

    /// A date (`2026-11-20`), a moment in RFC 3339 or as tables print it, or how long ago (`30d`).
    ///
    /// - Throws: ``CommandError`` that names the option, unless the whole text is one of these.
    static func moment(_ text: String, _ option: String, now: Date) throws -> Date {
        if let ago = DurationText.read(text) {
            // PostgreSQL's calendar begins some thousand years ago.
            guard ago <= .seconds(36500 * 86400) else {
                throw CommandError(.usage, "\(option) must be at most 36500d ago")
            }
            return now - ago / .seconds(1)
        }
        if let moment = MomentText.read(text) { return moment }
        throw CommandError(
            .usage,
            "\(option): \"\(SafeText.line(text))\" is not a date (2026-11-20), a moment with its zone "
                + "(2026-11-20T12:00:00Z) or time ago (30d)"
        )
    }

    /// A date or a moment as above, but no duration relative to now.
    static func absolute(_ text: String, _ option: String) throws -> Date {
        guard let moment = MomentText.read(text) else {
            throw CommandError(
                .usage,
                "\(option): \"\(SafeText.line(text))\" is not a date (2026-11-20) or a moment with its zone "
                    + "(2026-11-20T12:00:00Z)"
            )
        }
        return moment
    }
}
