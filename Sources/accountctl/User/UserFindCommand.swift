import AccountLifecycle
import ArgumentParser
import Postgres
import Terminal

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Finds accounts.
struct UserFindCommand: AccountctlCommand {
    static let configuration = CommandConfiguration(
        commandName: "find",
        abstract: "Find accounts by anything you were told.",
        discussion: """
            Recognises a user id in any spelling, an e-mail address in any case (Apple's relay addresses too), a phone
            number in any spelling with its country code, an Apple sub or another provider's id, a username, the id of a
            deletion request and the number of a receipt. A term that can be several things is looked up as all of them;
            the column MATCHED says which. With - for the term, terms are read from standard input, one a line.

            Output for programs has at least one row for each term. The field number says for which term: 1 is the first
            one, or the first line, and blank lines count. The field term is masked like an address or a name, since it
            may be one; --reveal shows it.

            --prefix finds accounts of which any of these begins with the term. Usernames are compared as they are
            written, ids and phone numbers from a few digits on (fewer with --by), and the numbers of receipts only as a
            whole. What has no index is left out; a message says what was not compared.

            The state is active, banned, soft_deleted, erased, not_found, unknown, or, while a deletion is open,
            deletion_ and the state of the request, such as deletion_grace. It is unknown if an erased account cannot be
            told from one that never existed: without the setting keys.hash_file, with --prefix, and without
            accountctl's schema. An erased account is found by its whole user id, by the id of its request or by the
            number of its receipt, never by e-mail. An account that is gone while its erasure is not finished is found
            by its user id and its request; its state is that of the request, and it has no creation date.

            EXIT CODES
              0 found; 3 some term was not found, or names an account that is gone

            EXAMPLES
              accountctl user find anna@example.com
              accountctl user find "+49 151 123456" --by phone
              accountctl user find --prefix anna
              accountctl user find - --json id,state < ids.txt
            """
    )

    static let otherWords = ["search", "lookup", "get", "who"]

    /// An account, or what is known about one that does not exist.
    private struct Row {
        let number: Int
        let term: String
        let match: AccountMatch?
        var gone: ErasedAccount?
        var leaving: LeavingAccount?
        /// Whether it is unknown if such an account ever existed.
        var isUnknown = false

        var state: String {
            if let deletion { return AccountState.deletion(deletion.state).word }
            return match?.standing.state.word ?? AbsentAccount.word(isErased: gone != nil, isUnknown: isUnknown)
        }

        var deletion: DeletionInBrief? {
            if case .deletion(let deletion)? = match?.standing { deletion } else { leaving?.deletion }
        }
    }

    private static let fields: [Field<Row>] = [
        Field("id", "Id") { .uuid($0.match?.id ?? $0.leaving?.id) },
        Field("email", "E-mail") { .personal($0.match?.email, .email) },
        Field("state", "State", isWhole: true, emphasis: { $0.state == "active" ? .none : .caution }) {
            .text($0.state)
        },
        Field("matched", "Matched") { .list(($0.match?.matched ?? []).map { .text($0.rawValue) }) },
        Field("providers", "Providers") { .list(($0.match?.providers ?? []).map { .text($0) }) },
        Field("created_at", "Created") { .date($0.match?.createdAt) },
        Field("last_sign_in_at", "Last sign-in") { .date($0.match?.lastSignInAt) },
        Field("phone", nil) { .personal($0.match?.phone, .phone) },
        Field("request", nil) { .uuid($0.deletion?.request ?? $0.gone?.request) },
        Field("step", nil) { .text($0.deletion?.step?.rawValue) },
        Field("legal_deadline", nil) { .date($0.deletion?.legalDeadline) },
        Field("erased_at", nil) { .date($0.gone?.erasedAt) },
        Field("receipt", nil) { $0.gone?.receipt.map { .integer($0) } ?? .null },
        Field("term", nil) { .personal($0.term, .name) },
        Field("held", nil) { .bool($0.match?.isHeld) },
        Field("number", nil) { .integer($0.number) },
    ]

    private static let limits = 1...1000
    private static let usualLimit = 50

    static let outputFields = fields.map(\.name)
    static let isSequential = true

    @Argument(help: ArgumentHelp("What to look for; - reads terms from standard input, one a line.", valueName: "term"))
    var terms: [String]

    // Not as option groups: each makes the parser search all protocol conformances of the program five times.
    @Option(name: .long, help: LookupOptions.help)
    var by: LookupKind?

    @Flag(name: .long, help: RevealOptions.help)
    var reveal = false

    @OptionGroup
    var acting: ActingOptions

    @Flag(name: .long, help: "Compare only the start, using indexes.")
    var prefix = false

    @Flag(name: .long, help: "Compare any part of e-mail addresses and usernames; reads whole tables.")
    var contains = false

    @Option(name: .long, help: ArgumentHelp("How many accounts to show for a term at most.", valueName: "count"))
    var limit = Self.usualLimit

    @OptionGroup
    var global: GlobalOptions

    mutating func validate() throws {
        if prefix, contains { throw ValidationError("--prefix and --contains cannot be combined") }
        if terms.isEmpty { throw ValidationError("a term is needed") }
        if contains, let kind = by, kind != .email, kind != .username {
            throw ValidationError("--contains compares e-mail addresses and usernames only, not --by \(kind.rawValue)")
        }
        try Self.limits.check(limit)
    }

    func run(in context: CommandContext) async throws -> ExitStatus {
        let (terms, numbers) = try numbered()
        if contains {
            context.messages.warning(
                "--contains reads the whole tables of users and identities: expect seconds on large ones"
            )
        }
        let actor = try reveal ? context.actor(acting) : nil
        var directory = AccountDirectory(hashKey: try actor?.hashKey ?? context.hashKey())
        directory.limit = limit
        let reason = acting.reason
        let answers = try await context.withConnection { [directory] connection in
            let answers = try directory.find(terms, on: connection)
            // Recorded before anything is shown: data whose reveal cannot be recorded is not shown.
            if let actor {
                for match in answers.flatMap(\.matches) {
                    try AccountDesk(actor).recordReveal(match.id, reason: reason, on: connection)
                }
            }
            return answers
        }
        var rows = (reveal ? context.output.revealing() : context.output).startList(Self.fields)
        var isAnyMissing = false
        var told: Set<String> = []
        for (number, answer) in zip(numbers, answers) {
            let term = answer.term.text
            for match in answer.matches { try rows.append(Row(number: number, term: term, match: match)) }
            if answer.isCut { context.tellMore(than: limit, of: Self.limits, "accounts") }
            for note in answer.notes { context.messages.note(note) }
            let left = answer.notCompared.map { "\($0.kind.rawValue) (\($0.why.words))" }.joined(separator: ", ")
            // With many terms, the same note is printed once.
            if !left.isEmpty, told.insert(left).inserted {
                context.messages.note("\(SafeText.quoted(answer.term.text)) is a start; not compared with it: \(left)")
            }
            isAnyMissing = isAnyMissing || answer.matches.isEmpty
            // People read the notes; programs get a row for each term that names no account.
            guard context.output.format.isForPrograms else { continue }
            for gone in answer.erased { try rows.append(Row(number: number, term: term, match: nil, gone: gone)) }
            for leaving in answer.leaving {
                try rows.append(Row(number: number, term: term, match: nil, leaving: leaving))
            }
            if answer.isAbsent {
                try rows.append(Row(number: number, term: term, match: nil, isUnknown: answer.doubt != nil))
            }
        }
        try rows.finish()
        if comparison == .exact, let hint = try Self.hint(of: answers, context) { context.messages.note(hint) }
        return isAnyMissing ? .notFound : .ok
    }

    /// The hint for terms without an account; for several terms, one that suits them all.
    private static func hint(of answers: [LookupAnswer], _ context: CommandContext) throws -> String? {
        if answers.count == 1 {
            return answers[0].matches.isEmpty ? answers[0].hintOfAbsence(try context.relayDomains()) : nil
        }
        return answers.contains(where: \.isAbsent) ? LookupAnswer.partsHint : nil
    }
}

/// For ``PlainWords``.
extension UserFindCommand {
    /// Sets each property to its default value.
    mutating func setDefaults() {
        (terms, by, reveal, prefix, contains, limit) = ([], nil, false, false, false, Self.usualLimit)
        acting = ActingOptions()
        acting.setDefaults()
        global = GlobalOptions()
        global.setDefaults()
    }

    /// Takes an option and its value from the words; false leaves the line to the parser, as for who acts and why: such
    /// lines are rare, and a reason needs long checks.
    mutating func takeOption(_ property: String, from words: inout PlainWords) -> Bool {
        switch CodingKeys(stringValue: property) {
        case .by?: words.take(&by)
        case .reveal?: words.take(&reveal)
        case .prefix?: words.take(&prefix)
        case .contains?: words.take(&contains)
        case .limit?: words.take(&limit)
        case .terms?, .acting?, .global?: false
        case nil: global.takeOption(property, from: &words)
        }
    }
}
