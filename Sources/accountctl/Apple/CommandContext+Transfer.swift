import AccountLifecycle
import Postgres
import Settings
import SignInWithApple
import Terminal

extension CommandContext {
    /// Refuses a client id that is not configured: every count for it would be zero.
    ///
    /// - Throws: ``CommandError``.
    func requireClientID(_ options: TransferOptions) throws {
        _ = try appleIdentity(of: options.clientID, try settingsForApple().apple)
    }

    /// Reads the progress of a transfer that must have begun, and reports how many users have no transfer identifier
    /// and how many need none.
    ///
    /// - Throws: ``CommandError`` if nothing is known of the transfer: the command would move nobody and still succeed.
    func begun(_ books: TransferBooks, _ options: TransferOptions) async throws -> TeamTransfer.Status {
        let status = try await books.status()
        let without =
            Wording.count(status.waiting, "user has", "users have") + " no transfer identifier for team \(options.team)"
        if status.isUnknown {
            let known = try await books.recipients()
            throw CommandError(
                .notFound,
                "nothing is known of a transfer of \(options.clientID) to team \(options.team): "
                    + (status.waiting > 0 ? without : "nobody here signs in with Apple"),
                hint: known.isEmpty
                    ? "The sending team's transfer generate gets identifiers; transfer import takes them from its file."
                    : "A transfer to \(Wording.list(known)) is known: was that meant by --team?"
            )
        }
        if status.waiting > 0 {
            messages.warning(without + "; whoever came between the transfer and its first exchange is counted, too")
        }
        if status.newcomers > 0 {
            messages.note(
                Wording.count(
                    status.newcomers,
                    "user has come since the transfer, and needs",
                    "users have come since the transfer, and need"
                ) + " no transfer identifier"
            )
        }
        return status
    }

    /// Runs a step that asks Apple, and shows its progress.
    func run(
        _ step: TransferStep,
        _ stepOptions: TransferStepOptions,
        _ rate: TransferRateOptions
    ) async throws -> ExitStatus {
        let options = stepOptions.options
        let transfer = options.transfer
        let isDryRun = stepOptions.write.dryRun
        let setting = try settingsForApple().apple.section(of: options.clientID) + ".team_id"
        let signature = try signature(stepOptions.acting)
        return try await withApple { clients in
            guard let client = clients[options.clientID] else {
                throw CommandError(.notFound, "\(options.clientID) is not among the configured client ids")
            }
            try step.check(client.identity.teamID, of: setting, to: options.team)
            return try await withDatabase { pool in
                let books = TransferBooks(pool: pool, transfer: transfer)
                let status = try await step == .exchange ? begun(books, options) : books.status()
                let total = step.due(status, retryRefused: rate.retryRefused)
                if isDryRun {
                    try output.show(TransferSheet.asking(total, nil))
                    messages.note("Would ask Apple about \(Wording.count(total, "user")).")
                    return .ok
                }
                try await pool.withConnection {
                    try signature.log(
                        "apple.transfer_\(step.rawValue)",
                        facts: options.facts(accounts: total),
                        on: $0
                    )
                }
                let progress = progress(step.label, total: total)
                let runs = TransferRuns(
                    pool: pool,
                    client: client,
                    transfer: transfer,
                    callsPerSecond: rate.rate,
                    retriesRefused: rate.retryRefused
                )
                let run = try await step.run(runs) { progress.update($0) }
                progress.finish(run.done + run.refused)
                try output.show(TransferSheet.asking(total, run))
                guard let reason = run.stoppedBy else { return .ok }
                messages.failure(
                    "stopped before the end: \(reason)",
                    hint: run.doubted > 0
                        ? step.doubtHint(setting, options.team) : "Start it again; what is recorded is not asked again."
                )
                return .temporary
            }
        }
    }
}
