import AccountLifecycle
import ArgumentParser
import Postgres
import Terminal

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// A command that does one thing to one account, or to one deletion request.
///
/// Such commands differ in what they do and agree in how: find what the term names, ask, act, tell; a dry run undoes the act. The way is
/// ``CommandContext/carryOut(_:on:_:_:)``; a command names its target, its kind of consent and its act.
protocol ActCommand: AccountctlCommand {
    associatedtype Target: ActTarget
    associatedtype Consent: ConsentOptions

    /// What is acted on.
    var target: Target { get }
    /// Who acts, and why.
    var acting: ActingOptions { get }
    /// Whether it is only shown, and how the question is answered beforehand.
    var consent: Consent { get }

    /// What is done.
    ///
    /// - Throws: ``CommandError`` when the command line lacks something, before anything is looked up.
    func act(in context: CommandContext) throws -> Act<Target.Outcome>
}

extension ActCommand {
    static var outputFields: [String] { [Target.idField.name, ActOutcome.field] }

    func run(in context: CommandContext) async throws -> ExitStatus {
        try await context.carryOut(try act(in: context), on: target, acting, consent)
    }
}

/// What came of an act, in the same words everywhere; they are part of the interface.
enum ActOutcome: String, Sendable, CaseIterable {
    /// Done, and logged.
    case done
    /// It was so already.
    case unchanged
    /// Something forbids it; nothing was done, and the exit code says so, too.
    case refused
    /// A dry run: it would be done.
    case wouldBeDone = "would_be_done"

    /// What it is called in the output.
    static let field = "outcome"

    /// It as a fact of what a command shows.
    var fact: Sheet.Fact { .init(Self.field, "Outcome", .text(rawValue)) }
}

/// What an operator has done to an account or a request.
struct Act<Outcome: Sendable>: Sendable {
    /// What a dry run says: "would be paused".
    let plan: String
    /// What is said when it was done: "paused".
    let done: String
    /// How a dry run is answered where a trigger of an app may reach outside of the database; nil where none is fired.
    var look: Look?
    /// What is said next: the command that undoes it or goes on, given what was acted on; nil where there is none.
    var next: (@Sendable (_ names: ActNames) -> String?)?
    /// What is asked before, given the id; nil where nothing is asked.
    var question: (@Sendable (_ id: String) -> String)?
    /// Whether it is asked of this one; nil where it is of every one.
    var asks: (@Sendable (UUID, isolated Connection) throws -> Bool)?
    /// What holds it all the same once it is done, with the commands that end that; nil where nothing could.
    var brakes: (@Sendable (UUID, ActNames, isolated Connection) throws -> [String])?
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

/// The ids of what was acted on, as commands take them.
struct ActNames: Sendable {
    /// Its own.
    let id: String
    /// That of its account; nil where nobody knows it any more.
    let account: String?
}

/// What is said of an act that went well.
struct ActWords {
    /// What would be done.
    let plan: String
    /// What was done.
    let done: String
    /// The command that undoes it or goes on.
    let next: String?
    /// What holds it all the same, with the commands that end that.
    let brakes: [String]
    /// Whether it was undone again, for a dry run.
    let isRehearsed: Bool

    /// Warns of each brake that still holds it.
    func tellBrakes(in context: CommandContext) {
        for brake in brakes { context.messages.warning(brake) }
    }
}

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

extension CommandContext {
    /// Finds, shows or asks, acts and tells, in this order.
    ///
    /// The act has a connection of its own: none is held while somebody thinks about a question.
    func carryOut<Target: ActTarget>(
        _ act: Act<Target.Outcome>,
        on target: Target,
        _ acting: ActingOptions,
        _ consent: some ConsentOptions
    ) async throws -> ExitStatus {
        let actor = try self.actor(acting)
        let (id, account, asks) = try await withConnection { connection in
            let id = try target.find(as: actor, in: self, on: connection)
            return (id, try target.account(of: id, on: connection), try act.asks?(id, connection) ?? true)
        }
        let text = id.uuidString.lowercased()
        let isRehearsed = consent.dryRun
        if !isRehearsed, asks, let question = act.question { try consent.ask(question(text), id: text, in: self) }
        let names = ActNames(id: text, account: account?.uuidString.lowercased())
        // A dry run does it, and undoes it: what it says is what would come of it.
        let (outcome, brakes, unasked) = try await withConnection { connection in
            try await connection.transaction(rehearsed: isRehearsed) { connection in
                let look =
                    isRehearsed ? try act.look.flatMap { try $0.applies?(id, connection) ?? true ? $0 : nil } : nil
                let unasked = try look.map { try AccountWrite.triggersOutside(of: $0.writes, on: connection) } ?? []
                let outcome = try await act.perform(actor, unasked.isEmpty, id, connection)
                return (outcome, try act.brakes?(id, names, connection) ?? [], unasked)
            }
        }
        let words = ActWords(
            plan: act.plan,
            done: act.done,
            next: act.next?(names),
            brakes: brakes,
            isRehearsed: isRehearsed
        )
        func show(_ outcome: ActOutcome) throws {
            let name = Sheet.Fact(Target.idField.name, Target.idField.label, .text(text))
            try output.show(Sheet([.init(.facts([name, outcome.fact]))]))
        }
        do {
            let told = try target.tell(outcome, of: id, words, in: self)
            if told == .wouldBeDone, !unasked.isEmpty {
                let triggers = unasked.map { "\($0.name) of \($0.table)" }
                messages.warning(
                    "not asked whether they let it pass: \(Wording.list(triggers)); what they may do outside of the database no "
                        + "rollback takes back"
                )
            }
            try show(told)
        } catch let error as CommandError where error.status == .blocked {
            try show(.refused)
            throw error
        }
        return .ok
    }
}
