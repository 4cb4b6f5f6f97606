import AccountLifecycle
import ArgumentParser
import Postgres
import Terminal

/// Accepts that a column keeps identifiers.
struct DeletionAcceptCommand: AccountctlCommand {
    static let configuration = CommandConfiguration(
        commandName: "accept",
        abstract: "Accept that a column may keep identifiers of erased accounts.",
        discussion: """
            Use this for data that the law requires you to keep. It applies to every deletion from now on, and each
            receipt names the column. Accepting a column of a partitioned table covers all its partitions. deletion show
            names the columns that a request reports, and those that are accepted. The column has to be typed, or given
            with --confirm.

            --withdraw reverses it, with a --reason as well. Finished erasures stay as they are; all other deletions
            report the column again.

            EXIT CODES
              0 accepted or withdrawn; 2 declined; 3 there is no such column, or it was not accepted

            EXAMPLES
              accountctl deletion accept public.invoices.buyer --reason "kept ten years, HGB 257"
            """
    )

    static let outputFields = ["column", ActOutcome.field, "requests"]

    @Argument(help: "The column, as deletion show names it: schema.table.column.")
    var column: String

    @Flag(name: .long, help: "No longer accept the column.")
    var withdraw = false

    @OptionGroup
    var acting: ActingOptions

    @OptionGroup
    var consent: ConfirmOptions

    @OptionGroup
    var global: GlobalOptions

    func validate() throws {
        if acting.reason?.isEmpty ?? true {
            let use = withdraw ? "it is kept in the operators' log" : "receipts will name the column"
            throw ValidationError("--reason is needed: \(use)")
        }
        if column.split(separator: ".").count < 3 { throw ValidationError("a column is named schema.table.column") }
    }

    func run(in context: CommandContext) async throws -> ExitStatus {
        let actor = try context.actor(acting)
        let (name, reason) = (column, acting.reason ?? "")
        let (accepted, reported, names, exists) = try await context.withConnection { connection in
            (
                try AcceptedColumn.all(on: connection),
                try AcceptedColumn.reported(on: connection),
                try AcceptedColumn.namesInSearches(of: name, on: connection),
                try AcceptedColumn.exists(name, on: connection)
            )
        }
        if !accepted.contains(where: { $0.name == column }) {
            guard !withdraw else { throw Self.notAccepted(column, accepted) }
            if names.isDisjoint(with: reported) {
                guard exists else { throw Self.absent(column, reported) }
                // A pause or a hold replaces a request's findings; they are searched for again afterwards.
                context.messages.warning("no open request reports \(SafeText.quoted(column)) now")
            }
        }
        if !withdraw, accepted.contains(where: { $0.name == column && $0.reason == reason }) {
            return try showUnchanged(in: context)
        }
        if consent.dryRun {
            context.messages.note(withdraw ? "would withdraw \(column)" : "would accept \(column)")
            try show(.wouldBeDone, nil, in: context)
            return .ok
        }
        let question =
            withdraw
            ? "Report identifiers in \(column) again?" : "Let \(column) keep identifiers of erased accounts?"
        try consent.ask(question, id: column, in: context)
        let desk = DeletionDesk(actor)
        if withdraw { return try await takeBack(name, reason, by: desk, in: context) }
        return try await accept(name, reason, by: desk, in: context)
    }

    private func takeBack(
        _ name: String,
        _ reason: String,
        by desk: DeletionDesk,
        in context: CommandContext
    ) async throws -> ExitStatus {
        let isWithdrawn = try await context.withConnection {
            try await desk.withdraw(name, reason: reason, on: $0)
        }
        context.messages.note(
            isWithdrawn ? "withdrawn; receipts that name it stay as they are" : "somebody has just withdrawn it"
        )
        try show(isWithdrawn ? .done : .unchanged, nil, in: context)
        return .ok
    }

    private func accept(
        _ name: String,
        _ reason: String,
        by desk: DeletionDesk,
        in context: CommandContext
    ) async throws -> ExitStatus {
        let waiting = try await context.withConnection {
            try await desk.accept(name, reason: reason, on: $0)
        }
        guard let waiting else { return try showUnchanged(in: context) }
        context.messages.note("accepted; \(Wording.count(waiting, "request")) will be checked again")
        context.messages.note("undo with: accountctl deletion accept \(name) --withdraw --reason WHY")
        try show(.done, waiting, in: context)
        return .ok
    }

    private func showUnchanged(in context: CommandContext) throws -> ExitStatus {
        context.messages.note("Nothing to do.")
        try show(.unchanged, nil, in: context)
        return .ok
    }

    private func show(_ outcome: ActOutcome, _ requests: Int?, in context: CommandContext) throws {
        try context.output.show(
            Sheet(facts: [
                .init("column", "Column", .text(column)), outcome.fact,
                .init("requests", "Checked again", .integer(requests)),
            ])
        )
    }

    private static func notAccepted(_ column: String, _ accepted: [AcceptedColumn]) -> CommandError {
        unknown(
            column,
            why: "was not accepted",
            heading: "Accepted: ",
            known: accepted.map(\.name),
            none: "Nothing was accepted."
        )
    }

    private static func absent(_ column: String, _ reported: [String]) -> CommandError {
        unknown(
            column,
            why: "is not in this database",
            heading: "Reported: ",
            known: reported,
            none: "No open request reports one."
        )
    }

    private static func unknown(
        _ column: String,
        why: String,
        heading: String,
        known: [String],
        none: String
    ) -> CommandError {
        let near = NearestName.of(column, among: known).map { " Did you mean \($0)?" } ?? ""
        return CommandError(
            .notFound,
            "the column \(SafeText.quoted(column)) \(why)",
            hint: known.isEmpty ? none : heading + Wording.list(known) + "." + near
        )
    }
}
