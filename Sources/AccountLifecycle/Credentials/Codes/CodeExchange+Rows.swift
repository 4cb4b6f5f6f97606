import JobQueue
import Postgres
import Sealing

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Reads and writes the row of a code.
extension CodeExchange {
    /// A code as it was read.
    struct Code: Sendable {
        let user: UUID
        let secret: Secret<String>?
        let clientID: String?
        let redirectURI: String?
        /// The state before this attempt: if it was `exchanging`, an earlier attempt may have reached Apple.
        let state: AuthorizationCodeState
        /// The time until it expires.
        let life: Duration
        /// The account's Apple subs, including those that a team transfer will give it, read while the account exists.
        let subjects: [String]
    }

    /// Reads the code and records, in the same statement, that Apple may be asked from now on.
    func take(_ id: Int64, _ fence: JobFence?) async throws -> Code? {
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
                    union
                    \(TransferBooks.comingSubs(of: "before.user_id"))
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

    /// Records the final state of a code, and wipes it.
    func settle(_ id: Int64, _ state: AuthorizationCodeState, _ fence: JobFence?) async throws -> Outcome {
        try await write(fence) { try Self.wipe(id, state, on: $0) }
        return .settled(state)
    }

    /// Reverts the record that Apple may have consumed the code: nothing was sent, or Apple refused it.
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

    /// Makes changes in one transaction, provided that no other worker has taken over the job.
    func write<Result: Sendable>(
        _ fence: JobFence?,
        _ changes: @Sendable (isolated Connection) throws -> Result
    ) async throws -> Result {
        try await services.codes.withTransaction { connection in
            try fence?.hold(on: connection)
            return try changes(connection)
        }
    }

    /// Wipes a code and records its state; a code already settled as `grantUnknown` still gets its real outcome.
    static func wipe(_ id: Int64, _ state: AuthorizationCodeState, on connection: isolated Connection) throws {
        try connection.execute(
            """
            update accountctl.authorization_codes
            set state = \(state.rawValue), code = null, settled_at = clock_timestamp()
            where id = \(id) and (code is not null or state = \(AuthorizationCodeState.grantUnknown.rawValue))
            """
        )
    }

    /// Wipes every expired code, whether or not its job ran.
    ///
    /// An exchange that began in time may still be answered, so its code is left alone until no answer can come.
    ///
    /// - Returns: How many codes were wiped.
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
