import AccountLifecycle
import ArgumentParser
import HTTPCalls
import ObjectStorage
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
            The app uploads each new avatar under a new name and leaves the old one. Deleted are objects of the bucket avatars that are
            an account's (by owner, or by a folder of that id where there is no owner), older than --older-than, and named by no account:
            in no column of text or JSON of public.profiles, avatar_url or the app's own, and not in auth.users.raw_user_meta_data. What
            other tables name is not known: an app that names pictures there must not sweep. Objects of nobody stay, and those of
            accounts under a legal hold or with an open deletion.

            Without --confirm it only shows what would go. The number to confirm is that of the objects; no more than these are deleted.

            EXIT CODES
              0 shown, or deleted; 1 some object stayed; 2 the number is another now, or a setting of Storage is wrong; 4 Storage
              refuses the key; 6 no profiles tell what is in use, every deletion is paused, or this database is a clone; 75 Storage
              is away

            EXAMPLES
              accountctl avatars sweep
              accountctl avatars sweep --older-than 90d --json
              accountctl avatars sweep --confirm=1200 --reason "yearly clean-up"
            """
    )

    static let outputFields = ["objects", "bytes", "accounts", "deleted", "stayed", "confirm", "examples"]

    @Option(name: .long, help: ArgumentHelp("How old they are at least, such as 30d.", valueName: "duration"))
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
                "--older-than must lie between 1h and 36500d: an upload is named by its account a little later"
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
                            try Self.pause(on: connection)
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
                    let storage = StorageGateway(try parts.storageClient())
                    return try await delete(survey, by: sweep, storage, as: actor, pool, context)
                } catch let failure as AvatarSweep.Failure {
                    throw Self.told(failure)
                }
            }
        }
    }

    /// How old what profiles name may be when it decides about an object of somebody else.
    private static let longestTrusted = Duration.seconds(600)

    private func delete(
        _ survey: AvatarSweep.Survey,
        by sweep: AvatarSweep,
        _ storage: StorageGateway,
        as actor: Operator,
        _ pool: Pool,
        _ context: CommandContext
    ) async throws -> ExitStatus {
        let progress = context.progress("Deleting", total: survey.objects)
        var swept = Swept()
        do {
            try await delete(&swept, of: survey, by: sweep, storage, as: actor, pool, progress)
        } catch {
            progress.finish(swept.done)
            // Files are gone by now, and more of the last part may be than are counted.
            if swept.isBegun {
                // Why it stopped is worth more than that nobody reads this.
                try? context.output.show(sheet(survey, swept))
                context.messages.warning(
                    "stopped half-way: the last ones may be deleted without being counted; what is left: accountctl avatars sweep"
                )
            }
            throw error
        }
        progress.finish(swept.done)
        try context.output.show(sheet(survey, swept))
        if swept.stayed > 0 {
            throw CommandError(
                .failure,
                "Storage left \(Wording.count(swept.stayed, "object")) in place",
                hint: "The same command tries again."
            )
        }
        return .ok
    }

    /// How far a sweep has come.
    private struct Swept {
        /// Whether Storage was asked to delete some.
        var isBegun = false
        /// Of how many objects it is known what became of them.
        var done = 0
        /// How many of them are gone.
        var deleted = 0
        /// How many of them Storage left in place.
        var stayed = 0
    }

    private func delete(
        _ swept: inout Swept,
        of survey: AvatarSweep.Survey,
        by sweep: AvatarSweep,
        _ storage: StorageGateway,
        as actor: Operator,
        _ pool: Pool,
        _ progress: ProgressReporter
    ) async throws {
        let reason = acting.reason
        var last: String?
        // Somebody may have thought about the question for long, and a large sweep takes its time.
        var (names, readAt) = (try await pool.withConnection { try sweep.names(on: $0) }, ContinuousClock.now)
        while swept.done < survey.objects {
            if .now - readAt > Self.longestTrusted {
                (names, readAt) = (try await pool.withConnection { try sweep.names(on: $0) }, .now)
            }
            let limit = min(StorageClient.largestBatch, survey.objects - swept.done)
            let batch = try await pool.withConnection { [last, names] connection in
                try Self.refuse(on: connection)
                return try sweep.next(after: last, limit: limit, except: names, on: connection)
            }
            if batch.leftovers.isEmpty { return }
            swept.isBegun = true
            let record = { @Sendable (files: [AvatarSweep.Leftover], connection: isolated Connection) in
                let facts = ["objects": Int64(files.count), "bytes": files.reduce(0) { $0 + $1.bytes }]
                try actor.log("avatars.sweep", on: nil, reason: reason, facts: facts, connection)
            }
            let (asked, stayed) = try await sweep.delete(
                batch.leftovers,
                by: storage,
                pool: pool,
                check: { try Self.refuse(on: $0) },
                record: record
            )
            swept.deleted += asked - stayed
            swept.stayed += stayed
            swept.done += batch.leftovers.count
            last = batch.cursor
            progress.update(swept.done)
        }
    }

    /// What forbids to delete a file while deletions are paused; nil while they are not.
    private static func pause(on connection: isolated Connection) throws -> String? {
        try StandingBrakes.read(on: connection).everything.map { "no file is deleted either: " + $0.words }
    }

    /// Refuses to delete while deletions are paused, by whoever begins that meanwhile.
    private static func refuse(on connection: isolated Connection) throws {
        if let pause = try pause(on: connection) { throw CommandError(.blocked, pause) }
    }

    private func sheet(_ survey: AvatarSweep.Survey, _ swept: Swept? = nil) -> Sheet {
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
                        TableColumn("Account"), TableColumn("Object"), TableColumn("Size", alignment: .right),
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
