import ArgumentParser
import HTTPCalls
import Migrations
import Postgres
import Settings
import Terminal

/// Says whether this deployment is sound.
struct DoctorCommand: AccountctlCommand {
    static let configuration = CommandConfiguration(
        commandName: "doctor",
        abstract: "Say whether this deployment is sound.",
        discussion: """
            Looks at the settings, the connection, the role's rights, the schema, whatever blocks or slows a deletion, jobs and
            workers, open requests, sealing keys, mail streams, Apple and Storage. Changes nothing and uses nothing up: Apple is asked with a
            code that cannot exist.

            EXIT CODES
              0 no error; 1 errors; 75 the database cannot be reached. Warnings count with --strict.

            EXAMPLES
              accountctl doctor
              accountctl doctor --database-only --json severity,code,what     for a monitor
            """
    )

    private static let fields: [Field<Finding>] = [
        Field("severity", "Severity") { .text($0.severity.rawValue) },
        Field("code", "Code") { .text($0.code) },
        Field("what", "What") { .text($0.what) },
        Field("why", nil) { .text($0.why) },
        Field("todo", nil) { .text($0.todo) },
    ]

    static let jsonFields = fields.map(\.name)

    @Flag(name: .long, help: "Look at the database alone, for a monitor or cron.")
    var databaseOnly = false

    @Flag(name: .long, help: "Warnings are errors.")
    var strict = false

    @Flag(name: [.customShort("v"), .long], help: "Show what is sound as well.")
    var verbose = false

    @OptionGroup
    var global: GlobalOptions

    func run(in context: CommandContext) async throws -> ExitStatus {
        var findings: [Finding] = []
        if !databaseOnly { findings += try SettingsDoctor(context: context).findings() }
        let settings = try context.checkedSettings().settings
        findings += try await context.withMigrations { engine, connection in
            try await DatabaseDoctor(settings: settings, engine: engine).findings(on: connection)
        }
        if !databaseOnly {
            let logger = context.logger(settings)
            findings += try await HTTPCaller.withCaller(logger: logger) { caller in
                try await ServicesDoctor(
                    parts: WorkerServices(settings: settings, caller: caller, logger: logger)
                ).findings()
            }
        }
        try show(findings, in: context)
        let limit: Finding.Severity = strict ? .warning : .error
        return findings.contains { $0.severity >= limit } ? .failure : .ok
    }

    private func show(_ findings: [Finding], in context: CommandContext) throws {
        if context.output.format.isForPrograms {
            try context.output.list(findings, Self.fields)
            return
        }
        let shown = findings.filter { verbose || $0.severity > .ok }
        for severity in Finding.Severity.allCases.reversed() {
            for finding in shown where finding.severity == severity {
                try context.output.document(text(finding, style: context.output.style))
            }
        }
        let counts = Finding.Severity.allCases.reversed().map { severity in
            let count = findings.count { $0.severity == severity }
            return severity == .ok ? "\(count) ok" : Wording.count(count, severity.rawValue)
        }
        context.messages.note(counts.joined(separator: ", ") + ".")
    }

    private func text(_ finding: Finding, style: StreamStyle) -> String {
        let emphasis: Emphasis =
            switch finding.severity {
            case .ok: .good
            case .notice: .none
            case .warning: .caution
            case .error: .bad
            }
        var lines = [
            emphasis.apply(to: finding.severity.rawValue, style: style) + "  " + finding.code + ": "
                + SafeText.line(finding.what)
        ]
        if let why = finding.why { lines.append("    why:  " + SafeText.line(why)) }
        if let todo = finding.todo { lines.append("    do:   " + SafeText.line(todo)) }
        return lines.joined(separator: "\n")
    }
}
