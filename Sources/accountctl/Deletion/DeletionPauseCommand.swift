import AccountLifecycle
import ArgumentParser
import Postgres
import Terminal

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Stops deletions before their next irreversible step.
struct DeletionPauseCommand: AccountctlCommand {
    static let configuration = CommandConfiguration(
        commandName: "pause",
        abstract: "Stop one deletion, or all of them, before the next irreversible step.",
        discussion: """
            --all takes effect at once. Row deletes that are in progress cannot be interrupted: the command waits for
            them for ten seconds, and names those that continue. A call to Apple or Storage that has begun continues as
            well. If you pause all deletions again without a reason, who paused them and why stays; a new reason
            replaces both.

            --all needs no hash key: it works without keys.hash_file, and with a wrong one. If the key there is new
            beside others, which workers and other commands refuse, it is registered. If that is impossible, a warning
            and the exit code say so.

            EXIT CODES
              0 paused, now or before; 3 no such request; 6 refused: it has ended (refusal has the state), or one of its
              steps is running (under_way or busy): try again; 7 all deletions are paused, but the hash key was not
              registered

            EXAMPLES
              accountctl deletion pause --all --reason "looking into a complaint"
              accountctl deletion pause 8D3C2A1E-5B7F-4C9D-8E21-0A9B8C7D6E5F
            """
    )

    static let otherWords = ["stop", "halt"]

    static let outputFields = RequestTarget.outputFields

    @OptionGroup
    var target: BrakeTarget

    @OptionGroup
    var acting: ActingOptions

    @OptionGroup
    var consent: WriteOptions

    @OptionGroup
    var global: GlobalOptions

    func run(in context: CommandContext) async throws -> ExitStatus {
        let reason = acting.reason
        if let request = target.one {
            let act = Act(
                plan: "would be paused",
                done: "paused",
                next: { names, _ in "resume with: accountctl deletion resume \(names.id)" },
                facts: RequestTarget.facts,
                perform: { actor, _, request, connection in
                    try await DeletionDesk(actor).pause(request, reason: reason, on: connection)
                }
            )
            return try await context.carryOut(act, on: request, acting, consent)
        }
        return try await pauseAll(in: context)
    }

    /// Pauses every deletion first, and deals with problems of the hash key only afterwards.
    private func pauseAll(in context: CommandContext) async throws -> ExitStatus {
        let signature = try context.signature(acting)
        if consent.dryRun {
            let (wasPaused, isChanged) = try await context.withConnection { connection in
                try await connection.transaction(rehearsed: true) { connection in
                    let wasPaused = try StandingBrakes.read(on: connection).everything != nil
                    return (wasPaused, try await DeletionDesk.pauseAll(by: signature, on: connection).isChanged)
                }
            }
            try context.output.show(BrakeTarget.sheet(isChanged ? .wouldBeDone : .unchanged))
            let replaced = isChanged ? "would replace operator and reason" : "every deletion is paused already"
            context.messages.note(wasPaused ? replaced : "would pause every deletion")
            return try await context.registerHashKey(isRehearsed: true)
        }
        let (isChanged, underWay) = try await context.withConnection { connection in
            try await DeletionDesk.pauseAll(by: signature, on: connection)
        }
        try context.output.show(BrakeTarget.sheet(isChanged ? .done : .unchanged))
        context.messages.note("every deletion is paused; resume with: accountctl deletion resume --all")
        for one in underWay {
            let request = one.request.text
            context.messages.warning(
                "\(one.step.rawValue) of \(request) was in progress and runs to its end; no further step follows"
            )
        }
        return try await context.registerHashKey(isRehearsed: false)
    }
}
