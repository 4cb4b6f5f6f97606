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
    /// How a dry run is answered where a trigger of an app may reach outside of the database; nil where none is fired.
    var look: Look?
    /// What is said next: the command that undoes it or goes on, given what was acted on and what came of it; nil where
    /// there is none.
    var next: (@Sendable (_ names: ActNames, _ outcome: Outcome) -> String?)?
    /// What is asked before, given the id with what is known of the account; nil where nothing is asked.
    var question: (@Sendable (_ named: String) -> String)?
    /// Whether it is asked of this one; nil where it is of every one.
    var asks: (@Sendable (UUID, isolated Connection) throws -> Bool)?
    /// What comes of it where that is known before anything is asked or done: a refusal; nil where nothing stands in its
    /// way, or nothing could.
    var refuses: (@Sendable (UUID, isolated Connection) throws -> Outcome?)?
    /// What holds it all the same once it is done, with the commands that end that; nil where nothing could.
    var brakes: (@Sendable (UUID, ActNames, isolated Connection) throws -> [String])?
    /// What programs are told besides the outcome; nil where that says all.
    var facts: (@Sendable (UUID, Outcome) -> [Sheet.Fact])?
    /// Does it, and records it in the same transaction; where it has a look, without what that names unless `writes`.
    let perform: @Sendable (Operator, _ writes: Bool, UUID, isolated Connection) async throws -> Outcome

    /// What of an act may have triggers of an app reach outside of the database.
    struct Look: Sendable {
        /// What the act writes.
        let writes: Set<AccountWrite>
        /// Whether it does of this one; nil where it does of every one.
        var applies: (@Sendable (UUID, isolated Connection) throws -> Bool)?
    }
}
