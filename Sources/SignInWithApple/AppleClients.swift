package import HTTPCalls
package import Logging
import Waiting

#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

/// All clients of an installation by client id: several apps, Services IDs and teams side by side.
package struct AppleClients: Sendable {
    /// Where Apple lives; also the audience of what is sent there, and the issuer of what comes from there.
    package static let appleAddress = "https://appleid.apple.com"

    /// How many calls are under way at most.
    package let callsAtOnce: Int

    private let clients: [String: AppleClient]
    private let transport: AppleTransport
    private let line: Permits
    /// Apple's signing keys, shared by everything that verifies.
    let keys: AppleKeys

    /// Makes the clients of Apple, or of a stand-in for it.
    ///
    /// One call must have ended by `deadline`, repeats included. The logger is told of breakers that open and close.
    ///
    /// - Throws: ``DuplicateClient`` when a client id stands in the list twice.
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

    /// The longest that asking Apple for one thing may take: the call with its repeats, and the test of a client id that
    /// Apple rejected before, or rejects with a code.
    package var longestCall: Duration { transport.deadline * 2 }

    /// Waits until a call could be sent at once, and has `body` make it, whose deadline does not run while others have
    /// their turn.
    ///
    /// - Throws: what `body` throws; `CancellationError` when the task is cancelled while it waits.
    package func inTurn<Result>(_ body: () async throws -> Result) async throws -> Result {
        try await line.with { _ in try await body() }
    }

    /// Tests every client id beside the others: where Apple cannot be reached, each takes as long as a connection may.
    ///
    /// - Returns: What each test found, in the order of the client ids; see ``AppleClient/selfTest()``.
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

    /// How many wait for their turn.
    package var waitingCount: Int { line.waitingCount }

    /// The moment, by the clock that everything about Apple goes by.
    package var moment: Date { transport.now() }

    /// Whether nobody but Apple, or a stand-in on this machine, can have answered.
    var isConnectionTrusted: Bool { transport.address.scheme == "https" || transport.address.isLoopback }

    var breakers: AppleBreakers { transport.breakers }

    /// The client ids, sorted.
    package var clientIDs: [String] { clients.keys.sorted() }

    /// The client of an id; nil when it is not configured.
    package subscript(_ clientID: String) -> AppleClient? {
        clients[clientID]
    }

    /// How things stand with Apple for a client id.
    func health(of clientID: String) -> ClientHealth {
        let (state, refusal) = transport.breakers.health(of: clientID)
        return ClientHealth(state: state, refusal: refusal)
    }

    /// Whether calls for a client id are paused now.
    ///
    /// False once the pause is over, although the breaker still wants its self-test: whoever calls then brings it
    /// about.
    package func isPaused(_ clientID: String) -> Bool {
        switch health(of: clientID).state {
        case .closed: false
        case .halfOpen: true
        case .open(let until, _): until > transport.now()
        }
    }

    /// Whether the next call for a client id begins with a test of it, since its pause is over.
    package func isUntested(_ clientID: String) -> Bool {
        if case .open = health(of: clientID).state { !isPaused(clientID) } else { false }
    }

    /// Why calls for a client id are not sent now; nil where they are not paused.
    package func pause(of clientID: String) -> AppleDelay? {
        guard isPaused(clientID) else { return nil }
        return AppleDelay(.breakerOpen, retryAfter: breakers.pause(of: clientID, at: transport.now()))
    }

    /// How things stand with Apple for a client id.
    struct ClientHealth: Sendable, Hashable {
        /// The breaker.
        let state: CircuitBreaker.State
        /// What Apple said when it last rejected the client; nil while it takes it.
        let refusal: AppleRefusal?
    }

    /// A client id that is configured twice.
    package struct DuplicateClient: Error, Sendable, Hashable, CustomStringConvertible {
        /// The client id.
        let clientID: String

        /// One sentence that names the client id.
        package var description: String { "client id \(clientID) is configured twice" }
    }
}
