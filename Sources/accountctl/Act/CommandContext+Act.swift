import AccountLifecycle
import Postgres
import Terminal

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

extension CommandContext {
    /// Resolves the target, asks for confirmation, performs the act and reports its outcome, in this order.
    ///
    /// The lookup and the act use separate connections, so that none is held while the operator considers the question.
    func carryOut<Target: ActTarget>(
        _ act: Act<Target.Outcome>,
        on target: Target,
        _ acting: ActingOptions,
        _ consent: some ConsentOptions
    ) async throws -> ExitStatus {
        let actor = try self.actor(acting)
        let (id, account, refusal, question) = try await withConnection {
            connection -> (UUID, UUID?, Target.Outcome?, String?) in
            let id = try target.find(as: actor, in: self, on: connection)
            let account = try target.account(of: id, on: connection)
            if let refusal = try act.refuses?(id, connection) {
                return (id, account, refusal, nil)
            }
            guard let question = act.question, try act.asks?(id, connection) ?? true else {
                return (id, account, nil, nil)
            }
            return (id, account, nil, question(try AccountLabel.named(id, account: account, on: connection)))
        }
        let text = id.text
        let isRehearsed = consent.dryRun
        if let question {
            if !isRehearsed { try consent.ask(question, id: text, in: self) }
            // If only some targets need confirmation, a dry run says that this one does.
            if isRehearsed, act.asks != nil { messages.note("would ask: \(question)") }
        }
        let names = ActNames(id: text, account: account?.text)
        let result: ActResult<Target.Outcome> =
            if let refusal {
                ActResult(outcome: refusal)
            } else {
                try await perform(act, as: actor, on: id, names, isRehearsed: isRehearsed)
            }
        let words = ActWords(
            plan: act.plan,
            done: act.done,
            next: act.next?(names, result.outcome),
            brakes: result.brakes,
            isRehearsed: isRehearsed
        )
        func show(_ told: ActOutcome) throws {
            let name = Sheet.Fact(Target.idField.name, Target.idField.label, .text(text))
            let more = output.format.isForPrograms ? act.facts?(id, result.outcome) ?? [] : []
            try output.show(Sheet(facts: [name, told.fact] + more))
        }
        do {
            let told = try target.tell(result.outcome, of: id, words, in: self)
            if told == .wouldBeDone { tell(ofUnasked: result.unasked) }
            try show(told)
        } catch let error as CommandError where error.status == .blocked {
            try show(.refused)
            throw error
        }
        return .ok
    }

    /// Performs the act in a transaction; a dry run rolls it back and reports what it would have done.
    private func perform<Outcome: Sendable>(
        _ act: Act<Outcome>,
        as actor: Operator,
        on id: UUID,
        _ names: ActNames,
        isRehearsed: Bool
    ) async throws -> ActResult<Outcome> {
        try await withConnection { connection in
            try await connection.transaction(rehearsed: isRehearsed) { connection in
                let look =
                    isRehearsed ? try act.look.flatMap { try $0.applies?(id, connection) ?? true ? $0 : nil } : nil
                let unasked = try look.map { try AccountWrite.triggersOutside(of: $0.writes, on: connection) } ?? []
                let outcome = try await act.perform(actor, unasked.isEmpty, id, connection)
                let brakes = try act.brakes?(id, names, connection) ?? []
                return ActResult(outcome: outcome, brakes: brakes, unasked: unasked)
            }
        }
    }

    /// Warns of the triggers that a dry run did not fire.
    func tell(ofUnasked triggers: [DeletionCatalog.Trigger]) {
        if triggers.isEmpty { return }
        let names = triggers.map { "\($0.name) of \($0.table)" }
        messages.warning(
            "not tried, so they may still refuse: \(Wording.list(names)); a rollback could not undo their effects "
                + "outside the database"
        )
    }
}

/// The outcome of an act, with what still holds its target back.
private struct ActResult<Outcome: Sendable>: Sendable {
    let outcome: Outcome
    /// What still holds the target back, each with the command that ends it.
    var brakes: [String] = []
    /// The triggers that a dry run did not fire.
    var unasked: [DeletionCatalog.Trigger] = []
}
