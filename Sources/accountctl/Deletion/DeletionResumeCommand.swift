import AccountLifecycle
import ArgumentParser
import Postgres
import Terminal

/// Resumes paused deletions.
struct DeletionResumeCommand: AccountctlCommand {
    static let configuration = CommandConfiguration(
        commandName: "resume",
        abstract: "Let one paused deletion, or all of them, continue.",
        discussion: """
            resume --all does not resume requests that are paused individually: deletion list --paused lists them. What
            continues is erased next, irreversibly. So the word all, or the id of a request whose grace period is over,
            has to be typed, or given with --confirm.

            EXIT CODES
              0 it continues, or was not paused; 2 declined; 3 no such request; 6 refused: it has ended (refusal has the
              state), one of its steps is running (under_way or busy): try again, or somebody has paused it, or all of
              them, again since the question (paused_again)

            EXAMPLES
              accountctl deletion resume --all
              accountctl deletion resume 8D3C2A1E-5B7F-4C9D-8E21-0A9B8C7D6E5F
            """
    )

    static let otherWords = ["unpause", "continue"]

    static let outputFields = RequestTarget.outputFields

    @OptionGroup
    var target: BrakeTarget

    @OptionGroup
    var acting: ActingOptions

    @OptionGroup
    var consent: ConfirmOptions

    @OptionGroup
    var global: GlobalOptions

    func run(in context: CommandContext) async throws -> ExitStatus {
        let reason = acting.reason
        if let request = target.one {
            let found = Found<StandingBrakes.Pause?>(nil)
            let act = Act<DeletionDesk.Act>(
                plan: "would continue",
                done: "continues",
                question: { "Resume the deletion \($0), which erases its account for good?" },
                asks: { request, connection in
                    found.set(try StandingBrakes.read(of: request, on: connection).own)
                    return try DeletionDesk.isDue(request, on: connection)
                },
                brakes: RequestTarget.brakes,
                facts: RequestTarget.facts,
                perform: { actor, _, request, connection in
                    // Somebody may have paused it again, or for another reason, while the question waited.
                    try await DeletionDesk(actor)
                        .resume(request, reason: reason, unless: { $0 != found.value }, on: connection)
                }
            )
            return try await context.carryOut(act, on: request, acting, consent)
        }
        let actor = try context.actor(acting)
        let (everything, open) = try await context.withConnection { connection in
            (try StandingBrakes.read(on: connection).everything, try DeletionDesk.openRequests(on: connection))
        }
        guard let paused = everything else { return try await wake(in: context) }
        if consent.dryRun {
            let (brakes, alone) = try await context.withConnection { connection in
                (try StandingBrakes.read(on: connection).released, try DeletionDesk.pausedAlone(on: connection))
            }
            context.messages.note("would resume every deletion")
            try context.output.show(BrakeTarget.sheet(.wouldBeDone))
            tell(brakes, paused: alone, in: context)
            return .ok
        }
        let pause = (paused.by.map { "; paused by \($0)" } ?? "") + (paused.reason.map { ": \($0)" } ?? "")
        try context.confirmIrreversible(
            "Resume every deletion, which erases accounts for good (\(Wording.count(open, "open request"))\(pause))?",
            id: "all",
            consent
        )
        let rest = try await context.withConnection { connection -> (StandingBrakes, Int)? in
            let isResumed = try await DeletionDesk(actor).resumeAll(paused, reason: reason, on: connection)
            guard isResumed else { return nil }
            return (try StandingBrakes.read(on: connection), try DeletionDesk.pausedAlone(on: connection))
        }
        guard let (brakes, alone) = rest else {
            try context.output.show(BrakeTarget.sheet(.refused, DeletionRefusal.pausedAgain.word))
            throw CommandError(
                .blocked,
                "somebody has paused every deletion again since the question: nothing is resumed",
                hint: "Who and why: accountctl doctor --database-only"
            )
        }
        context.messages.note("deletions are resumed")
        try context.output.show(BrakeTarget.sheet(.done))
        tell(brakes, paused: alone, in: context)
        return .ok
    }

    /// Wakes the requests that an interrupted resume left asleep although nothing is paused; they would wake by
    /// themselves later, so no confirmation is needed.
    private func wake(in context: CommandContext) async throws -> ExitStatus {
        let isRehearsed = consent.dryRun
        let (brakes, alone) = try await context.withConnection { connection in
            if !isRehearsed { try await DeletionDesk.wakePaused(on: connection) }
            return (try StandingBrakes.read(on: connection), try DeletionDesk.pausedAlone(on: connection))
        }
        context.messages.note("deletions are not paused")
        try context.output.show(BrakeTarget.sheet(.unchanged))
        tell(brakes, paused: alone, in: context)
        return .ok
    }

    /// Warns of what is still stopped after the resume.
    private func tell(_ brakes: StandingBrakes, paused: Int, in context: CommandContext) {
        for brake in brakes.words(of: nil) { context.messages.warning(brake) }
        if paused > 0 {
            let stay = Wording.count(
                paused,
                "request is paused individually and stays",
                "requests are paused individually and stay"
            )
            context.messages.note("\(stay) paused; see: accountctl deletion list --paused")
        }
    }
}
