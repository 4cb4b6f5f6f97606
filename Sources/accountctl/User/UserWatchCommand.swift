import AccountLifecycle
import ArgumentParser
import Postgres
import Sealing
import Terminal

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Follows an account.
struct UserWatchCommand: AccountctlCommand {
    static let configuration = CommandConfiguration(
        commandName: "watch",
        abstract: "Follow an account until it is erased: its state, sign-ins, sessions, and what operators do.",
        discussion: """
            Prints one line for each change, in JSON one object. A lost connection is opened again.

            EXIT CODES
              0 the account was erased, and the receipt is there; 3 no such account, it went without a receipt, or,
              without keys.hash_file, it is unknown whether it was erased

            EXAMPLES
              accountctl user watch anna@example.com
              accountctl user watch anna@example.com --format ndjson
            """
    )

    static let outputFields = UserWatch.fields.map(\.name)

    @Argument(help: "Any term that user find accepts.")
    var term: String

    @OptionGroup
    var lookup: LookupOptions

    @OptionGroup
    var global: GlobalOptions

    func run(in context: CommandContext) async throws -> ExitStatus {
        let term = try lookup.term(term)
        let hashKey = try context.hashKey()
        let id = try await context.withConnection { connection in
            try context.oneAccount(term, in: AccountDirectory(hashKey: hashKey), on: connection).id
        }
        return try await context.follow {
            UserWatch(id, hashKey: hashKey, context.output.startGrowingList(UserWatch.fields), context.messages)
        }
    }
}

/// Shows the changes of an account since the last look.
struct UserWatch: Watch, Sendable {
    /// A line of output.
    struct Change: Sendable, Equatable {
        let at: Date
        let state: String
        let step: String?
        let sessions: Int
        let lastSignInAt: Date?
        /// The newest act of an operator.
        let operation: String?
        let receipt: Int64?
        var isHeld = false
    }

    /// The columns of the longest state that an account can get while it is watched.
    private static let widestState =
        DeletionState.allCases.map { DisplayWidth.of(AccountState.deletion($0).word) }.max() ?? 0

    static let fields: [Field<Change>] = [
        Field("at", "At") { .date($0.at) },
        Field("state", "State", width: widestState, emphasis: { $0.state == "active" ? .none : .caution }) {
            .text($0.state)
        },
        Field("step", "Step", width: DisplayWidth.ofWidest(DeletionStep.allCases)) { .text($0.step) },
        Field("sessions", "Sessions", alignment: .right) { .integer($0.sessions) },
        Field("last_sign_in_at", "Last sign-in") { .date($0.lastSignInAt) },
        // Wide enough for deletion.request and its like.
        Field("operation", "Operator", width: 16) { .text($0.operation) },
        Field("receipt", nil) { .integer($0.receipt) },
        Field("held", "Held", emphasis: { $0.isHeld ? .caution : .none }) { .bool($0.isHeld) },
    ]

    /// The state that is compared between two looks.
    private struct Look: Equatable {
        let state: String
        let step: String?
        let sessions: Int
        let lastSignInAt: Date?
        let operation: OperatorLog.Entry?
        let isHeld: Bool
    }

    private let user: UUID
    private let hashKey: HashKey?
    private var lines: ListWriter<Change>
    private let messages: Messages
    private var known: Look?

    init(_ user: UUID, hashKey: HashKey?, _ lines: ListWriter<Change>, _ messages: Messages) {
        self.user = user
        self.hashKey = hashKey
        self.lines = lines
        self.messages = messages
    }

    mutating func look(on connection: isolated Connection) throws -> ExitStatus? {
        guard let term = LookupTerm(user.uuidString, as: .userID) else { return .failure }
        let answer = try AccountDirectory(hashKey: hashKey).find(term, on: connection)
        let (moment, sessions) = try connection.one(
            "select clock_timestamp(), (select count(*) from auth.sessions where user_id = \(user))",
            as: (Date, Int).self
        )
        guard let match = answer.matches.first(where: { $0.id == user }) else {
            // After its rows are deleted and before it has a receipt, the request is still in progress.
            if !answer.leaving.isEmpty { return nil }
            let gone = answer.erased.first
            try lines.append(
                Change(
                    at: gone?.erasedAt ?? moment,
                    state: AbsentAccount.word(isErased: gone != nil, isUnknown: answer.doubt != nil),
                    step: nil,
                    sessions: sessions,
                    lastSignInAt: nil,
                    operation: nil,
                    receipt: gone?.receipt
                )
            )
            try lines.finish()
            guard let receipt = gone?.receipt else { return .notFound }
            messages.note(LookupAnswer.seeReceipt(receipt))
            return .ok
        }
        let look = Look(
            state: match.standing.state.word,
            step: match.standing.deletion?.step?.rawValue,
            sessions: sessions,
            lastSignInAt: match.lastSignInAt,
            operation: try newestOperation(on: connection),
            isHeld: match.isHeld
        )
        if look != known {
            try lines.append(
                Change(
                    at: moment,
                    state: look.state,
                    step: look.step,
                    sessions: look.sessions,
                    lastSignInAt: look.lastSignInAt,
                    operation: look.operation?.action,
                    receipt: nil,
                    isHeld: look.isHeld
                )
            )
        }
        known = look
        return nil
    }

    mutating func flush() throws {
        try lines.flush()
    }

    private func newestOperation(on connection: isolated Connection) throws -> OperatorLog.Entry? {
        guard let hashKey else { return nil }
        var filter = OperatorLog.Filter()
        filter.subject = try SubjectHash.checked(user, key: hashKey, on: connection)
        filter.limit = 1
        return try OperatorLog.entries(filter, on: connection).first
    }
}

extension AccountStanding {
    /// The open deletion, if there is one.
    fileprivate var deletion: DeletionInBrief? {
        if case .deletion(let deletion) = self { deletion } else { nil }
    }
}
