package import Logging
package import Metrics

/// Publishes the expiry of the web flow's client secret as a metric, and logs when its copy cannot be read.
///
/// The copy is read every half minute; only a change is logged: that it became unreadable, and that it can be read
/// again.
package struct WebSecretWatch: Sendable {
    private let copy: WebSecretCopy
    private var isReadable = true

    /// Watches the copy of a secret.
    package init(_ copy: WebSecretCopy) {
        self.copy = copy
    }

    /// Reads the copy once; if that fails, the metric keeps its last value.
    package mutating func look(_ logger: Logger, factory: any MetricsFactory = MetricsSystem.factory) {
        do {
            try copy.publish(factory: factory)
            if !isReadable { logger.notice("the copy of the web client secret can be read again") }
            isReadable = true
        } catch {
            if isReadable {
                logger.warning(
                    "the copy of the web client secret cannot be read: its expiry is not monitored",
                    metadata: ["reason": "\(error)"]
                )
            }
            isReadable = false
        }
    }
}
