import ArgumentParser
import HTTPCalls
import Migrations
import Postgres
import Settings
import Terminal

/// Reports whether this deployment is sound.
struct DoctorCommand: AccountctlCommand {
    static let configuration = CommandConfiguration(
        commandName: "doctor",
        abstract: "Report whether this deployment is sound.",
        discussion: """
            Looks at the settings, the connection, the role's rights, the schema, whatever blocks or slows a deletion,
            jobs and workers, open requests, sealing keys, mail streams, Apple and Storage. Changes nothing and uses
            nothing up: it asks Apple with a code that cannot exist.

            No worker for three times worker.lease is an error; doctor reads the setting as the worker does. If cron
            starts the worker, --expect-worker-within says how long it may be away: until then, doctor reports neither
            the worker nor jobs that wait for it.

            EXIT CODES
              0 no error; 1 errors; 4 the database refuses the login; 75 it cannot be reached. Warnings count with
              --strict. A finding that you have looked at and accept does not count with --except CODE, but is still
              shown.

            EXAMPLES
              accountctl doctor
              accountctl doctor --database-only --json severity,code,what     for a monitor
              accountctl doctor --database-only --expect-worker-within 6h     where cron starts a worker every few hours
              accountctl doctor --strict --except deletion.blocking_key       for a monitor, when that is known and wanted
            """
    )

    static let otherWords = ["status", "health", "diagnose"]

    private static let fields: [Field<DoctorFinding>] = [
        Field("severity", "Severity") { .text($0.severity.rawValue) },
        Field("code", "Code") { .text($0.code) },
        Field("what", "What") { .text($0.what) },
        Field("why", nil) { .text($0.why) },
        Field("todo", nil) { .text($0.todo) },
    ]

    static let outputFields = fields.map(\.name)

    @Flag(name: .long, help: "Look only at the database, for a monitor or cron.")
    var databaseOnly = false

    @Flag(name: .long, help: "Count warnings as errors.")
    var strict = false

    @Option(
        name: .long,
        help: ArgumentHelp(
            "Findings with this code do not count for the exit code; may be repeated.",
            valueName: "code"
        )
    )
    var except: [String] = []

    @Option(
        name: .long,
        help: ArgumentHelp(
            "How long there may be no worker, such as 6h. Default: three times worker.lease.",
            valueName: "duration"
        )
    )
    var expectWorkerWithin: String?

    @Flag(name: [.customShort("v"), .long], help: "Also show what is sound.")
    var verbose = false

    @OptionGroup
    var global: GlobalOptions

    func run(in context: CommandContext) async throws -> ExitStatus {
        let patience = try expectWorkerWithin.map { try DurationArgument.required($0, "--expect-worker-within") }
        var findings = databaseOnly ? [] : try SettingsDoctor(context: context).findings()
        let (settings, problems) = try context.checkedSettings()
        var unreachable: ExitStatus?
        // The default if the database cannot be read: profiles are installed unless they were left out.
        var hasProfiles = true
        do {
            let (found, bundles) = try await context.withMigrations(anyDatabase: true) { engine, connection in
                let doctor = DatabaseDoctor(
                    settings: settings,
                    engine: engine,
                    patience: patience ?? settings.worker.leaseDuration * 3,
                    isPatienceStated: patience != nil,
                    now: context.now
                )
                let found = try await doctor.findings(on: connection)
                // If no plan can be made, the findings already say why.
                return (found, (try? engine.plan(on: connection))?.bundles)
            }
            findings += found
            hasProfiles = bundles?.contains("profiles") ?? true
        } catch let error as PostgresError {
            // The other findings are still shown, since a failing database is when an operator runs doctor.
            let report = CommandError(error)
            unreachable = report.status
            findings.append(Self.unreachable(report))
        } catch let error as SettingsError {
            findings.append(Self.unread(error))
        }
        if !databaseOnly {
            let logger = context.detailLogger(settings)
            let isAppleSound = !problems.contains { $0.key.hasPrefix("apple.") && !$0.stopsNothing }
            findings += try await HTTPCaller.withCaller(logger: logger) { [hasProfiles] caller in
                try await ServicesDoctor(
                    parts: WorkerServices(settings: settings, caller: caller, logger: logger),
                    hasProfiles: hasProfiles,
                    isAppleSound: isAppleSound,
                    now: context.now
                ).findings()
            }
        }
        try show(findings.map { $0.completed(context.messages.rewrite) }, in: context)
        if let unreachable { return unreachable }
        let limit: DoctorFinding.Severity = strict ? .warning : .error
        let grave = findings.filter { $0.severity >= limit }
        // An exception that is mistyped or no longer needed would hide later findings with its code.
        for code in Set(except).subtracting(grave.map(\.code)).sorted() {
            context.messages.note("--except \(SafeText.line(code)): no finding with this code would have counted.")
        }
        return grave.allSatisfy { except.contains($0.code) } ? .ok : .failure
    }

    private static func unreachable(_ report: CommandError) -> DoctorFinding {
        DoctorFinding(
            .error,
            "database.reachable",
            report.message,
            why: "Nothing works without it, and findings about it are missing here.",
            todo: report.hint ?? "See database.url and the PG* variables, and whether the server runs."
        )
    }

    private static func unread(_ error: SettingsError) -> DoctorFinding {
        DoctorFinding(
            .error,
            "database.settings",
            "the database was not checked: " + error.problems.map(\.description).joined(separator: "; "),
            why: "Commands that use the database do not run with these settings.",
            todo: "Correct them; accountctl config check says when all are valid."
        )
    }

    private func show(_ findings: [DoctorFinding], in context: CommandContext) throws {
        if context.output.format.isForPrograms {
            try context.output.list(findings, Self.fields)
            return
        }
        let shown = findings.filter { verbose || $0.severity > .ok }
        for severity in DoctorFinding.Severity.allCases.reversed() {
            let graded = shown.filter { $0.severity == severity }
            for (place, finding) in graded.enumerated() {
                // An app may have a dozen triggers: what they mean, and what to do, is said once, behind the last.
                let isSaidNext = graded.dropFirst(place + 1).first.map { finding.meansTheSame(as: $0) } ?? false
                try context.output.document(finding.text(isExplained: !isSaidNext, style: context.output.style))
            }
        }
        let counts = DoctorFinding.Severity.allCases.reversed().map { severity in
            let count = findings.count { $0.severity == severity }
            return severity == .ok ? "\(count) ok" : Wording.count(count, severity.rawValue)
        }
        context.messages.note(counts.joined(separator: ", ") + ".")
    }
}
