package import HTTPCalls
package import Logging
import Waiting

#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

/// All clients of an installation by client id, which may be several apps, Services IDs and teams.
package struct AppleClients: Sendable {
    /// Apple's address, which is also the audience of client secrets and the issuer of Apple's tokens.
    package static let appleAddress = "https://appleid.apple.com"

    /// The maximum number of concurrent calls.
    package let callsAtOnce: Int

    private let clients: [String: AppleClient]
    private let transport: AppleTransport
    private let line: Permits
    /// Apple's signing keys, shared by everything that verifies.
    let keys: AppleKeys

    /// Creates the clients for Apple, or for a stand-in.
    ///
    /// One call, including its retries, must end by `deadline`. The logger records when breakers open and close.
    ///
    /// - Throws: ``DuplicateClient`` if a client id occurs twice in the list.
    package init(
        _ identities: [AppleClientIdentity],
        address: ServiceAddress,
        caller: HTTPCaller,
        deadline: Duration = .seconds(30),
        logger: Logger,
        now: @escaping @Sendable () -> Date = { Date() }
    ) throws(DuplicateClient) {
        callsAtOnce = caller.callsPerHost
        line = Permits(total: callsAtOnce)
        transport = AppleTransport(
            caller: caller,
            address: address,
            breakers: AppleBreakers(identities: identities),
            now: now,
            logger: logger,
            deadline: deadline
        )
        var clients: [String: AppleClient] = [:]
        for identity in identities {
            guard clients[identity.clientID] == nil else { throw DuplicateClient(clientID: identity.clientID) }
            clients[identity.clientID] = AppleClient(identity: identity, transport: transport)
        }
        self.clients = clients
        keys = AppleKeys(address: address, caller: caller, logger: logger, now: now)
    }

    /// The longest time that one request to Apple may take: the call with its retries, plus the self-test of a client
    /// id that Apple rejected earlier or rejects together with a code.
    package var longestCall: Duration { transport.deadline * 2 }

    /// Waits for a free slot and then runs `body`, whose deadline therefore excludes the wait.
    ///
    /// - Throws: what `body` throws; `CancellationError` if the task is cancelled while it waits.
    package func inTurn<Result>(_ body: () async throws -> Result) async throws -> Result {
        try await line.with { _ in try await body() }
    }

    /// Tests all client ids concurrently, since each takes as long as a connection attempt if Apple is unreachable.
    ///
    /// - Returns: The result of each test, in the order of the client ids; see ``AppleClient/selfTest()``.
    /// - Throws: `CancellationError`.
    package func selfTests() async throws -> [(identity: AppleClientIdentity, outcome: SelfTestOutcome)] {
        try await withThrowingTaskGroup(of: (AppleClientIdentity, SelfTestOutcome).self) { group in
            for client in clients.values {
                group.addTask { try await (client.identity, inTurn { try await client.selfTest() }) }
            }
            var found: [(identity: AppleClientIdentity, outcome: SelfTestOutcome)] = []
            for try await (identity, outcome) in group { found.append((identity, outcome)) }
            return found.sorted { $0.identity.clientID < $1.identity.clientID }
        }
    }

    /// How many tasks wait for a slot.
    package var waitingCount: Int { line.waitingCount }

    /// The current time, by the clock that everything about Apple uses.
    package var moment: Date { transport.now() }

    /// Whether the connection proves that the answer came from Apple, or from a stand-in on this machine.
    var isConnectionTrusted: Bool { transport.address.scheme == "https" || transport.address.isLoopback }

    var breakers: AppleBreakers { transport.breakers }

    /// The client ids, sorted.
    package var clientIDs: [String] { clients.keys.sorted() }

    /// The client for an id; nil if it is not configured.
    package subscript(_ clientID: String) -> AppleClient? {
        clients[clientID]
    }

    /// Whether a client id is now another team's than when a token of it was obtained: Apple then accepts that token no
    /// more.
    ///
    /// False if the token's team is not known, or the client id is not configured.
    package func hasLeft(_ teamID: String?, _ clientID: String) -> Bool {
        guard let teamID, let client = clients[clientID] else { return false }
        return client.identity.teamID != teamID
    }

    /// Whether calls for a client id are paused now.
    ///
    /// False once the pause is over, even though the breaker still requires a self-test, which the next call triggers.
    package func isPaused(_ clientID: String) -> Bool {
        switch breakers.health(of: clientID).state {
        case .closed: false
        case .halfOpen: true
        case .open(let until, _): until > transport.now()
        }
    }

    /// Whether the next call for a client id starts with a self-test because its pause is over.
    package func isUntested(_ clientID: String) -> Bool {
        if case .open = breakers.health(of: clientID).state { !isPaused(clientID) } else { false }
    }

    /// Why calls for a client id are not sent now; nil if they are not paused.
    package func pause(of clientID: String) -> AppleDelay? {
        guard isPaused(clientID) else { return nil }
        return AppleDelay(.breakerOpen, retryAfter: breakers.pause(of: clientID, at: transport.now()))
    }

    /// A client id that is configured twice.
    package struct DuplicateClient: Error, Sendable, Hashable, CustomStringConvertible {
        /// The client id.
        let clientID: String

        /// One sentence that names the client id.
        package var description: String { "client id \(clientID) is configured twice" }
    }
}
