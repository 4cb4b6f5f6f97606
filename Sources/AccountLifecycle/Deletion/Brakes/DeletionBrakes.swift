import Postgres

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// What stops a request wherever it stands, in one place for everybody who looks: conditions on `r`, a row of
/// `deletion_requests`, and `b`, the row of `deletion_brakes`.
///
/// Whoever locks more than one of these takes them in this order, and so waits for nobody who waits for it: what is
/// shared of objects, the job, which is the fence, the request, the account, the brake of everything, and the hourly
/// ceiling. Those that everybody passes come last: whoever has to wait for a request keeps nobody else waiting, and sees
/// a pause that came meanwhile. The app's cancelling alone comes to a job after its request, and only to one that waits
/// for its time, which no step holds.
enum DeletionBrakes {
    /// An operator paused the request, or everything.
    static let isPaused: Statement = "(r.paused_at is not null or b.paused_at is not null)"

    /// An operator paused everything; by itself, for whoever has no request.
    static let isEverythingPaused: Statement =
        "exists (select from accountctl.deletion_brakes where paused_at is not null)"

    /// A legal hold lies on the account.
    static let isHeld: Statement = "exists (select from accountctl.holds as h where h.user_id = r.user_id)"

    /// Whether a legal hold lies on the account.
    static func hasHold(_ user: UUID, on connection: isolated Connection) throws -> Bool {
        try connection.one("select exists (select from accountctl.holds where user_id = \(user))", as: Bool.self)
    }

    /// Somebody came into being under the same id after the request: that is not the account that was meant.
    static let isOtherAccount: Statement = """
        exists (select from auth.users as u where u.id = r.user_id and u.created_at > r.requested_at)
        """

    /// Those of these accounts whose open request nothing stops and whose rows are gone.
    ///
    /// Read anew, though the callers took the steps themselves: a server that died may have forgotten them.
    static func released(_ users: [UUID], on connection: isolated Connection) throws -> [UUID] {
        try connection.query(
            """
            select r.user_id
            from accountctl.deletion_requests as r
            cross join accountctl.deletion_brakes as b
            where r.user_id = any(\(users))
              and r.finished_at is null
              and not \(isPaused)
              and not \(isHeld)
              and not \(isOtherAccount)
              and r.locked_out_at is not null
              and exists (
                  select
                  from accountctl.deletion_steps as s
                  where s.request_id = r.id
                    and s.step = \(DeletionStep.deleteRows.rawValue)
                    and s.finished_at is not null
              )
            """,
            as: UUID.self
        )
    }
}

extension DeletionBrakes {
    /// Keeps whoever pauses everything waiting until the transaction ends; what is read next shows every pause before
    /// it.
    ///
    /// Not a lock of the row: a delete may take half an hour, and meanwhile the word is to be given all the same.
    static let holding: Statement =
        "pg_advisory_xact_lock_shared(hashtextextended('accountctl.deletion_brakes', 0))"

    /// Waits for everybody who holds the brake of everything.
    static let awaiting: Statement = "pg_advisory_xact_lock(hashtextextended('accountctl.deletion_brakes', 0))"

    /// Lets those pass the hourly ceiling one after another.
    static let counting: Statement = "pg_advisory_xact_lock(hashtextextended('accountctl.hourly_ceiling', 0))"

    /// Holds the brakes of the accounts' open requests for the rest of a transaction, whose commit then does not wait
    /// for the disk.
    ///
    /// Whoever pauses one or all comes before and is seen, or waits.
    static func hold(of users: [UUID], on connection: isolated Connection) throws {
        try connection.execute(
            """
            select
            from accountctl.deletion_requests
            where user_id = any(\(users)) and finished_at is null
            order by id
            for share
            """
        )
        try connection.execute("select set_config('synchronous_commit', 'off', true), \(holding)")
    }
}

extension DeletionRun {
    /// Looks, before one of several acts of a step, whether the step is still to be taken.
    ///
    /// A step can be long: a table emptied in batches, files deleted in parts, several credentials. None of it can be
    /// undone.
    ///
    /// - Returns: When it looked, by the database's clock.
    /// - Throws: ``Braked`` when it was paused, held, cancelled or taken over, or the account is another one by now.
    @discardableResult
    func lookAgain(_ step: DeletionStep, on connection: isolated Connection) throws -> Date {
        guard let record = try DeletionRecord.load(record.id, on: connection),
            case .perform(step, _) = DeletionMachine.next(record.facts)
        else { throw Braked() }
        return record.facts.now
    }

    /// Looks again with the request and the brake of everything held until the transaction ends: whoever pauses one or
    /// everything comes before and is seen, or waits until what is decided here is committed.
    ///
    /// - Returns: When it looked, by the database's clock.
    @discardableResult
    func holdBrakesAndLookAgain(_ step: DeletionStep, on connection: isolated Connection) throws -> Date {
        try connection.execute(
            """
            select \(DeletionBrakes.holding)
            from (
                select
                from accountctl.deletion_requests
                where id = \(record.id)
                for no key update
            ) as request
            """
        )
        return try lookAgain(step, on: connection)
    }

    /// Locks the request's row and the account's, where there is one, and holds the brake of everything for the rest of
    /// the transaction, and looks again: nobody can pause or cancel the request, nor hold, delete or replace the account,
    /// before the transaction ends; a pause of everything comes before and is seen, or waits.
    ///
    /// - Returns: Whether the account is there.
    @discardableResult
    func lockAndLookAgain(_ step: DeletionStep, on connection: isolated Connection) throws -> Bool {
        // The second is not read before the first is held.
        let isThere = try connection.one(
            """
            with request as materialized (
                select id
                from accountctl.deletion_requests
                where id = \(record.id)
                for no key update
            ),
            account as materialized (
                select id
                from auth.users
                where id = \(user) and (select count(*) from request) >= 0
                for update
            )
            select exists (select from account)
            """,
            as: Bool.self
        )
        try holdBrakesAndLookAgain(step, on: connection)
        return isThere
    }
}

/// A brake was pulled in the middle of a step; the machine says what follows.
struct Braked: Error {}
