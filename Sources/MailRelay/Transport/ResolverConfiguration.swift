/// The name servers to ask, and the limits on time and concurrency.
package struct ResolverConfiguration: Sendable, Hashable {
    /// The name servers in order of preference; empty means those of the system (`resolv.conf`).
    ///
    /// They must be recursive resolvers: querying authoritative servers directly fails with delegated names, split DNS
    /// and closed ports.
    var servers: [NameServer]
    /// The time-out of the first try; each further try waits twice as long as the previous one.
    var tryTimeout: Duration
    /// The number of tries for a question, at least one.
    var tries: Int
    /// The most questions in flight at once; further ones are queued.
    var maximumInFlight: Int

    /// A configuration; by default the system's servers, 1.3 s and 2.6 s, 64 questions at once.
    package init(
        servers: [NameServer] = [],
        tryTimeout: Duration = .milliseconds(1300),
        tries: Int = 2,
        maximumInFlight: Int = 64
    ) {
        self.servers = servers
        self.tryTimeout = tryTimeout
        self.tries = max(1, tries)
        self.maximumInFlight = max(1, maximumInFlight)
    }
}
