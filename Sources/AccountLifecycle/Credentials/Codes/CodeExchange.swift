package import JobQueue
import Logging
import Postgres
import Sealing
import SignInWithApple

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Exchanges an authorization code for the credential that can be revoked later.
///
/// A code lives five minutes and works once. That the call may have happened is recorded before it is made, and what
/// may have reached Apple is never sent again: when the process dies after Apple answered, or the answer is lost, the
/// outcome is "grant unknown", not "nothing held", and the app is asked for a new code. The same holds when the job was
/// given to another worker in between: what the first one learns then is not stored, since the second has told already
/// that nobody knows.
///
/// A grant is never dropped because its account is not there any more: when somebody deleted it while Apple answered,
/// the grant goes to the revocations that wait.
package struct CodeExchange: Sendable {
    /// What became of a code.
    package enum Outcome: Sendable, Hashable {
        /// Settled, now or before; the state that is recorded.
        case settled(AuthorizationCodeState)
        /// The account was deleted while Apple answered, and the code with it: the grant waits to be revoked.
        case handedOver
        /// There is no such code: it went with its account.
        case unknown
        /// Not yet: try again after so long.
        case again(after: Duration, Situation)
    }

    /// How long an exchange may take, from taking the code to storing the grant: then its job is cancelled.
    package static let longest = Duration.seconds(60)

    /// How long before a code's end it is tried for the last time, whatever Apple asked for.
    private static let lastTry = Duration.seconds(20)

    private let services: DeletionServices

    package init(_ services: DeletionServices) {
        self.services = services
    }

    /// Exchanges a stored code.
    ///
    /// `fence` keeps every write out once another worker has the job.
    ///
    /// - Throws: ``PostgresError``; ``JobQueueError`` `leaseLost`; `CancellationError`.
    package func run(_ id: Int64, fence: JobFence? = nil) async throws -> Outcome {
        guard let code = try await take(id, fence) else { return .unknown }
        guard let secret = code.secret else { return .settled(code.state) }
        guard code.state == .received else { return try await settle(id, .grantUnknown, fence) }
        guard code.life > .zero else { return try await settle(id, .expired, fence) }
        try await services.probe(.beforeExchange)
        let exchange = try await services.apple.exchange(
            secret,
            clientID: code.clientID,
            redirectURI: code.redirectURI
        )
        try await services.probe(.afterExchange)
        switch exchange {
        case .granted(let grant):
            return try await store(grant, for: id, code, fence)
        case .refused(let refusal):
            let clientID = code.clientID ?? services.apple.onlyClientID ?? ""
            services.log.notice(
                "Apple refused an authorization code",
                metadata: ["code_id": "\(id)", "client_id": "\(clientID)", "reason": "\(refusal)"]
            )
            return try await settle(id, .refused, fence)
        case .unusable(let problem):
            services.log.error(
                "Apple granted what cannot be used, and what can never be revoked",
                metadata: ["code_id": "\(id)", "identity_token": "\(problem?.rawValue ?? "missing")"]
            )
            return try await settle(id, .grantUnknown, fence)
        case .answerLost(let delay):
            services.log.warning(
                "Apple's answer to an authorization code was lost, and what it may have granted can never be revoked",
                metadata: ["code_id": "\(id)", "reason": "\(delay)"]
            )
            return try await settle(id, .grantUnknown, fence)
        case .trouble(let situation):
            try await giveBack(id, fence)
            // Later than Apple asks rather than never: a last try comes while the code still lives.
            let least = Duration.seconds(5)
            return .again(after: max(least, min(situation.delay(atLeast: least), code.life - Self.lastTry)), situation)
        }
    }

    private struct Code: Sendable {
        let user: UUID
        let secret: Secret<String>?
        let clientID: String?
        let redirectURI: String?
        /// Before it was taken: of one that was tried, an earlier attempt may have reached Apple.
        let state: AuthorizationCodeState
        /// How long until it expires.
        let life: Duration
        /// Apple's names for the account, as long as it is there to be asked.
        let subjects: [String]
    }

    /// Reads the code and records that Apple may be asked from now on, in one statement.
    private func take(_ id: Int64, _ fence: JobFence?) async throws -> Code? {
        try await write(fence) { connection in
            try connection.first(
                """
                with before as (
                    select id, user_id, code, client_id, redirect_uri, state,
                        extract(epoch from expires_at - clock_timestamp())::float8 as life
                    from accountctl.authorization_codes
                    where id = \(id)
                    for update
                ),
                taken as (
                    update accountctl.authorization_codes as c
                    set state = \(AuthorizationCodeState.exchanging.rawValue), tried_at = clock_timestamp()
                    from before as b
                    where c.id = b.id and b.state = \(AuthorizationCodeState.received.rawValue) and b.life > 0
                )
                select user_id, code, client_id, redirect_uri, state, life, array(
                    select i.provider_id
                    from auth.identities as i
                    where i.user_id = before.user_id and i.provider = 'apple'
                )
                from before
                """,
                as: (UUID, String?, String?, String?, AuthorizationCodeState, Double, [String]).self
            )
        }.map { user, code, clientID, redirectURI, state, life, subjects in
            Code(
                user: user,
                secret: code.map { Secret($0) },
                clientID: clientID,
                redirectURI: redirectURI,
                state: state,
                life: .seconds(life),
                subjects: subjects
            )
        }
    }

    /// Stores the credential and wipes the code, in one transaction; refuses a grant of another person.
    private func store(_ grant: AppleGateway.Grant, for id: Int64, _ code: Code, _ fence: JobFence?) async throws
        -> Outcome
    {
        let user = code.user
        return try await write(fence) { connection in
            // Held to the end: whoever deletes the account waits, and finds the credential, or was first.
            let isThere = try connection.first(
                "select true from auth.users where id = \(user) for key share",
                as: Bool.self
            )
            guard isThere == true else { return try keep(grant, of: code, on: connection) }
            // Whoever passes somebody else's code must not get hold of, or revoke, that person's sign-in.
            let isOwn = try connection.one(
                """
                select exists (
                    select
                    from auth.identities
                    where provider = 'apple' and provider_id = \(grant.subject) and user_id = \(user)
                )
                """,
                as: Bool.self
            )
            if isOwn {
                try AppleCredential.store(
                    grant.refreshToken,
                    user: user,
                    clientID: grant.clientID,
                    subject: grant.subject,
                    keys: services.vault.keys,
                    on: connection
                )
            }
            let state: AuthorizationCodeState = isOwn ? .exchanged : .wrongAccount
            try Self.wipe(id, state, on: connection)
            return .settled(state)
        }
    }

    /// Keeps a grant to be revoked without its account, which was deleted while Apple answered; the code went with it.
    private func keep(
        _ grant: AppleGateway.Grant,
        of code: Code,
        on connection: isolated Connection
    ) throws -> Outcome {
        guard code.subjects.contains(grant.subject) else { return .settled(.wrongAccount) }
        let subject = services.vault.subject(code.user)
        let request = try connection.first(
            """
            select id
            from accountctl.deletion_requests
            where (user_id = \(code.user) or (subject_hash = \(subject.bytes) and subject_key_id = \(subject.keyID)))
              and state <> 'cancelled'
            order by requested_at desc
            limit 1
            for no key update
            """,
            as: UUID.self
        )
        try connection.execute(
            PendingRevocation.keeping(
                grant.refreshToken,
                clientID: grant.clientID,
                subject: grant.subject,
                request: request,
                from: "(select true) as granted",
                with: services
            )
        )
        if let request { try AppleReckoning.countPending(of: request, on: connection) }
        return .handedOver
    }

    private func settle(_ id: Int64, _ state: AuthorizationCodeState, _ fence: JobFence?) async throws -> Outcome {
        try await write(fence) { try Self.wipe(id, state, on: $0) }
        return .settled(state)
    }

    /// Takes back that Apple may have been asked: nothing was sent.
    private func giveBack(_ id: Int64, _ fence: JobFence?) async throws {
        _ = try await write(fence) { connection in
            try connection.execute(
                """
                update accountctl.authorization_codes
                set state = \(AuthorizationCodeState.received.rawValue)
                where id = \(id) and state = \(AuthorizationCodeState.exchanging.rawValue)
                """
            )
        }
    }

    /// Makes changes in one transaction, as long as no other worker has the job.
    private func write<Result: Sendable>(
        _ fence: JobFence?,
        _ changes: @Sendable (isolated Connection) throws -> Result
    ) async throws -> Result {
        try await services.codes.withTransaction { connection in
            try fence?.hold(on: connection)
            return try changes(connection)
        }
    }

    /// Wipes a code; of one that was given up meanwhile is told what became of it after all.
    private static func wipe(_ id: Int64, _ state: AuthorizationCodeState, on connection: isolated Connection) throws {
        try connection.execute(
            """
            update accountctl.authorization_codes
            set state = \(state.rawValue), code = null, settled_at = clock_timestamp()
            where id = \(id) and (code is not null or state = \(AuthorizationCodeState.grantUnknown.rawValue))
            """
        )
    }

    /// Wipes every code whose time is over, whether or not its job ran.
    ///
    /// An exchange that began in time may still be answered: its code is left alone until no answer can come.
    ///
    /// - Returns: How many there were.
    @discardableResult
    static func expire(on connection: isolated Connection) throws -> Int {
        try connection.execute(expiring)
    }

    /// The statement of ``expire(on:)``, to which more conditions can be added.
    static let expiring: Statement = """
        update accountctl.authorization_codes
        set state = case state
                when \(AuthorizationCodeState.exchanging.rawValue) then \(AuthorizationCodeState.grantUnknown.rawValue)
                else \(AuthorizationCodeState.expired.rawValue)
            end,
            code = null,
            settled_at = clock_timestamp()
        where code is not null
          and expires_at <= statement_timestamp()
          and (
              state = \(AuthorizationCodeState.received.rawValue)
              or tried_at is null
              or tried_at <= clock_timestamp() - \(longest.wholeSeconds) * interval '1 second'
          )
        """
}
