package import Postgres

#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

/// What operators do with accounts: each act and its entry in the operators' log are one transaction.
///
/// Every act may be repeated. No act touches an account that is being erased: its lock-out belongs to the deletion.
package struct AccountDesk: Sendable {
    /// The result of an act.
    package enum Outcome: Sendable, Equatable {
        /// Done; this many sessions were ended.
        case done(sessions: Int)
        /// The account may not sign in; this many sessions were ended, and this ban, if any, was replaced.
        case suspended(sessions: Int, instead: AccountBan?)
        /// The account may sign in again; this ban was lifted.
        case restored(AccountBan)
        /// The account was in that state already.
        case unchanged
        case unknownUser
        /// The account is already banned for longer.
        case suspendedLonger(AccountBan)
        /// A deletion is under way in this state.
        case beingErased(state: DeletionState)
    }

    private let actor: Operator
    /// Whether Supabase's tables are written; otherwise an act only reports what it would do.
    private let writes: Bool

    package init(_ actor: Operator, writes: Bool = true) {
        self.actor = actor
        self.writes = writes
    }

    /// Ends every session; access tokens already issued stay valid until they expire, at most an hour by default.
    ///
    /// The request is logged even if there is no session.
    package func signOut(_ user: UUID, reason: String?, on connection: isolated Connection) async throws -> Outcome {
        try await connection.atomically { connection in
            if let refusal = try refusal(user, on: connection) { return refusal }
            let ended = try endSessions(of: user, on: connection)
            try actor.log("user.sign_out", on: user, reason: reason, facts: ["sessions": ended.sessions], connection)
            return ended.sessions + ended.oldTokens > 0 ? .done(sessions: ended.sessions) : .unchanged
        }
    }

    /// Forbids signing in until a date, and ends every session.
    ///
    /// A suspension that ends later is kept, unless it may be shortened.
    package func suspend(
        _ user: UUID,
        until: Date,
        mayShorten: Bool = false,
        reason: String,
        on connection: isolated Connection
    ) async throws -> Outcome {
        try await connection.atomically { connection in
            if let refusal = try refusal(user, on: connection) { return refusal }
            let later = try connection.first(
                "select banned_until from auth.users where id = \(user) and banned_until > \(until)",
                as: Date.self
            )
            if let ban = AccountBan(until: later), !mayShorten { return .suspendedLonger(ban) }
            let replaced = try ban(of: user, on: connection)
            if writes {
                // A finite date: GoTrue cannot read an infinite one and would fail every request of this account.
                try connection.execute(
                    "update auth.users set banned_until = \(until), updated_at = now() where id = \(user)"
                )
            }
            let ended = try endSessions(of: user, on: connection).sessions
            try actor.log("user.suspend", on: user, reason: reason, facts: ["sessions": ended], connection)
            return .suspended(sessions: ended, instead: replaced)
        }
    }

    /// Lets the account sign in again.
    package func restore(_ user: UUID, reason: String?, on connection: isolated Connection) async throws -> Outcome {
        try await connection.atomically { connection in
            if let refusal = try refusal(user, on: connection) { return refusal }
            guard let ban = try ban(of: user, on: connection) else { return .unchanged }
            if writes {
                try connection.execute(
                    "update auth.users set banned_until = null, updated_at = now() where id = \(user)"
                )
            }
            try actor.log("user.restore", on: user, reason: reason, connection)
            return .restored(ban)
        }
    }

    /// Records that an account's personal data was shown unmasked.
    package func recordReveal(_ user: UUID, reason: String?, on connection: isolated Connection) throws {
        try actor.log("user.reveal", on: user, reason: reason, connection)
    }

    /// Records that a list was shown unmasked; the action says which, such as `user.reveal_list`.
    package func recordReveal(_ action: String, reason: String?, on connection: isolated Connection) throws {
        try actor.log(action, on: nil, reason: reason, connection)
    }

    private func endSessions(of user: UUID, on connection: isolated Connection) throws -> AccountSessions.Count {
        try writes
            ? AccountSessions.end(of: user, on: connection) : AccountSessions.count(of: user, on: connection)
    }

    /// The ban in force now.
    private func ban(of user: UUID, on connection: isolated Connection) throws -> AccountBan? {
        let until = try connection.first(
            "select case when banned_until > now() then banned_until end from auth.users where id = \(user)",
            as: Date?.self
        )
        return AccountBan(until: until ?? nil)
    }

    /// Locks the account's row, so that no deletion can lock the account out concurrently.
    private func refusal(_ user: UUID, on connection: isolated Connection) throws -> Outcome? {
        guard try connection.first("select true from auth.users where id = \(user) for update", as: Bool.self) != nil
        else {
            return .unknownUser
        }
        let state = try connection.first(
            """
            select state from accountctl.deletion_requests
            where user_id = \(user) and finished_at is null and locked_out_at is not null
            """,
            as: DeletionState.self
        )
        return state.map { .beingErased(state: $0) }
    }
}
