import AccountLifecycle
import ArgumentParser
import Postgres
import Sealing
import Terminal

/// Shows the evidence of an erasure.
struct DeletionReceiptCommand: AccountctlCommand {
    static let configuration = CommandConfiguration(
        commandName: "receipt",
        abstract: "Show the evidence of an erasure, and whether anybody rewrote it.",
        discussion: """
            Name it by its number, the request's id or the user id; an erased account is never found by e-mail. The key
            that sealed the receipt (keys.hash_file) shows whether it is as it was written: nobody without that key can
            write one.

            EXIT CODES
              0 shown, and as it was written; 3 no such receipt; 5 it was changed, swapped or removed; 7 it names
              another key than yours, so it cannot be checked

            EXAMPLES
              accountctl deletion receipt 42
              accountctl deletion receipt 8D3C2A1E-5B7F-4C9D-8E21-0A9B8C7D6E5F --json
            """
    )

    static let isSequential = true

    static let outputFields = [
        "number", "seal", "request", "subject", "subject_key", "origin", "requested_at", "locked_out_at", "finished_at",
        "legal_deadline", "proof", "apple", "steps", "out_of_scope",
    ]

    @Argument(help: "A receipt's number, a request id, or the user id of its account.")
    var receipt: String

    @OptionGroup
    var global: GlobalOptions

    func run(in context: CommandContext) async throws -> ExitStatus {
        let hashKey = try context.hashKey()
        let name = receipt
        let (request, found, state, other) = try await context.withConnection { connection in
            let id = try context.request(name, hashKey: hashKey, on: connection)
            let receipt = try IssuedReceipt.find(of: id, on: connection)
            let state = try DeletionSummary.find(id, on: connection)?.state
            return (id, receipt, state, try Self.otherKey(hashKey, on: connection))
        }
        guard let found else {
            // The receipt is written in the transaction that ends a request, so a verified request had one.
            if state == .verified { throw CommandError(.residue, "the receipt of this erasure was removed") }
            throw CommandError(
                .notFound,
                state == .cancelled ? "this deletion was cancelled, and has no receipt" : "there is no receipt yet",
                hint: "Its state: accountctl deletion show \(request.text)"
            )
        }
        let verdict = try found.check(with: other == nil ? hashKey : nil)
        try context.output.show(Self.sheet(found, verdict))
        switch verdict {
        case .intact: return .ok
        case .changed:
            context.messages.warning(
                "this is not the receipt that was written: it was rewritten, or swapped with another; compare it with a "
                    + "copy, if you keep any"
            )
            return .residue
        case .unchecked:
            // Anyone who can write to the database decides which key a receipt names, even one that never existed, so
            // this receipt counts as unchecked.
            let why = other.map { "keys.hash_file: \($0)" } ?? Self.lacking(found, hashKey)
            context.messages.warning("the seal cannot be checked: \(why)")
            if other == nil, let others = OtherHashKeys([found.document.subjectKey]) {
                context.messages.note(others.hint)
            }
            return .advice
        }
    }

    /// Explains why a receipt cannot be checked: the given key is not the one that it names, or there is no key.
    private static func lacking(_ receipt: IssuedReceipt, _ key: HashKey?) -> String {
        let named = "the receipt names the hash key \(SafeText.quoted(receipt.document.subjectKey))"
        return named + (key.map { ", and keys.hash_file holds \"\($0.id)\"" } ?? ", and no hash key is available")
    }

    /// Returns the error for a key that is not the one used in this database under the same name; every receipt would
    /// look changed.
    private static func otherKey(_ key: HashKey?, on connection: isolated Connection) throws -> OtherHashKey? {
        do {
            if let key { try HashKeyCanary.check(key, on: connection) }
            return nil
        } catch let other as OtherHashKey {
            return other
        }
    }

    private static func sheet(_ receipt: IssuedReceipt, _ verdict: IssuedReceipt.Verdict) -> Sheet {
        let document = receipt.document
        return Sheet([
            .init(
                .facts([
                    .init("number", "Receipt", .integer(receipt.number)),
                    .init("seal", "Seal", .text(verdict.rawValue), verdict == .changed ? .bad : .none),
                    .init("request", "Request", .uuid(document.request)),
                    .init("subject", "Subject", .text(document.subject)),
                    .init("subject_key", "Key", .text(document.subjectKey)),
                    .init("origin", "Requested by", .text(document.origin)),
                    .init("requested_at", "Requested", .date(document.requestedAt)),
                    .init("locked_out_at", "Locked out", .date(document.lockedOutAt)),
                    .init("finished_at", "Erased", .date(document.finishedAt)),
                    .init("legal_deadline", "Legal deadline", .date(document.legalDeadline)),
                    .init("proof", "Proof", .text(document.proof?.rawValue), document.proof?.emphasis ?? .none),
                    .init("apple", "Apple", .text(document.apple)),
                ])
            ),
            .init(
                "steps",
                title: "Steps",
                .table(
                    [
                        TableColumn("Step"), TableColumn("Outcome"), TableColumn("Finished"),
                        TableColumn("Runs", alignment: .right), TableColumn("Counts"), TableColumn("Other facts"),
                    ],
                    rows: document.steps.map { step in
                        [
                            .text(step.step), .text(step.outcome), .date(step.finishedAt), .integer(step.runs),
                            .object(step.facts.shownCounts), .object(step.facts.shownNames),
                        ]
                    },
                    names: ["step", "outcome", "finished_at", "runs", "counts", "besides"]
                )
            ),
            .init("out_of_scope", title: "Not reached", .notes(document.outOfScope)),
        ])
    }
}
