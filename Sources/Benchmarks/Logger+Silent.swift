import Logging

extension Logger {
    /// A logger that writes nothing, since writing would distort the measurement.
    static let silent = Logger(label: "benchmark", factory: { _ in SwiftLogNoOpLogHandler() })
}
