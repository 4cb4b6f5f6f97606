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
    /// - Throws: ``CommandError`` if the term names no request or is malformed.
    func request(_ text: String, hashKey: HashKey?, on connection: isolated Connection) throws -> UUID {
        let id = LookupTerm(text, as: .userID)?.userID
        if id == nil, Int64(text) == nil {
            throw CommandError(
                .usage,
                "\(SafeText.quoted(text)) is not a request id, user id or receipt number",
                hint: "Find the account first: accountctl user find TERM"
            )
        }
        guard let request = try DeletionSummary.resolve(text, hashKey: hashKey, on: connection) else {
            let others = try id.flatMap { _ in try OtherHashKeys(beside: hashKey, on: connection) }
            throw CommandError(
                .notFound,
                "there is no deletion request \"\(SafeText.line(text))\"" + (others.map { "; \($0.sentence)" } ?? ""),
                hint: others?.hint ?? "A request is named by its id, the user id of its account or the number of its "
                    + "receipt."
            )
        }
        return request
    }
}
