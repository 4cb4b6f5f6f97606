import AccountLifecycle
import ArgumentParser
import HTTPCalls
import Postgres
import Terminal

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Deletes avatars that were left behind.
struct AvatarsSweepCommand: AccountctlCommand {
    static let configuration = CommandConfiguration(
        commandName: "sweep",
        abstract: "Delete avatars that no account names any more.",
        discussion: """
            An app that uploads each new avatar under a new name leaves the old one behind. This deletes files of the
            bucket avatars that belong to an account (by owner, or, without an owner, by a folder of that id), are older
            than --older-than, and are named by no account: neither in any text or JSON column of public.profiles,
            whether avatar_url or your own, nor in auth.users.raw_user_meta_data. It does not know what other tables
            name: do not sweep if your app names pictures there. Other ownerless files stay, and so do files of accounts
            under a legal hold or with an open deletion request.

            Without --confirm it only shows what it would delete. The number to confirm is the number of files, and no
            more than that are deleted.

            EXIT CODES
              0 shown, or deleted; 1 some files stayed; 2 the number has changed, or a setting of Storage is wrong; 4
              Storage refuses the key; 6 no profiles show what is in use, every deletion is paused, or this database is
              a clone; 75 Storage cannot be reached

            EXAMPLES
              accountctl avatars sweep
              accountctl avatars sweep --older-than 90d --json
              accountctl avatars sweep --confirm=1200 --reason "yearly clean-up"
            """
    )

    static let outputFields = ["objects", "bytes", "accounts", "deleted", "stayed", "confirm", "examples"]

    @Option(name: .long, help: ArgumentHelp("How old files must be at least, such as 30d.", valueName: "duration"))
    var olderThan = "30d"

    @OptionGroup
    var acting: ActingOptions

    @OptionGroup
    var confirmation: ConfirmOptions

    @OptionGroup
    var global: GlobalOptions

    func run(in context: CommandContext) async throws -> ExitStatus {
        let age = try DurationArgument.required(olderThan, "--older-than")
        guard age >= .seconds(3600), age <= .seconds(36500 * 86400) else {
            throw CommandError(
                .usage,
                "--older-than must be between 1h and 36500d: an account names its upload only a little later"
            )
        }
        let actor = try context.actor(acting)
        let settings = try context.settings()
        let logger = context.logger(settings)
        let sweep = AvatarSweep(before: context.now() - age / .seconds(1))
        return try await HTTPCaller.withCaller(logger: logger) { caller in
            try await context.withDatabase { pool in
                do {
                    let (survey, pause) = try await pool.withConnection { connection in
                        try context.refuseClone(settings, on: connection)
                        let names = try sweep.names(on: connection)
                        return (
                            try sweep.survey(examples: 20, except: names, on: connection),
                            try AvatarSweepRun.pause(on: connection)
                        )
                    }
                    guard confirmation.confirm != nil, !confirmation.dryRun, survey.objects > 0 else {
                        try context.output.show(sheet(survey))
                        if let pause { context.messages.warning(pause) }
                        return .ok
                    }
                    if let pause { throw CommandError(.blocked, pause) }
                    try context.confirmIrreversible(
                        "Delete \(Wording.count(survey.objects, "avatar")) for good?",
                        id: "\(survey.objects)",
                        confirmation
                    )
                    let parts = WorkerServices(settings: settings, caller: caller, logger: logger)
                    let run = AvatarSweepRun(
                        sweep: sweep,
                        storage: StorageGateway(try parts.storageClient()),
                        actor: actor,
                        reason: acting.reason,
                        pool: pool
                    )
                    return try await delete(survey, by: run, context)
                } catch let failure as AvatarSweep.Failure {
                    throw Self.told(failure)
                }
            }
        }
    }

    private func delete(
        _ survey: AvatarSweep.Survey,
        by run: AvatarSweepRun,
        _ context: CommandContext
    ) async throws -> ExitStatus {
        let progress = context.progress("Deleting", total: survey.objects)
        var swept = AvatarSweepRun.Swept()
        do {
            try await run.delete(survey.objects, &swept, progress)
        } catch {
            progress.finish(swept.done)
            // By now files are gone, and the last batch may have deleted more than was counted.
            if swept.isBegun {
                // The error that stopped the run matters more than a failed write of this summary.
                try? context.output.show(sheet(survey, swept))
                context.messages.warning(
                    "stopped half-way: some of the last ones may be deleted but not counted; to see what is left: accountctl avatars sweep"
                )
            }
            throw error
        }
        progress.finish(swept.done)
        try context.output.show(sheet(survey, swept))
        if swept.stayed > 0 {
            throw CommandError(
                .failure,
                "Storage left \(Wording.count(swept.stayed, "file")) in place",
                hint: "The same command tries again."
            )
        }
        return .ok
    }

    private func sheet(_ survey: AvatarSweep.Survey, _ swept: AvatarSweepRun.Swept? = nil) -> Sheet {
        Sheet([
            .init(
                .facts([
                    .init("objects", "Left behind", .integer(survey.objects)),
                    .init("bytes", "Size", .bytes(survey.bytes)),
                    .init("accounts", "Of accounts", .integer(survey.accounts)),
                    .init("deleted", "Deleted", .integer(swept?.deleted)),
                    .init("stayed", "Stayed", .integer(swept?.stayed)),
                    .init(
                        "confirm",
                        "To delete them",
                        swept == nil && survey.objects > 0 ? .text("--confirm=\(survey.objects)") : .null
                    ),
                ])
            ),
            .init(
                "examples",
                title: "The oldest",
                .table(
                    [
                        TableColumn("Account"), TableColumn("File"), TableColumn("Size", alignment: .right),
                        TableColumn("Since"),
                    ],
                    rows: swept != nil
                        ? []
                        : survey.examples.map {
                            [
                                .text($0.account), .personal($0.key, .identifier), .bytes($0.bytes),
                                .date($0.changedAt),
                            ]
                        },
                    names: ["account", "object", "bytes", "changed_at"]
                )
            ),
        ])
    }

    private static func told(_ failure: AvatarSweep.Failure) -> CommandError {
        switch failure {
        case .noProfiles:
            CommandError(.blocked, "there is no public.profiles with avatar_url: nothing says which avatars are in use")
        case .hiddenRows(let table):
            CommandError(
                .notAuthorised,
                "row-level security hides rows of \(table) from this role: what it does not see would look unused",
                hint: "Use the role postgres, or another one with BYPASSRLS."
            )
        case .storage(let situation): .storage(situation)
        }
    }
}
