package import Logging

extension Logger {
    /// Writes nothing.
    package static let silent = Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() })
}
