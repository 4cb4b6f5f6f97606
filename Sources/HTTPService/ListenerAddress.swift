/// Where a listener listens.
package struct ListenerAddress: Sendable, Hashable {
    package let host: String
    /// 0 takes a free one.
    package let port: Int

    package init(host: String, port: Int) {
        self.host = host
        self.port = port
    }
}
