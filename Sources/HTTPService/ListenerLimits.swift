/// What a listener lets its clients take.
package struct ListenerLimits: Sendable {
    /// How many connections are open at once; who comes beyond, or a few more when many come at once, waits in the
    /// kernel's queue.
    package var connections = 256
    /// How long a client may take to send a request in full from the opening of the connection on; on one that has
    /// served, from the end of the request's head on.
    package var request: Duration = .seconds(10)
    /// How long an answer may take, the client's taking it included.
    package var answer: Duration = .seconds(60)
    /// How long a connection that has served may take until the head of its next request has come in full.
    package var idle: Duration = .seconds(30)

    package init() {}
}
