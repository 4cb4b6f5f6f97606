package import Logging
package import Metrics

/// Tells monitoring when the client secret of the web flow ends, and the log that its copy cannot be read.
///
/// Looked at every half minute: the log hears of it once, and again when it can be read.
package struct WebSecretWatch: Sendable {
    private let copy: WebSecretCopy
    private var isReadable = true

    /// Watches the copy of a secret.
    package init(_ copy: WebSecretCopy) {
        self.copy = copy
    }

    /// Looks once; what was told before stands when the copy cannot be read.
    package mutating func look(_ logger: Logger, factory: any MetricsFactory = MetricsSystem.factory) {
        do {
            try copy.publish(factory: factory)
            if !isReadable { logger.notice("the copy of the web client secret can be read again") }
            isReadable = true
        } catch {
            if isReadable {
                logger.warning(
                    "the copy of the web client secret cannot be read: nobody sees when it ends",
                    metadata: ["reason": "\(error)"]
                )
            }
            isReadable = false
        }
    }
}
