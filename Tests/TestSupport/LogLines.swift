package import Logging
import Synchronization

/// Collects log lines, each as one text: level, message, metadata of the logger and of the line.
package final class LogLines: Sendable {
    private struct Recorder: LogHandler {
        let lines: LogLines
        var metadata: Logger.Metadata = [:]
        var logLevel = Logger.Level.trace

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }

        func log(event: LogEvent) {
            let all = metadata.merging(event.metadata ?? [:]) { $1 }
            let told = all.sorted { $0.key < $1.key }.map { "\($0)=\($1)" }.joined(separator: " ")
            lines.lines.withLock { $0.append("\(event.level) \(event.message) \(told)") }
        }
    }

    private let lines = Mutex<[String]>([])

    package init() {}

    package var all: [String] { lines.withLock(\.self) }
    package var logger: Logger { Logger(label: "test") { _ in Recorder(lines: self) } }
}
