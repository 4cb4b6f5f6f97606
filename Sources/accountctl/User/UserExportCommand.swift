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

/// Exports everything that concerns an account.
struct UserExportCommand: AccountctlCommand {
    static let configuration = CommandConfiguration(
        commandName: "export",
        abstract: "Write everything that concerns an account into one archive (GDPR, right of access).",
        discussion: """
            The archive (tar) contains a JSON array for each table with rows of the account, found by the database's
            foreign keys, the account's files, and manifest.json with counts and SHA-256 sums. Rows of other people are
            left out, even if they reference rows of the account. What names the account without a foreign key is not
            found. Its deletion requests, its legal holds and what operators did are not in the archive either: user
            show lists them. A row that names two accounts, such as one person's report about another, is in the
            archives of both: such rows are counted by table, and somebody has to check whether you may hand them out.
            Secrets such as password hashes and tokens are left out, and the manifest names their columns. Values of a
            type for which somebody made a cast to JSON are written as text: the manifest names these columns, too
            (as_text).

            A file whose key has an empty segment, or the segment . or .., is written without its bytes, since gateways in
            front of Storage would mistake the key for another file's. For every file without bytes, the manifest says
            why.

            While the account is being erased, the archive has what is left, and says so.

            Only the file's owner can read it, and it is written whole or not at all. The operators' log records that it
            was written.

            EXIT CODES
              0 written; 1 a file changed hands while it was read; 2 the file exists already, or a setting of Storage is
              wrong; 3 no such account; 4 some table cannot be read, or Storage refuses the key; 75 Storage cannot be
              reached

            EXAMPLES
              accountctl user export anna@example.com --output anna.tar --reason "access request" --ticket 4711
              accountctl user export anna@example.com --dry-run
            """
    )

    static let outputFields = [
        "account", "output", "rows", "files", "missing_files", "bytes", "erasure_begun_at", "tables",
    ]

    @Argument(help: "Any term that user find accepts.")
    var term: String

    @Option(name: .shortAndLong, help: ArgumentHelp("The file to write.", valueName: "path"), completion: .file())
    var output: String?

    @Flag(name: .long, help: "Replace the file if it exists.")
    var force = false

    @Flag(name: .long, help: "Leave out the bytes of files; the manifest names the files.")
    var withoutFiles = false

    @Flag(name: [.customShort("n"), .long], help: "Count what would be written, and write nothing.")
    var dryRun = false

    @OptionGroup
    var lookup: LookupOptions

    @OptionGroup
    var acting: ActingOptions

    @OptionGroup
    var global: GlobalOptions

    func validate() throws {
        if (output == nil) != dryRun { throw ValidationError("give --output PATH to write, or --dry-run to count") }
        if let output, output.isEmpty || output == "-" {
            throw ValidationError("--output takes the path of a file: an archive cannot be written to a pipe")
        }
    }

    func run(in context: CommandContext) async throws -> ExitStatus {
        let actor = try context.actor(acting)
        let term = try lookup.term(term)
        // A dry run counts files by their rows.
        let asksStorage = !withoutFiles && !dryRun
        let settings = try context.settings(
            needing: ["database.", "deletion.", "log."] + (asksStorage ? ["storage."] : [])
        )
        let logger = context.logger(settings)
        let manifest = try await HTTPCaller.withCaller(logger: logger) { caller in
            try await context.withDatabase { pool in
                let user = try await pool.withConnection { connection in
                    try context.oneAccount(term, in: AccountDirectory(hashKey: actor.hashKey), on: connection).id
                }
                let parts = WorkerServices(settings: settings, caller: caller, logger: logger)
                let storage = asksStorage ? StorageGateway(try parts.storageClient()) : nil
                let folders = parts.policy.avatarFolders
                let export = AccountExport(pool: pool, storage: storage, folders: folders)
                do {
                    guard let output else { return try await export.survey(user, now: context.now()) }
                    return try await write(export, of: user, to: output, as: actor, pool, context)
                } catch let failure as AccountExport.Failure {
                    throw Self.told(failure)
                }
            }
        }
        try context.output.show(sheet(manifest))
        if manifest.erasureBegunAt != nil {
            context.messages.warning(
                "this account is being erased: what has already been deleted is not in the archive"
            )
        }
        let unaddressable = manifest.files.filter { $0.missing == .unaddressable }.count
        if unaddressable > 0 {
            let files = Wording.count(unaddressable, "file")
            context.messages.warning(
                "\(files) without bytes (see the manifest): gateways in front of Storage would mistake the key for "
                    + "another file's"
            )
        }
        let shared = manifest.tables.filter { $0.namesOthers > 0 }
        if !shared.isEmpty {
            let rows = Wording.count(shared.reduce(0) { $0 + $1.namesOthers }, "row")
            context.messages.warning(
                "\(rows) of \(Wording.list(shared.map(\.table))) name other accounts, too: check them before you "
                    + "hand them out"
            )
        }
        return .ok
    }

    private func write(
        _ export: AccountExport,
        of user: UUID,
        to path: String,
        as actor: Operator,
        _ pool: Pool,
        _ context: CommandContext
    ) async throws -> ExportManifest {
        let reason = acting.reason
        return try await PrivateFile.write(path, replaces: force) { descriptor in
            let progress = context.progress("Files", total: nil)
            let manifest = try await export.write(user, to: descriptor, now: context.now()) { done, _ in
                progress.update(done)
            }
            progress.finish(manifest.files.count)
            // Before the file gets its name: an export that cannot be recorded is not handed out.
            let facts = ["rows": manifest.rows, "files": manifest.files.filter { $0.file != nil }.count]
            try await pool.withConnection { connection in
                _ = try actor.log("user.export", on: user, reason: reason, facts: facts, connection)
            }
            return manifest
        }
    }

    private func sheet(_ manifest: ExportManifest) -> Sheet {
        let missing = manifest.files.filter { $0.file == nil }.count
        let bytes = manifest.tables.compactMap(\.bytes).reduce(0, +) + manifest.files.compactMap(\.bytes).reduce(0, +)
        return Sheet([
            .init(
                .facts([
                    .init("account", "Account", .uuid(manifest.account)),
                    .init("output", "Archive", .text(output)),
                    .init("rows", "Rows", .integer(manifest.rows)),
                    .init("files", "Files", .integer(manifest.files.count)),
                    .init("missing_files", "Of these without bytes", dryRun ? .null : .integer(missing)),
                    .init("bytes", "Size", dryRun ? .null : .bytes(Int64(bytes))),
                    .init("erasure_begun_at", "Erasure begun", .date(manifest.erasureBegunAt)),
                ])
            ),
            .init(
                "tables",
                title: "Tables",
                .table(
                    [
                        TableColumn("Table"), TableColumn("Rows", alignment: .right),
                        TableColumn("Name others", alignment: .right), TableColumn("Left out"),
                    ],
                    rows: manifest.tables.filter { $0.rows > 0 }.map {
                        [
                            .text($0.table), .integer($0.rows), .integer($0.namesOthers),
                            .list($0.leftOut.map { .text($0) }),
                        ]
                    },
                    names: ["table", "rows", "names_others", "left_out"]
                )
            ),
        ])
    }

    private static func told(_ failure: AccountExport.Failure) -> CommandError {
        switch failure {
        case .unknownUser: CommandError.accountGone
        case .unreadable(let tables):
            CommandError(
                .notAuthorised,
                "this role does not see all rows of \(Wording.list(tables)): an archive would be incomplete",
                hint: "Use the role postgres, or one with SELECT on these tables and BYPASSRLS."
            )
        case .storage(let situation): .storage(situation, hint: "--without-files leaves the files out.")
        case .fileChangedHands:
            CommandError(
                .failure,
                "a file changed hands while it was read",
                hint: "The same command leaves it out now."
            )
        }
    }
}

extension TarWriter.Failure: ReportableError {
    var report: CommandError { CommandError(.failure, description) }
}
