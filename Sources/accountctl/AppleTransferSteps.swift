import AccountLifecycle
import ArgumentParser
import Postgres
import SignInWithApple
import Terminal

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Which transfer.
struct TransferOptions: ParsableArguments {
    @Argument(help: "The client id that changes teams.")
    var clientID: String

    @Option(name: .long, help: ArgumentHelp("The team id of the recipient.", valueName: "team"))
    var team: String

    mutating func validate() throws {
        guard team.utf8.count == 10, team.allSatisfy({ $0.isASCII && ($0.isLetter || $0.isNumber) }) else {
            throw ValidationError("--team must be the recipient's team id, ten letters and digits")
        }
    }

    var transfer: TeamTransfer { TeamTransfer(clientID: clientID, targetTeam: team) }

    /// What the operators' log keeps of a step.
    func facts(accounts: Int) -> [String: String] {
        ["client_id": clientID, "team": team, "accounts": "\(accounts)"]
    }
}

/// How fast Apple is asked, and about whom.
struct TransferRateOptions: ParsableArguments {
    @Option(name: .long, help: ArgumentHelp("At most so many calls a second.", valueName: "calls"))
    var rate = 10.0

    @Flag(name: .long, help: "Ask again about users whom Apple refused in an earlier run.")
    var retryRefused = false

    mutating func validate() throws {
        if !(0.1...200).contains(rate) { throw ValidationError("--rate must be from 0.1 to 200") }
    }
}

/// Shows how far a transfer is, which is also the plan before it begins.
struct AppleTransferStatusCommand: AccountctlCommand {
    static let configuration = CommandConfiguration(
        commandName: "status",
        abstract: "Show how many users there are to move, and how far each is.",
        discussion: """
            EXAMPLES
              accountctl apple transfer status com.example.app --team ABCDE12345
            """,
        aliases: ["plan"]
    )

    static let jsonFields = ["waiting", "generated", "exchanged", "applied", "refused", "conflict"]

    @OptionGroup
    var options: TransferOptions

    @OptionGroup
    var global: GlobalOptions

    func run(in context: CommandContext) async throws -> ExitStatus {
        let transfer = options.transfer
        let status = try await context.withDatabase { pool in
            try await TransferBooks(pool: pool, transfer: transfer).status()
        }
        try context.output.show(
            Sheet([
                .init(
                    .facts([
                        .init("waiting", "Without a transfer identifier", .integer(status.waiting)),
                        .init("generated", "With one", .integer(status.generated)),
                        .init("exchanged", "Known to the recipient", .integer(status.exchanged)),
                        .init("applied", "Moved", .integer(status.applied), .good),
                        .init("refused", "Cannot be moved (revoked before)", .integer(status.refused)),
                        .init(
                            "conflict",
                            "Have a second account by now",
                            .integer(status.conflict),
                            status.conflict > 0 ? .bad : .none
                        ),
                    ])
                )
            ])
        )
        return .ok
    }
}

/// Gets the transfer identifiers.
struct AppleTransferGenerateCommand: AccountctlCommand {
    static let configuration = CommandConfiguration(
        commandName: "generate",
        abstract: "As the sending team, get a transfer identifier for every user.",
        discussion: """
            Many users refused in a row are a fault of the request, not theirs: the run stops and records nothing about them.

            EXIT CODES
              0 every user has one or cannot be moved; 75 stopped before the end, start it again

            EXAMPLES
              accountctl apple transfer generate com.example.app --team ABCDE12345
              accountctl apple transfer generate com.example.app --team ABCDE12345 --retry-refused
            """
    )

    @OptionGroup
    var options: TransferOptions

    @OptionGroup
    var rate: TransferRateOptions

    @OptionGroup
    var acting: ActingOptions

    @OptionGroup
    var write: WriteOptions

    @OptionGroup
    var global: GlobalOptions

    func run(in context: CommandContext) async throws -> ExitStatus {
        try await context.runTransfer(
            "generate",
            options,
            rate,
            acting,
            write,
            "Transfer identifiers",
            due: { $0.waiting }
        ) {
            runs,
            progress in
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
            Many users refused in a row are a fault of the request, not theirs: the run stops and records nothing about them.

            EXIT CODES
              0 everybody is known or cannot be moved; 75 stopped before the end, start it again

            EXAMPLES
              accountctl apple transfer exchange com.example.app --team ABCDE12345
            """
    )

    @OptionGroup
    var options: TransferOptions

    @OptionGroup
    var rate: TransferRateOptions

    @OptionGroup
    var acting: ActingOptions

    @OptionGroup
    var write: WriteOptions

    @OptionGroup
    var global: GlobalOptions

    func run(in context: CommandContext) async throws -> ExitStatus {
        try await context.runTransfer("exchange", options, rate, acting, write, "New identities", due: { $0.generated })
        { runs, progress in
            try await runs.exchange(progress: progress)
        }
    }
}

/// Writes the file for the recipient.
struct AppleTransferExportCommand: AccountctlCommand {
    static let configuration = CommandConfiguration(
        commandName: "export",
        abstract: "Write the file for the recipient: one JSON object a line with user_id and transfer_sub.",
        discussion: """
            Old subs and relay addresses are not in it: they are not for the recipient.

            EXAMPLES
              accountctl apple transfer export com.example.app --team ABCDE12345 > transfer.ndjson
            """
    )

    @OptionGroup
    var options: TransferOptions

    @OptionGroup
    var global: GlobalOptions

    func run(in context: CommandContext) async throws -> ExitStatus {
        let transfer = options.transfer
        let output = context.output
        try await context.withDatabase { pool in
            try await TransferBooks(pool: pool, transfer: transfer).export { line in
                let text = String(decoding: try JSONEncoder().encode(line), as: UTF8.self)
                try output.document(text + "\n")
            }
        }
        return .ok
    }
}

/// Takes in the file of the sending team.
struct AppleTransferImportCommand: AccountctlCommand {
    static let configuration = CommandConfiguration(
        commandName: "import",
        abstract: "Take in, on standard input, the file that the sending team exported.",
        discussion: """
            EXAMPLES
              accountctl apple transfer import com.example.app --team ABCDE12345 < transfer.ndjson
            """
    )

    @OptionGroup
    var options: TransferOptions

    @OptionGroup
    var acting: ActingOptions

    @OptionGroup
    var write: WriteOptions

    @OptionGroup
    var global: GlobalOptions

    func run(in context: CommandContext) async throws -> ExitStatus {
        let texts = StandardInput.text().split(whereSeparator: \.isNewline)
        let lines = try texts.enumerated().map { index, text in
            guard let line = try? JSONDecoder().decode(TeamTransfer.Line.self, from: Data(text.utf8)) else {
                throw CommandError(.usage, "line \(index + 1) is not an object with user_id and transfer_sub")
            }
            return line
        }
        if write.dryRun {
            context.messages.note("Would take in \(lines.count) lines.")
            return .ok
        }
        let transfer = options.transfer
        let signature = try context.signature(acting)
        let facts = options.facts(accounts: lines.count)
        let taken = try await context.withDatabase { pool in
            try await pool.withConnection { try signature.log("apple.transfer_import", facts: facts, on: $0) }
            return try await TransferBooks(pool: pool, transfer: transfer).importLines(lines)
        }
        context.messages.note("\(taken.new) of \(lines.count) lines are new.")
        if taken.unknown > 0 {
            context.messages.warning("\(taken.unknown) name accounts that this database does not have")
        }
        return .ok
    }
}

/// Gives the accounts their new identities.
struct AppleTransferApplyCommand: AccountctlCommand {
    static let configuration = CommandConfiguration(
        commandName: "apply",
        abstract: "Give every account the sub and relay address of the new team, one transaction each.",
        discussion: """
            From then on the account is found by the new sub, and by the old one no more. An account whose person signed in to
            the new team before, and so has a second account, is left as it is and counted as a conflict.

            EXIT CODES
              0 done; 6 some are conflicts, which people must decide

            EXAMPLES
              accountctl apple transfer apply com.example.app --team ABCDE12345 --dry-run
              accountctl apple transfer apply com.example.app --team ABCDE12345 --confirm com.example.app
            """
    )

    @OptionGroup
    var options: TransferOptions

    @OptionGroup
    var acting: ActingOptions

    @OptionGroup
    var confirm: ConfirmOptions

    @OptionGroup
    var global: GlobalOptions

    func run(in context: CommandContext) async throws -> ExitStatus {
        let transfer = options.transfer
        let signature = try context.signature(acting)
        return try await context.withDatabase { [confirm, options] pool in
            let books = TransferBooks(pool: pool, transfer: transfer)
            let due = try await books.status().exchanged
            if confirm.dryRun {
                context.messages.note("Would change the Apple identity of \(due) accounts.")
                return .ok
            }
            guard due > 0 else {
                context.messages.note("There is nothing to apply.")
                return .ok
            }
            try context.confirmIrreversible(
                "This changes the Apple identity of \(due) accounts.",
                id: options.clientID,
                confirm
            )
            // Before it: it changes account after account, each in a transaction of its own.
            try await pool.withConnection {
                try signature.log("apple.transfer_apply", facts: options.facts(accounts: due), on: $0)
            }
            let progress = context.progress("New identities", total: due)
            let run = try await books.apply { progress.update($0) }
            progress.finish(run.done + run.conflicts)
            context.messages.note("Moved \(run.done).")
            guard run.conflicts > 0 else { return .ok }
            context.messages.warning("\(run.conflicts) have a second account by now and were left as they are")
            return .blocked
        }
    }
}

extension CommandContext {
    /// Runs a step that asks Apple, with progress.
    fileprivate func runTransfer(
        _ name: String,
        _ options: TransferOptions,
        _ rate: TransferRateOptions,
        _ acting: ActingOptions,
        _ write: WriteOptions,
        _ label: String,
        due: @escaping @Sendable (TeamTransfer.Status) -> Int,
        _ step: @escaping @Sendable (TransferRuns, @escaping @Sendable (Int) -> Void) async throws -> TeamTransfer.Run
    ) async throws -> ExitStatus {
        let transfer = options.transfer
        let signature = try signature(acting)
        return try await withApple { clients in
            guard let client = clients[options.clientID] else {
                throw CommandError(.notFound, "\(options.clientID) is not among the configured client ids")
            }
            return try await withDatabase { pool in
                let status = try await TransferBooks(pool: pool, transfer: transfer).status()
                let total = due(status) + (rate.retryRefused ? status.refused : 0)
                if write.dryRun {
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
                let run = try await step(runs) { progress.update($0) }
                progress.finish(run.done + run.refused)
                messages.note("\(run.done) done, \(run.refused) cannot be moved.")
                guard let reason = run.stoppedBy else { return .ok }
                messages.failure("stopped before the end: \(reason)", hint: "Start it again; nothing is asked twice.")
                return .temporary
            }
        }
    }
}
