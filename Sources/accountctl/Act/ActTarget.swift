import AccountLifecycle
import ArgumentParser
import Postgres

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The target of an act, named by a term on the command line.
protocol ActTarget: ParsableArguments, Sendable {
    /// The outcomes that an act on this kind of target can have.
    associatedtype Outcome: Sendable

    /// Resolves the term to exactly one target, or throws.
    func find(as actor: Operator, in context: CommandContext, on connection: isolated Connection) throws -> UUID

    /// The account that the target belongs to; nil if it is no longer known.
    func account(of id: UUID, on connection: isolated Connection) throws -> UUID?

    /// Reports the outcome of an act to the operator.
    ///
    /// - Throws: ``CommandError`` unless the act was performed or had nothing to change; a refusal has the status
    ///   ``ExitStatus/blocked``.
    func tell(_ outcome: Outcome, of id: UUID, _ words: ActWords, in context: CommandContext) throws -> ActOutcome

    /// The name and label of the target's id in the output.
    static var idField: (name: String, label: String) { get }
}
