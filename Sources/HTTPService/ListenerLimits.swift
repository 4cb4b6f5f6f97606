/// The resources that a listener grants its clients.
package struct ListenerLimits: Sendable {
    /// The maximum number of open connections, which a burst may exceed by a few; further clients wait in the kernel's
    /// queue.
    package var connections = 256
    /// How long a client may take to send a complete request, counted from the opening of the connection for the first
    /// request and from the end of the head for later ones.
    package var request: Duration = .seconds(10)
    /// How long an answer may take, including the time the client takes to receive it.
    package var answer: Duration = .seconds(60)
    /// How long a kept-alive connection may take until the head of its next request is complete.
    package var idle: Duration = .seconds(30)

    package init() {}
}
