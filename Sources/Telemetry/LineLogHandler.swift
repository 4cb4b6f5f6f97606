package import Logging

#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

/// Writes each log event as one line: JSON for machines, text for a terminal; personal data and secrets are masked.
package struct LineLogHandler: LogHandler {
    /// The form of the lines.
    package enum Format: Sendable {
        case json, text
    }

    package var logLevel: Logger.Level
    package var metadata: Logger.Metadata = [:]
    package var metadataProvider: Logger.MetadataProvider?

    private let label: String
    private let format: Format
    private let write: @Sendable (String) -> Void
    private let now: @Sendable () -> Date
    private let rewrite: @Sendable (String) -> String

    /// Creates a handler.
    ///
    /// - Parameters:
    ///   - label: the name of the logger.
    ///   - format: the form of the lines.
    ///   - level: the lowest level that is written.
    ///   - now: returns the time of an event.
    ///   - rewrite: transforms messages and text values before they are written, for example the commands that they
    ///     name.
    ///   - write: writes a whole line, including its end, at once.
    package init(
        label: String,
        format: Format,
        level: Logger.Level,
        now: @escaping @Sendable () -> Date = { Date() },
        rewrite: @escaping @Sendable (String) -> String = { $0 },
        write: @escaping @Sendable (String) -> Void
    ) {
        self.label = label
        self.format = format
        self.logLevel = level
        self.now = now
        self.rewrite = rewrite
        self.write = write
    }

    package subscript(metadataKey key: String) -> Logger.MetadataValue? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    package func log(event: LogEvent) {
        var merged = metadata
        if let provided = metadataProvider?.get() { merged.merge(provided) { _, new in new } }
        if let own = event.metadata { merged.merge(own) { _, new in new } }
        if let error = event.error { merged["error"] = .string(String(describing: error)) }
        let line = LogLine(
            time: now(),
            level: event.level,
            label: label,
            message: rewrite("\(event.message)"),
            metadata: merged.mapValues { value in
                if case .string(let text) = value { .string(rewrite(text)) } else { value }
            }
        )
        switch format {
        case .json: write(line.json)
        case .text: write(line.text)
        }
    }
}
