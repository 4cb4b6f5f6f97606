import AccountLifecycle
import ArgumentParser
import Postgres
import Terminal

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The account that a command acts on.
struct AccountTarget: ActTarget {
    static let idField = (name: "id", label: "Account")

    @Argument(help: "Any term that user find accepts.")
    var term: String

    @OptionGroup
    var lookup: LookupOptions

    func find(as actor: Operator, in context: CommandContext, on connection: isolated Connection) throws -> UUID {
        try context.oneAccount(
            try lookup.term(term),
            in: AccountDirectory(hashKey: actor.hashKey),
            on: connection
        ).id
    }

    func account(of id: UUID, on connection: isolated Connection) throws -> UUID? { id }

    func tell(
        _ outcome: AccountActOutcome,
        of id: UUID,
        _ words: ActWords,
        in context: CommandContext
    ) throws -> ActOutcome {
        let name = id.text
        switch outcome {
        case .acted(.unchanged), .holding(.unchanged), .released(0):
            context.messages.note("Nothing to do.")
            words.tellBrakes(in: context)
            return .unchanged
        case .acted(.done), .acted(.suspended), .acted(.restored), .holding(.held), .released:
            let ended = outcome.endedSessions
            let said = "Done: \(words.done)." + (ended > 0 ? " \(Wording.count(ended, "session")) ended." : "")
            context.messages.note(words.isRehearsed ? words.plan : said)
            words.tellBrakes(in: context)
            if !words.isRehearsed, let next = words.next { context.messages.note(next) }
        case .holding(.heldLate(_, let state, let steps)):
            context.messages.note(words.isRehearsed ? words.plan : "Done: \(words.done).")
            if !words.isRehearsed, let next = words.next { context.messages.note(next) }
            context.messages.warning(
                "its deletion is under way (\(state.rawValue)) and \(words.isRehearsed ? "would be" : "is") stopped before its next step; "
                    + "these steps have begun and are not undone: \(Wording.list(steps.map(\.rawValue)))"
            )
        case .acted(.unknownUser), .holding(.unknownUser):
            throw CommandError(.notFound, "the account \(name) no longer exists")
        case .acted(.beingErased(let state)):
            throw CommandError(
                .blocked,
                "the account \(name) is being erased (\(state.rawValue))",
                hint: "See: accountctl deletion show \(name)"
            )
        case .acted(.suspendedLonger(let ban)):
            let end = ban.until.map(Wording.moment) ?? "further notice"
            throw CommandError(.blocked, "it is already suspended until \(end): --shorten ends the suspension sooner")
        case .holding(.notNow(let why)): throw CommandError(.blocked, why.words)
        case .severalHolds(let which): throw CommandError(.blocked, which)
        }
        return words.isRehearsed ? .wouldBeDone : .done
    }
}

/// The deletion request that a command acts on.
struct RequestTarget: ActTarget {
    static let idField = (name: "request", label: "Request")

    @Argument(help: "A request id, or the user id or e-mail address of its account.")
    var request: String

    func find(as actor: Operator, in context: CommandContext, on connection: isolated Connection) throws -> UUID {
        try context.request(request, hashKey: actor.hashKey, on: connection)
    }

    func account(of id: UUID, on connection: isolated Connection) throws -> UUID? {
        try DeletionSummary.account(of: id, on: connection)
    }

    func tell(
        _ outcome: DeletionDesk.Act,
        of id: UUID,
        _ words: ActWords,
        in context: CommandContext
    ) throws -> ActOutcome {
        let name = id.text
        switch outcome {
        case .done:
            let said = words.isRehearsed ? words.plan : words.done
            context.messages.note(words.brakes.isEmpty ? said : said + ", once nothing else holds it")
            words.tellBrakes(in: context)
            if !words.isRehearsed, let next = words.next { context.messages.note(next) }
        case .unchanged:
            context.messages.note("Nothing to do.")
            words.tellBrakes(in: context)
            return .unchanged
        case .waiting(let state, let until):
            let what = state == .settling ? "the last search" : "the end of the grace period"
            context.messages.note("Nothing to do: it waits for \(what), \(Wording.moment(until)).")
            words.tellBrakes(in: context)
            return .unchanged
        case .unknownRequest: throw Self.unknown(name)
        case .ended(let state): throw Self.ended(state, name)
        case .refused(let why): throw CommandError(.blocked, why.words)
        }
        return words.isRehearsed ? .wouldBeDone : .done
    }
}

extension RequestTarget {
    /// A target for a term that another option group parsed.
    static func named(_ request: String) -> RequestTarget {
        var target = RequestTarget()
        target.request = request
        return target
    }

    /// The name of the field that says why an act was refused.
    static let refusalField = "refusal"

    static let outputFields = [idField.name, ActOutcome.field, refusalField]

    /// Why an act was refused, as a word that is part of the interface; nil if it was not.
    static func refusal(_ outcome: DeletionDesk.Act) -> String? {
        switch outcome {
        case .refused(let why): why.word
        case .ended(let state): state.rawValue
        case .done, .unchanged, .waiting, .unknownRequest: nil
        }
    }

    /// The fact of the output why an act was refused.
    static func facts(_ request: UUID, _ outcome: DeletionDesk.Act) -> [Sheet.Fact] {
        [.init(refusalField, "Refused for", .text(refusal(outcome)))]
    }

    static func unknown(_ name: String) -> CommandError {
        CommandError(.notFound, "there is no deletion request \(name)")
    }

    static func ended(_ state: DeletionState, _ name: String) -> CommandError {
        CommandError(.blocked, "request \(name) has ended: \(state.rawValue)")
    }

    /// Lists what keeps a request from going on regardless of the act.
    static func brakes(_ id: UUID, _ names: ActNames, _ connection: isolated Connection) throws -> [String] {
        try StandingBrakes.read(of: id, on: connection).words(of: names)
    }
}

/// One deletion request or all of them, as the target of pause and resume.
struct BrakeTarget: ParsableArguments {
    @Argument(help: "A request id, or the user id or e-mail address of its account.")
    var request: String?

    @Flag(name: .long, help: "Every deletion, including future ones.")
    var all = false

    func validate() throws {
        if all == (request != nil) { throw ValidationError("name a request, or give --all") }
    }

    /// Shows the outcome of an act on all requests, and why it was refused.
    static func sheet(_ outcome: ActOutcome, _ refusal: String? = nil) -> Sheet {
        Sheet(facts: [
            .init(RequestTarget.idField.name, RequestTarget.idField.label, .null), outcome.fact,
            .init(RequestTarget.refusalField, "Refused for", .text(refusal)),
        ])
    }

    /// The one request; nil for all.
    var one: RequestTarget? { request.map(RequestTarget.named) }
}
