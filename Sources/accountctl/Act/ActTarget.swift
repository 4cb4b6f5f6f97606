import AccountLifecycle
import ArgumentParser
import Postgres

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// What a term on the command line names.
protocol ActTarget: ParsableArguments, Sendable {
    /// What may come of an act on it.
    associatedtype Outcome: Sendable

    /// Finds it; only ever the one that is meant.
    func find(as actor: Operator, in context: CommandContext, on connection: isolated Connection) throws -> UUID

    /// The account that it belongs to; nil where nobody knows it any more.
    func account(of id: UUID, on connection: isolated Connection) throws -> UUID?

    /// Says what came of an act.
    ///
    /// - Throws: ``CommandError`` for all that is not done and was not so already; a refusal is ``ExitStatus/blocked``.
    func tell(_ outcome: Outcome, of id: UUID, _ words: ActWords, in context: CommandContext) throws -> ActOutcome

    /// How its id is named in the output.
    static var idField: (name: String, label: String) { get }
}
