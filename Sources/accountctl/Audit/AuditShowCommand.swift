import AccountLifecycle
import ArgumentParser
import Postgres
import Terminal

/// Shows one entry of the operators' log.
struct AuditShowCommand: AccountctlCommand {
    static let configuration = CommandConfiguration(
        commandName: "show",
        abstract: "Show one act: who, what, on whom, when and why.",
        discussion: """
            The account is a keyed hash. --user says whether it is the hash of an account that you know, including an
            erased one by its user id.

            EXIT CODES
              0 shown; 3 no such line; with --user: 5 it is about another account, or about none; 7 the line was written
              under another hash key, so it cannot be checked

            EXAMPLES
              accountctl audit show 42
              accountctl audit show 42 --user 8D3C2A1E-5B7F-4C9D-8E21-0A9B8C7D6E5F
            """
    )

    static let isSequential = true

    static let outputFields = [
        "id", "logged_at", "operator", "machine_user", "database_role", "action", "subject", "subject_key",
        "is_about_user", "reason", "ticket", "facts",
    ]

    @Argument(help: "The number of the line, as audit list shows it.")
    var number: Int64

    @Option(
        name: .long,
        help: ArgumentHelp("Say whether it is about this account: any term that user find accepts.", valueName: "term")
    )
    var user: String?

    @OptionGroup
    var global: GlobalOptions

    func run(in context: CommandContext) async throws -> ExitStatus {
        let term = try user.map { try LookupTerm.typed($0, as: nil) }
        let hashKey = try term == nil ? nil : context.neededHashKey()
        let number = number
        let (entry, subject) = try await context.withConnection { connection in
            let entry = try OperatorLog.entry(number, on: connection)
            guard let term, let hashKey else { return (entry, SubjectHash?.none) }
            let id = try context.subject(term, in: AccountDirectory(hashKey: hashKey), on: connection)
            return (entry, try SubjectHash.checked(id, key: hashKey, on: connection))
        }
        guard let entry else { throw CommandError(.notFound, "there is no line \(number) in the operators' log") }
        guard let subject else {
            try context.output.show(sheet(entry, isAbout: nil))
            return .ok
        }
        if let named = entry.subject, let others = OtherHashKeys(named.keyID == subject.keyID ? [] : [named.keyID]) {
            try context.output.show(sheet(entry, isAbout: nil))
            context.messages.warning(others.doubt)
            context.messages.note(others.hint)
            return .advice
        }
        let isAbout = subject == entry.subject
        try context.output.show(sheet(entry, isAbout: isAbout))
        return isAbout ? .ok : .residue
    }

    private func sheet(_ entry: OperatorLog.Entry, isAbout: Bool?) -> Sheet {
        Sheet(facts: [
            .init("id", "Number", .integer(entry.id)),
            .init("logged_at", "When", .date(entry.loggedAt)),
            .init("operator", "Who", .text(entry.operatorName)),
            .init("machine_user", "Machine user", .text(entry.machineUser)),
            .init("database_role", "Database role", .text(entry.databaseRole)),
            .init("action", "What", .text(entry.action)),
            .init("subject", "On whom", .text(entry.subject?.hexadecimal)),
            .init("subject_key", "Hash key", .text(entry.subject?.keyID)),
            .init("is_about_user", "About this account", .bool(isAbout), shown: isAbout.map { $0 ? "yes" : "no" }),
            .init("reason", "Why", .text(entry.reason)),
            .init("ticket", "Ticket", .text(entry.ticket)),
            .init("facts", "Facts", .json(entry.facts)),
        ])
    }
}
