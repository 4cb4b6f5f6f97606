import Logging

extension Logger {
    /// Writes nothing, which would take time of what is measured.
    static let silent = Logger(label: "benchmark", factory: { _ in SwiftLogNoOpLogHandler() })
}
