import AccountLifecycle
import Postgres
import Terminal

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// An operation that an operator performs on an account or a deletion request.
struct Act<Outcome: Sendable>: Sendable {
    /// The message of a dry run: "would be paused".
    let plan: String
    /// The message after the act: "paused".
    let done: String
    /// The writes that could fire an app's triggers, which a dry run must not perform if a trigger may reach outside
    /// the database; nil if the act fires none.
    var look: Look?
    /// The command to suggest after the act, which undoes or continues it; nil for none.
    var next: (@Sendable (_ names: ActNames, _ outcome: Outcome) -> String?)?
    /// The question to confirm before the act, given the labelled id of the target; nil if the act needs no
    /// confirmation.
    var question: (@Sendable (_ named: String) -> String)?
    /// Whether this target needs the ``question``; nil if every target does.
    var asks: (@Sendable (UUID, isolated Connection) throws -> Bool)?
    /// Checks for a refusal of this target before any question or write; the closure returns nil if nothing prevents
    /// the act, and is nil itself if nothing ever can.
    var refuses: (@Sendable (UUID, isolated Connection) throws -> Outcome?)?
    /// Lists what still holds the target back after the act, such as a pause, each with the command that ends it; nil
    /// if nothing ever can.
    var brakes: (@Sendable (UUID, ActNames, isolated Connection) throws -> [String])?
    /// Further facts for machine-readable output; nil if the outcome is enough.
    var facts: (@Sendable (UUID, Outcome) -> [Sheet.Fact])?
    /// Performs the act and logs it in the same transaction.
    ///
    /// With `writes` false (a dry run whose triggers may reach outside the database) the act only reports what it
    /// would change in Supabase's tables.
    let perform: @Sendable (Operator, _ writes: Bool, UUID, isolated Connection) async throws -> Outcome

    /// The writes of an act that may fire triggers of an app.
    struct Look: Sendable {
        /// The kinds of writes to Supabase's tables.
        let writes: Set<AccountWrite>
        /// Whether the act performs these writes on this target; nil if it does so on every target.
        var applies: (@Sendable (UUID, isolated Connection) throws -> Bool)?
    }
}
