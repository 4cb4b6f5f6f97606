import AccountLifecycle
import ArgumentParser
import Postgres
import SignInWithApple
import Terminal

/// Gets the transfer identifiers.
struct AppleTransferGenerateCommand: AccountctlCommand {
    static let configuration = CommandConfiguration(
        commandName: "generate",
        abstract: "As the sending team, get a transfer identifier for every user.",
        discussion: """
            Many users refused in a row are a fault of the request, unless somebody whom Apple named before is still named: the run
            stops and records nothing about them. Users of other teams' apps, whom Apple refuses, are recorded and skipped; as long as
            nobody was named, each start begins with others.

            EXIT CODES
              0 every user has one or cannot be moved; 75 stopped before the end, start it again

            EXAMPLES
              accountctl apple transfer generate com.example.app --team ABCDE12345
              accountctl apple transfer generate com.example.app --team ABCDE12345 --retry-refused
            """
    )

    @OptionGroup
    var step: TransferStepOptions

    @OptionGroup
    var rate: TransferRateOptions

    @OptionGroup
    var global: GlobalOptions

    func run(in context: CommandContext) async throws -> ExitStatus {
        try await context.run("generate", step, rate, "Transfer identifiers", due: { $0.waiting }) { runs, progress in
            try await runs.generate(progress: progress)
        }
    }
}

/// Asks who the users are now.
struct AppleTransferExchangeCommand: AccountctlCommand {
    static let configuration = CommandConfiguration(
        commandName: "exchange",
        abstract: "As the recipient, ask who every user is in the new team.",
        discussion: """
            Many users refused in a row are a fault of the request, unless somebody whom Apple named before is still named: the run
            stops and records nothing about them.

            EXIT CODES
              0 everybody is known or cannot be moved; 75 stopped before the end, start it again

            EXAMPLES
              accountctl apple transfer exchange com.example.app --team ABCDE12345
            """
    )

    @OptionGroup
    var step: TransferStepOptions

    @OptionGroup
    var rate: TransferRateOptions

    @OptionGroup
    var global: GlobalOptions

    func run(in context: CommandContext) async throws -> ExitStatus {
        try await context.run("exchange", step, rate, "New identities", due: { $0.generated }) { runs, progress in
            try await runs.exchange(progress: progress)
        }
    }
}

extension CommandContext {
    /// Runs a step that asks Apple, with progress.
    fileprivate func run(
        _ name: String,
        _ step: TransferStepOptions,
        _ rate: TransferRateOptions,
        _ label: String,
        due: @escaping @Sendable (TeamTransfer.Status) -> Int,
        _ body: @escaping @Sendable (TransferRuns, @escaping @Sendable (Int) -> Void) async throws -> TeamTransfer.Run
    ) async throws -> ExitStatus {
        let options = step.options
        let transfer = options.transfer
        let isDryRun = step.write.dryRun
        let signature = try signature(step.acting)
        return try await withApple { clients in
            guard let client = clients[options.clientID] else {
                throw CommandError(.notFound, "\(options.clientID) is not among the configured client ids")
            }
            return try await withDatabase { pool in
                let status = try await TransferBooks(pool: pool, transfer: transfer).status()
                let total = due(status) + (rate.retryRefused ? status.refused : 0)
                if isDryRun {
                    messages.note("Would ask Apple about \(total) users.")
                    return .ok
                }
                try await pool.withConnection {
                    try signature.log("apple.transfer_\(name)", facts: options.facts(accounts: total), on: $0)
                }
                let progress = progress(label, total: total)
                let runs = TransferRuns(
                    pool: pool,
                    client: client,
                    transfer: transfer,
                    callsPerSecond: rate.rate,
                    retriesRefused: rate.retryRefused
                )
                let run = try await body(runs) { progress.update($0) }
                progress.finish(run.done + run.refused)
                messages.note("\(run.done) done, \(run.refused) cannot be moved.")
                guard let reason = run.stoppedBy else { return .ok }
                messages.failure("stopped before the end: \(reason)", hint: "Start it again; nothing is asked twice.")
                return .temporary
            }
        }
    }
}
