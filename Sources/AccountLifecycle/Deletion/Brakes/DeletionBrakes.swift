import Postgres

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The brakes, which stop a request in any state: conditions on `r`, a row of `deletion_requests`, and `b`, the row of
/// `deletion_brakes`, in one place for everybody who checks them.
///
/// Lock order: whoever takes more than one of these locks takes them in this order, which prevents deadlocks: shared
/// objects, the job (which is the fence), the request, the account, the brake of everything, and the hourly ceiling.
/// The locks that everybody needs come last: whoever has to wait for a request then keeps nobody else waiting, and sees
/// a pause that came meanwhile. Only the app's cancel locks a job after its request, and only a job that waits for its
/// time, which no step holds.
enum DeletionBrakes {
    /// Whether an operator paused the request, or everything.
    static let isPaused: Statement = "(r.paused_at is not null or b.paused_at is not null)"

    /// Whether an operator paused everything; a separate condition for callers that have no request.
    static let isEverythingPaused: Statement =
        "exists (select from accountctl.deletion_brakes where paused_at is not null)"

    /// Whether the account is on legal hold.
    static let isHeld: Statement = "exists (select from accountctl.holds as h where h.user_id = r.user_id)"

    /// Whether the account is on legal hold.
    static func hasHold(_ user: UUID, on connection: isolated Connection) throws -> Bool {
        try connection.one("select exists (select from accountctl.holds where user_id = \(user))", as: Bool.self)
    }

    /// Whether an account was created under the same id after the request, and so is not the one that was meant.
    static let isOtherAccount: Statement = """
        exists (select from auth.users as u where u.id = r.user_id and \(isCreatedLater))
        """

    /// Whether the account `u` was created after the request `r`.
    ///
    /// The auth server has a clock of its own, and the database's may be set back: an account that already seemed
    /// younger when the request was made is known by its time.
    static let isCreatedLater: Statement = """
        (u.created_at > r.requested_at and u.created_at is distinct from r.account_created_at)
        """

    /// Those of the accounts whose open request nothing stops, and whose rows are gone.
    ///
    /// Read again, though the callers took the steps themselves: a server that crashed may have lost the record of
    /// them.
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
    /// Makes whoever pauses everything wait until the transaction ends; what is read afterwards includes every earlier
    /// pause.
    ///
    /// Not a row lock: a delete may take half an hour, and meanwhile it must still be possible to record the pause.
    static let holding: Statement =
        "pg_advisory_xact_lock_shared(hashtextextended('accountctl.deletion_brakes', 0))"

    /// Waits for every transaction that holds the brake of everything.
    static let awaiting: Statement = "pg_advisory_xact_lock(hashtextextended('accountctl.deletion_brakes', 0))"

    /// Lets lock-outs pass the hourly ceiling one after another.
    static let counting: Statement = "pg_advisory_xact_lock(hashtextextended('accountctl.hourly_ceiling', 0))"

    /// Holds the brakes of the accounts' open requests for the rest of a transaction, whose commit then does not wait
    /// for the disk.
    ///
    /// A pause of one request or of everything comes before and is seen, or waits.
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
        try connection.execute("\(DeletionJournal.unflushed), \(holding)")
    }
}

extension DeletionRun {
    /// Checks, before one of several acts of a step, whether the step is still to be taken.
    ///
    /// A step can be long: a table emptied in batches, files deleted in parts, several credentials. None of these acts
    /// can be undone.
    ///
    /// - Returns: The time of the check, by the database's clock.
    /// - Throws: ``Braked`` if the request was paused, held, cancelled or taken over, or the account is another one by
    ///   now.
    @discardableResult
    func lookAgain(_ step: DeletionStep, on connection: isolated Connection) throws -> Date {
        guard let record = try DeletionRecord.load(record.id, on: connection),
            case .perform(step, _) = DeletionMachine.next(record.facts)
        else { throw Braked() }
        return record.facts.now
    }

    /// Checks again with the request's row locked and the brake of everything held until the transaction ends: a pause
    /// of this request or of everything comes before and is seen, or waits until what is decided here is committed.
    ///
    /// - Returns: The time of the check, by the database's clock.
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

    /// Checks again with the request's row and, if it exists, the account's row locked, and the brake of everything
    /// held: until the transaction ends, nobody can pause or cancel the request, nor hold, delete or replace the
    /// account; a pause of everything comes before and is seen, or waits.
    ///
    /// - Returns: Whether the account exists.
    @discardableResult
    func lockAndLookAgain(_ step: DeletionStep, on connection: isolated Connection) throws -> Bool {
        // The account's row is not read before the request's row is locked.
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

/// A brake was applied in the middle of a step; the machine decides what follows.
struct Braked: Error {}
