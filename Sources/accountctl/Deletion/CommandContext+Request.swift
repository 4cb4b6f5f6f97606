import AccountLifecycle
import Postgres
import Sealing
import Terminal

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

extension CommandContext {
    /// Finds the request that a command-line term names.
    ///
    /// Of the other identifiers of an account only its e-mail address is taken: a person may choose any word as a
    /// username, also one that somebody types by mistake, as in `deletion pause all`.
    ///
    /// - Throws: ``CommandError`` if the term names no request or is malformed, or several accounts have the address.
    func request(_ text: String, hashKey: HashKey?, on connection: isolated Connection) throws -> UUID {
        if let address = LookupTerm(text, as: .email) {
            let directory = AccountDirectory(hashKey: hashKey)
            let account = try oneAccount(address, in: directory, hint: "Name the account by its id.", on: connection)
            let id = account.id.text
            guard let request = try DeletionSummary.resolve(id, hashKey: hashKey, on: connection) else {
                throw CommandError(
                    .notFound,
                    "the account \(id) has no open deletion request",
                    hint: "If the address was that of an erased account: its user id or receipt finds it."
                )
            }
            return request
        }
        let id = LookupTerm(text, as: .userID)?.userID
        if id == nil, Int64(text) == nil {
            throw CommandError(
                .usage,
                "\(SafeText.quoted(text)) is not a request id, user id, e-mail address or receipt number",
                hint: "Find the account first: accountctl user find TERM"
            )
        }
        guard let request = try DeletionSummary.resolve(text, hashKey: hashKey, on: connection) else {
            let others = try id.flatMap { _ in try OtherHashKeys(beside: hashKey, on: connection) }
            throw CommandError(
                .notFound,
                "there is no deletion request \"\(SafeText.line(text))\"" + (others.map { "; \($0.sentence)" } ?? ""),
                hint: others?.hint ?? "A request is named by its id, the user id or e-mail address of its account, or "
                    + "the number of its receipt."
            )
        }
        return request
    }
}
