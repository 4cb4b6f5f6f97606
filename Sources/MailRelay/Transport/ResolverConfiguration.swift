/// Whom to ask, how long to wait, and how much at once.
package struct ResolverConfiguration: Sendable, Hashable {
    /// The name servers in the order of preference; none stands for those of the system (`resolv.conf`).
    ///
    /// They must recurse: asking the servers of a zone directly goes wrong with delegated names, split DNS and closed
    /// ports.
    var servers: [NameServer]
    /// How long to wait for the first answer; each further try waits twice as long as the one before.
    var tryTimeout: Duration
    /// How often a question is sent, at least once.
    var tries: Int
    /// The most questions that are on their way at once; further ones queue.
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
