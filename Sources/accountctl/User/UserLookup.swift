import AccountLifecycle
import ArgumentParser
import MailRelay
import Postgres
import Sealing
import Settings
import Terminal

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The options that say how a term names a user.
struct LookupOptions: ParsableArguments {
    static let help = ArgumentHelp(
        "What the term is: \(LookupKind.list). Default: whatever it can be.",
        valueName: "kind"
    )

    @Option(name: .long, help: Self.help)
    var by: LookupKind?

    func term(_ text: String) throws -> LookupTerm { try LookupTerm.typed(text, as: by) }
}

extension LookupTerm {
    /// Parses a typed term.
    ///
    /// - Throws: ``CommandError`` if the text cannot be a term of that kind.
    static func typed(
        _ text: String,
        as kind: LookupKind?,
        compared comparison: LookupComparison = .exact
    ) throws -> LookupTerm {
        guard let term = LookupTerm(text, as: kind, compared: comparison) else {
            let mismatch = comparison == .prefix ? "cannot be the start of one of the kind" : "cannot be of the kind"
            let isPart = comparison == .exact && text.contains("@")
            throw CommandError(
                .usage,
                SafeText.quoted(text) + " "
                    + (kind.map { "\(mismatch) \($0.rawValue)" } ?? "is not something to look for"),
                hint: isPart ? LookupAnswer.hint(ofPart: text) : nil
            )
        }
        return term
    }
}

extension LookupKind: ExpressibleByArgument {
    // Written out: the parser's default implementations search all protocol conformances of the program twice.
    static var allValueStrings: [String] { allCases.map { $0.rawValue } }
    static var allValueDescriptions: [String: String] { [:] }
    /// All values in one text; `joined` would cause such a search as well.
    static var list: String { allValueStrings.dropFirst().reduce(allCases[0].rawValue) { $0 + ", " + $1 } }
}

extension CommandContext {
    /// The hash key, by which erased accounts and operations are found; nil with a warning if it cannot be read.
    func hashKey() throws -> HashKey? {
        do {
            return try readHashKey()
        } catch let error as HashKeyUnreadable {
            messages.warning("\(error), so erased accounts are not found by their id")
            return nil
        }
    }

    /// The hash key, for callers that cannot go on if it is unreadable; nil if the settings name none.
    ///
    /// - Throws: ``HashKeyUnreadable``.
    func readHashKey() throws -> HashKey? {
        let settings = try checkedSettings().settings
        guard let path = settings.keys.hashKeyFile else { return nil }
        do {
            return try HashKey(fileText: SecretFile.readText(path))
        } catch {
            throw HashKeyUnreadable(reason: "\(error)")
        }
    }

    /// The domains of the setting `mail.relay_domains`.
    func relayDomains() throws -> RelayDomains {
        try RelayDomains(checkedSettings().settings.mail.relayDomains)
    }

    /// Finds the one account that a term names.
    ///
    /// `hint` says how to choose among several accounts.
    ///
    /// - Throws: ``CommandError`` if there is no account, if it is gone, or if there are several, gone ones included: a
    ///   command never acts on the first of several.
    func oneAccount(
        _ term: LookupTerm,
        in directory: AccountDirectory,
        hint: String = "Name the account by its id, or what the term is with --by.",
        on connection: isolated Connection
    ) throws -> AccountMatch {
        let answer = try directory.find(term, on: connection)
        guard let match = answer.matches.first else {
            throw CommandError(.notFound, answer.absence, hint: answer.hintOfAbsence(try relayDomains()))
        }
        let named = answer.named
        guard named.count == 1 else {
            throw CommandError(
                .usage,
                "\(SafeText.quoted(term.text)) names \(named.count) accounts: " + named.joined(separator: ", "),
                hint: hint
            )
        }
        return match
    }

    /// The user id that a term names: of an existing account, or, for one that is gone or unknown, the typed id.
    ///
    /// - Throws: ``CommandError`` if the term names several accounts, or names none and is not a user id.
    func subject(
        _ term: LookupTerm,
        in directory: AccountDirectory,
        on connection: isolated Connection
    ) throws -> UUID {
        let found = try directory.find(term, on: connection)
        if let id = found.goneUserID { return id }
        // Also if nothing is known of the account any more.
        if found.matches.isEmpty, let id = term.userID { return id }
        return try oneAccount(term, in: directory, hint: "Name the account by its id.", on: connection).id
    }

    /// Reads a term of the command line; the result finds the user id that it names, as ``subject(_:in:on:)`` does.
    ///
    /// - Throws: ``CommandError`` if the text cannot be a term.
    func subject(typed text: String) throws -> @Sendable (isolated Connection) throws -> UUID {
        let term = try LookupTerm.typed(text, as: nil)
        let directory = AccountDirectory(hashKey: try hashKey())
        return { connection in try subject(term, in: directory, on: connection) }
    }
}

/// The error for a hash key that the settings name and that cannot be read.
struct HashKeyUnreadable: Error, CustomStringConvertible {
    let reason: String

    var description: String { "the hash key cannot be read: \(reason)" }
}

extension LookupAnswer {
    /// Each account that the term may mean, in words; accounts that are gone count as well.
    fileprivate var named: [String] {
        let present = matches.map { match in
            let kinds = match.matched.map(\.rawValue).joined(separator: ", ")
            return match.id.text + (kinds.isEmpty ? "" : " (\(kinds))")
        }
        let leaving = leaving.map {
            "\($0.id.text), which is gone (request \($0.deletion.request.text))"
        }
        let erased = erased.map { gone in
            "one that was erased on \(Wording.moment(gone.erasedAt))" + (gone.receipt.map { " (receipt \($0))" } ?? "")
        }
        return present + leaving + erased
    }
}

extension DeletionInBrief {
    /// The state and the step of the deletion: `running, step delete_rows`.
    var place: String { state.rawValue + (step.map { ", step \($0.rawValue)" } ?? "") }
}

extension LeavingAccount {
    /// The state of its erasure, in a sentence on one line.
    var sentence: String {
        "the account \(id.text) is gone and its erasure, due by \(Wording.moment(deletion.legalDeadline)), "
            + "is not finished: \(deletion.place); request \(deletion.request.text)"
    }
}
