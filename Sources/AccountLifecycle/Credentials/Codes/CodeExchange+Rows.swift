import JobQueue
import Postgres
import Sealing

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The row of a code: what is read of it, and what becomes of it.
extension CodeExchange {
    /// A code as it was taken.
    struct Code: Sendable {
        let user: UUID
        let secret: Secret<String>?
        let clientID: String?
        let redirectURI: String?
        /// Before it was taken: of one that was tried, an earlier attempt may have reached Apple.
        let state: AuthorizationCodeState
        /// How long until it expires.
        let life: Duration
        /// Apple's names for the account, also those that a team transfer will give it, as long as it is there to be
        /// asked.
        let subjects: [String]
    }

    /// Reads the code and records that Apple may be asked from now on, in one statement.
    func take(_ id: Int64, _ fence: JobFence?) async throws -> Code? {
        // What the code will be exchanged for.
        let clientID: Statement = "coalesce(before.client_id, \(services.apple.onlyClientID))"
        return try await write(fence) { connection in
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
                    union
                    \(TransferBooks.comingSubs(of: "before.user_id", clientID: clientID))
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

    /// Records what became of a code, and wipes it.
    func settle(_ id: Int64, _ state: AuthorizationCodeState, _ fence: JobFence?) async throws -> Outcome {
        try await write(fence) { try Self.wipe(id, state, on: $0) }
        return .settled(state)
    }

    /// Takes back that Apple may have taken the code: nothing was sent, or Apple refused it.
    func giveBack(_ id: Int64, _ fence: JobFence?) async throws {
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
    func write<Result: Sendable>(
        _ fence: JobFence?,
        _ changes: @Sendable (isolated Connection) throws -> Result
    ) async throws -> Result {
        try await services.codes.withTransaction { connection in
            try fence?.hold(on: connection)
            return try changes(connection)
        }
    }

    /// Wipes a code; of one that was given up meanwhile is told what became of it after all.
    static func wipe(_ id: Int64, _ state: AuthorizationCodeState, on connection: isolated Connection) throws {
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
