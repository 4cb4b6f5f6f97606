import AccountLifecycle
import Postgres
import Terminal

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// What an operator has done to an account or a request.
struct Act<Outcome: Sendable>: Sendable {
    /// What a dry run says: "would be paused".
    let plan: String
    /// What is said when it was done: "paused".
    let done: String
    /// What of the act could fire an app's triggers, which a dry run must not when they may reach outside the database;
    /// nil where it fires none.
    var look: Look?
    /// The command to suggest after the act, which undoes it or goes on, given the target's names and the outcome; nil
    /// for none.
    var next: (@Sendable (_ names: ActNames, _ outcome: Outcome) -> String?)?
    /// The question to confirm before the act, given the id with what is known of the account; nil where none is asked.
    var question: (@Sendable (_ named: String) -> String)?
    /// Whether this target needs the ``question``; nil where every target does.
    var asks: (@Sendable (UUID, isolated Connection) throws -> Bool)?
    /// The refusal of this target, looked for before anything is asked or done; it returns nil where nothing stands in
    /// the way, and is nil itself where nothing ever could.
    var refuses: (@Sendable (UUID, isolated Connection) throws -> Outcome?)?
    /// What still holds the target back after the act, such as a pause, each with the command that ends it; nil where
    /// nothing ever could.
    var brakes: (@Sendable (UUID, ActNames, isolated Connection) throws -> [String])?
    /// Further facts for output that programs read; nil where the outcome says all.
    var facts: (@Sendable (UUID, Outcome) -> [Sheet.Fact])?
    /// Performs the act and logs it in the same transaction.
    ///
    /// With `writes` false (a dry run whose triggers may reach outside the database) it only reports what it would
    /// change in Supabase's tables.
    let perform: @Sendable (Operator, _ writes: Bool, UUID, isolated Connection) async throws -> Outcome

    /// The writes of an act that may fire triggers of an app.
    struct Look: Sendable {
        /// What the act writes in Supabase's tables.
        let writes: Set<AccountWrite>
        /// Whether the act writes that for this target; nil where it does for every target.
        var applies: (@Sendable (UUID, isolated Connection) throws -> Bool)?
    }
}
