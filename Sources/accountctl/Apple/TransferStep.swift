import AccountLifecycle

/// A step of a team transfer that asks Apple, with the key of one of the two teams.
enum TransferStep: String, Sendable {
    /// The sending team's step.
    case generate
    /// The recipient's step.
    case exchange

    /// The label of its progress.
    var label: String {
        switch self {
        case .generate: "Transfer identifiers"
        case .exchange: "New identities"
        }
    }

    /// The number of users to ask Apple about: without those it refused to this step before, or with them.
    func due(_ status: TeamTransfer.Status, retryRefused: Bool) -> Int {
        switch self {
        // Newcomers are included: Apple knows best who needs an identifier.
        case .generate:
            status.waiting + status.newcomers + (retryRefused ? status.refused - status.refusedToRecipient : 0)
        case .exchange: status.generated + (retryRefused ? status.refusedToRecipient : 0)
        }
    }

    /// Asks Apple about these users.
    func run(_ runs: TransferRuns, progress: @Sendable (Int) -> Void) async throws -> TeamTransfer.Run {
        switch self {
        case .generate: try await runs.generate(progress: progress)
        case .exchange: try await runs.exchange(progress: progress)
        }
    }

    /// Refuses the key of the other team: with it, Apple gives the same answer about everybody as about a user who
    /// revoked.
    ///
    /// - Parameters:
    ///   - own: The team whose key is configured.
    ///   - setting: Where it is configured, such as `apple.team_id`.
    ///   - recipient: The team of `--team`.
    /// - Throws: ``CommandError``.
    func check(_ own: String, of setting: String, to recipient: String) throws {
        switch self {
        case .generate where own == recipient:
            throw CommandError(
                .usage,
                "generate is the sending team's step, but --team \(recipient) is the configured team itself "
                    + "(\(setting))",
                hint: "Name the recipient with --team, or configure the team and key of the sending team."
            )
        case .exchange where own != recipient:
            throw CommandError(
                .usage,
                "exchange is the recipient's step: the recipient is --team \(recipient), but \(setting) is \(own)",
                hint: "Configure the team and key of the recipient, or correct --team."
            )
        case .generate, .exchange: return
        }
    }

    /// The hint if Apple refuses everybody, naming the setting of the key's team and the team of `--team`.
    func doubtHint(_ setting: String, _ recipient: String) -> String {
        let teams =
            switch self {
            case .generate: "Check that \(setting) is the sending team, that the transfer goes to \(recipient)"
            case .exchange: "Check that the transfer to \(recipient) was accepted, that the identifiers belong to it"
            }
        return teams + ", and that its sixty days are not over; then start it again, which begins with other users. "
            + "If all of this is right and the users cannot be moved, --retry-refused records them."
    }
}
